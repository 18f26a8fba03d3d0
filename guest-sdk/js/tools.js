// The tools of a component: what `list-tools` tells of them, and how `call-tool` runs one.

import { features } from "./call.js";
import { answered, CallOver, refused, RpcError, ToolError } from "./errors.js";
import { json, Result } from "./results.js";
import { object, withDefaults } from "./schema.js";

/** Makes the component's export `handler` of its tools, which clients see in this order. */
export function defineTools(tools) {
  const table = new Map(Object.entries(tools));
  return {
    listTools: () => [...table].map(([name, tool]) => definition(name, tool)),
    callTool({ name, arguments: given, features: declared }) {
      Object.assign(features, declared);
      const work = () => {
        const tool = table.get(name);
        if (!tool) throw new RpcError(RpcError.INVALID_PARAMS, `no tool is named ${name}`);
        return tool.run(withDefaults(object(tool.input), JSON.parse(given)));
      };
      return answered(work, (value) => Result.of(value).lower(), failed);
    },
  };
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
  return refused(error);
}
