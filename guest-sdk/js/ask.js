// Questions to the client, and its answers. A refusal is an answer, not an error.

import { requireInput } from "cofferdam:tool/task@0.1.0";
import { verb } from "./errors.js";
import { object } from "./schema.js";
import { json } from "./results.js";

/** A form of these fields. */
export const form = (message, fields) => ({ tag: "form", val: { message, schema: JSON.stringify(object(fields)) } });

/** A page to visit. */
export const visit = (message, url) => ({ tag: "url", val: { message, url } });

/** The client's root folders. */
export const roots = () => ({ tag: "roots" });

/** A question to the client's model. */
export function prompt(messages, options) {
  if (typeof messages === "string") messages = [{ role: "user", content: [{ tag: "text", val: messages }] }];
  const { maxTokens, systemPrompt, temperature, stopSequences = [] } = options;
  const { modelPreferences, metadata, tools, toolChoice } = options;
  return {
    tag: "sampling",
    val: {
      messages,
      maxTokens,
      systemPrompt,
      temperature,
      stopSequences,
      modelPreferences: json(modelPreferences),
      metadata: json(metadata),
      tools: json(tools),
      toolChoice: json(toolChoice),
    },
  };
}

/** Asks one thing. */
export const ask = (key, request) => askAll({ [key]: request })[key];

/** Asks several things at once. */
export function askAll(requests) {
  const answers = verb(requireInput, Object.entries(requests));
  return Object.fromEntries(answers.map(([key, answer]) => [key, lift(answer)]));
}

function lift({ tag, val }) {
  switch (tag) {
    case "elicitation":
      return val.action === "accept"
        ? { action: "accept", content: JSON.parse(val.content ?? "{}") }
        : { action: val.action };
    case "sampling": {
      const texts = val.content.filter(({ tag }) => tag === "text");
      return { ...val, text: texts.map(({ val }) => val).join("") };
    }
    default:
      return val;
  }
}
