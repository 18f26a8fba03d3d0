// Write Cofferdam tools in JavaScript. A tool is a function with a description:
//
//   import { defineTools } from "@cofferdam/tool";
//
//   export const handler = defineTools({
//     add: {
//       description: "Adds two numbers.",
//       input: { a: { type: "number" }, b: { type: "number" } },
//       run: ({ a, b }) => `${a + b}`,
//     },
//   });
//
// It runs on QuickJS (componentize-qjs) and on StarlingMonkey (componentize-js). `index.d.ts` says
// what everything takes and gives.

export { defineTools } from "./tools.js";
export { features, log, progress, record, recall, sleep, step, task } from "./call.js";
export { among, assistant, defineCompletion, definePrompts, defineResources, user } from "./offers.js";
export { ask, askAll, form, prompt, roots, visit } from "./ask.js";
export { audio, blob, image, link, resource, Result, text } from "./results.js";
export { CallOver, MissingFeatures, RpcError, ToolError } from "./errors.js";
export { fromUtf8, randomBytes, utf8 } from "./engine.js";
