// What a component offers beside tools: prompts, resources, and the completion of their arguments.

import { features } from "./call.js";
import { u64 } from "./engine.js";
import { answered, refused, RpcError } from "./errors.js";
import { json, lowerBlock } from "./results.js";

const unknown = (message) => new RpcError(RpcError.INVALID_PARAMS, message);

/** Runs what answers a request, for a client of these features. */
function answer(declared, work, lower) {
  Object.assign(features, declared);
  return answered(work, lower, refused);
}

/** A message of the user. */
export const user = (content) => new Message("user", content);

/** A message of the model. */
export const assistant = (content) => new Message("assistant", content);

class Message {
  constructor(role, content) {
    Object.assign(this, { role, content: lowerBlock(content) });
  }
}

/** Makes the component's export `prompts` of its prompts, which clients see in this order. */
export function definePrompts(prompts) {
  const table = new Map(Object.entries(prompts));
  return {
    listPrompts: () => [...table].map(([name, prompt]) => promptOf(name, prompt)),
    getPrompt: ({ name, arguments: given, features: declared }) =>
      answer(
        declared,
        () => {
          const prompt = table.get(name);
          if (!prompt) throw unknown(`no prompt is named ${name}`);
          return prompt.run(Object.fromEntries(given));
        },
        messagesOf,
      ),
  };
}

function promptOf(name, { title, description, arguments: given = {}, meta }) {
  return {
    name,
    title,
    description,
    arguments: Object.entries(given).map(([name, { title, description, optional = false }]) => ({
      name,
      title,
      description,
      required: !optional,
    })),
    meta: json(meta),
  };
}

/** What a prompt returned: messages, contents of messages of the user, or both with a description. */
function messagesOf(value) {
  const { description, messages, meta } = value?.messages ? value : { messages: value };
  const all = Array.isArray(messages) ? messages : [messages];
  return {
    description,
    messages: all.map((message) => (message instanceof Message ? message : user(message))).map((it) => ({ ...it })),
    meta: json(meta),
  };
}

/** Makes the component's export `resources`: those without variables in their URI, and templates. */
export function defineResources(resources) {
  const table = new Map(Object.entries(resources));
  const isTemplate = (uri) => uri.includes("{");
  const lists = [...table.values()].map(({ list }) => list).filter(Boolean);
  return {
    describeResources: () => ({
      resources: [...table].filter(([uri]) => !isTemplate(uri)).map(([uri, it]) => listed({ ...it, uri })),
      templates: [...table].filter(([uri]) => isTemplate(uri)).map(([uri, it]) => templateOf(uri, it)),
      dynamic: lists.length > 0,
    }),
    listResources: ({ cursor, features: declared }) =>
      answer(declared, () => pageOf(lists, cursor ?? undefined), (page) => page),
    readResource: ({ uri, template, variables, features: declared }) => {
      const resource = table.get(template ?? uri);
      return answer(
        declared,
        () => resource?.read(Object.fromEntries(variables), uri),
        (value) => contentsOf(value, uri, resource),
      );
    },
  };
}

function templateOf(uriTemplate, { name, title, description, mimeType, annotations, meta }) {
  return { uriTemplate, name: name ?? title ?? uriTemplate, title, description, mimeType, annotations, meta: json(meta) };
}

function listed({ uri, name, title, description, mimeType, size, annotations, meta }) {
  size = size === undefined ? undefined : u64(size);
  return { uri, name: name ?? title ?? uri, title, description, mimeType, size, annotations, meta: json(meta) };
}

/** Most resources of a page. */
const PAGE = 1000;

/** All that the templates list, in pages; the cursor is how many are on those before it. */
function pageOf(lists, cursor) {
  const before = cursor === undefined ? 0 : Number(cursor);
  if (!Number.isInteger(before) || before < 0 || cursor === "") throw unknown("no page begins at this cursor");
  const all = lists.flatMap((list) => list());
  const end = before + PAGE;
  return {
    resources: all.slice(before, end).map(listed),
    nextCursor: end < all.length ? `${end}` : undefined,
  };
}

/** What was read: text or bytes, several of them, or nothing if there is no such resource. */
function contentsOf(value, uri, resource) {
  const parts = value === undefined || value === null ? [] : Array.isArray(value) ? value : [value];
  const { ttlMs, private: own = false } = resource ?? {};
  return {
    contents: parts.map((part) => contentOf(part, uri, resource.mimeType)),
    cache: ttlMs === undefined ? undefined : { ttlMs: u64(ttlMs), private: own },
    meta: undefined,
  };
}

function contentOf(part, uri, mimeType) {
  if (typeof part === "string") return { uri, mimeType, body: { tag: "text", val: part }, meta: undefined };
  if (part instanceof Uint8Array) return { uri, mimeType, body: { tag: "blob", val: part }, meta: undefined };
  // `resource(…)` or `blob(…)`: contents under a URI of their own.
  const { val } = part;
  return { uri: val.uri, mimeType: val.mimeType, body: val.body, meta: undefined };
}

/** Makes the component's export `completion`, for what these prompts and resources say of their arguments. */
export function defineCompletion({ prompts = {}, resources = {} }) {
  return {
    completeArgument({ reference, argument, context }) {
      const given = reference.tag === "prompt" ? prompts[reference.val]?.arguments : resources[reference.val]?.variables;
      const complete = given?.[argument.name]?.complete ?? [];
      const work = () =>
        typeof complete === "function"
          ? complete(argument.value, Object.fromEntries(context))
          : among(argument.value, complete);
      return answered(work, (values) => ({ values, total: totalOf(values), hasMore: false }), refused);
    },
  };
}

/** Most values that a client is shown. */
const SHOWN = 100;

const totalOf = ({ length }) => (length > SHOWN ? length : undefined);

/** Of these candidates, those that begin with the text, whatever the case. */
export function among(text, candidates) {
  const start = text.toLowerCase();
  return candidates.filter((candidate) => candidate.toLowerCase().startsWith(start));
}
