// The tools of a component: what `list-tools` tells of them, and how `call-tool` runs one.

import { features, log } from "./call.js";
import { waits } from "./engine.js";
import { CallOver, MissingFeatures, RpcError, ToolError } from "./errors.js";
import { json, Result } from "./results.js";
import { object, withDefaults } from "./schema.js";

/** Makes the component's export `handler` of its tools, which clients see in this order. */
export function defineTools(tools) {
  const table = new Map(Object.entries(tools));
  return {
    listTools: () => [...table].map(([name, tool]) => definition(name, tool)),
    callTool({ name, arguments: given, features: declared }) {
      Object.assign(features, declared);
      try {
        const tool = table.get(name);
        if (!tool) throw new RpcError(RpcError.INVALID_PARAMS, `no tool is named ${name}`);
        const value = tool.run(withDefaults(object(tool.input), JSON.parse(given)));
        const lower = (value) => Result.of(value).lower();
        return typeof value?.then === "function" ? awaited(name, value).then(lower).catch(failed) : lower(value);
      } catch (error) {
        return failed(error);
      }
    },
  };
}

/** What an `async` tool returned, if the engine waits for it. */
function awaited(name, promise) {
  if (waits) return promise;
  const remedy = "let it return its result, or build for StarlingMonkey";
  throw new RpcError(RpcError.INTERNAL, `${name} is async, and QuickJS waits for nothing: ${remedy}`);
}

function definition(name, { title, description, input, output, hints, task = "none", meta }) {
  return {
    name,
    title,
    description,
    inputSchema: JSON.stringify({ additionalProperties: false, ...object(input) }),
    outputSchema: output && JSON.stringify(object(output)),
    hints,
    taskSupport: task,
    meta: json(meta),
  };
}

/** The answer when a tool has thrown. */
function failed(error) {
  if (error instanceof ToolError || error instanceof CallOver) {
    return new Result({ content: [error.message], isError: true }).lower();
  }
  if (error instanceof RpcError) {
    const { code, message, data } = error;
    throw { tag: "rpc", val: { code, message, data: json(data) } };
  }
  if (error instanceof MissingFeatures) throw { tag: "missing-features", val: error.features };
  log.error(`${error}`, { stack: error?.stack });
  // Neither engine makes an answer of this: the run ends as it does when a tool in Rust panics.
  throw error;
}
