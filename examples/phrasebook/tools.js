// A phrasebook: phrases by language as resources, a prompt to practise them, and a tool that finds one
// and links to it.

import {
  among,
  defineCompletion,
  definePrompts,
  defineResources,
  defineTools,
  link,
  RpcError,
} from "./cofferdam/index.js";
import { PHRASES } from "./phrases.js";

const LANGUAGES = [...PHRASES.keys()];
const uri = (language, phrase) => `phrases://${language}/${phrase}`;

/** The phrases of the language that was chosen; of the first one, if none was. */
const phrases = (typed, { language = LANGUAGES[0] }) => among(typed, [...(PHRASES.get(language)?.keys() ?? [])]);

const books = {
  "phrases://languages": {
    title: "Languages",
    mimeType: "text/plain",
    ttlMs: 3_600_000,
    read: () => LANGUAGES.join("\n"),
  },
  "phrases://{language}/{phrase}": {
    title: "Phrase",
    description: "How something is said in a language.",
    mimeType: "text/plain",
    ttlMs: 3_600_000,
    variables: { language: { complete: LANGUAGES }, phrase: { complete: phrases } },
    list: () =>
      [...PHRASES].flatMap(([language, said]) =>
        [...said.keys()].map((phrase) => ({ uri: uri(language, phrase), name: `${phrase}, ${language}` })),
      ),
    read: ({ language, phrase }) => PHRASES.get(language)?.get(phrase),
  },
};

const lessons = {
  practise: {
    title: "Practise",
    description: "Practises the phrases of a language.",
    arguments: {
      language: { description: "The language", complete: LANGUAGES },
      level: { description: "How well you speak it", optional: true, complete: ["beginner", "good", "fluent"] },
    },
    run({ language, level = "beginner" }) {
      const said = PHRASES.get(language);
      if (!said) throw new RpcError(RpcError.INVALID_PARAMS, `there are no phrases in ${language}`);
      const all = [...said.values()].join("; ");
      return `Practise these phrases in ${language} with me, one after the other. I am ${level}. ${all}`;
    },
  },
};

export const handler = defineTools({
  "find-phrase": {
    title: "Find a phrase",
    description: "Finds how something is said, in all languages, and links to it.",
    hints: { readOnly: true, openWorld: false },
    input: { phrase: { type: "string", description: "Such as thanks" } },
    run({ phrase }) {
      const found = LANGUAGES.filter((language) => PHRASES.get(language).has(phrase));
      if (found.length === 0) return `Nobody says ${phrase}.`;
      return found.map((language) => link(uri(language, phrase), phrase, { title: `${phrase} in ${language}` }));
    },
  },
});
export const prompts = definePrompts(lessons);
export const resources = defineResources(books);
export const completion = defineCompletion({ prompts: lessons, resources: books });
