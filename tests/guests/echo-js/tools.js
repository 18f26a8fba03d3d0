// A tool that does nothing but answer, for the benchmark: what is left is the engine.

import { defineTools } from "./cofferdam/index.js";

export const handler = defineTools({
  echo: {
    description: "Answers with its text.",
    input: { text: { type: "string" } },
    run: ({ text }) => text,
  },
});
