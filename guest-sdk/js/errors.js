// Why a tool has no result, and what its client sees of it. Whatever else is thrown is a fault of the
// tool: it ends the run like a crash, which may be attempted again.

import { write } from "cofferdam:tool/log@0.1.0";
import { waits } from "./engine.js";

/** The tool could not do what was asked. A model reads the message and may correct itself. */
export class ToolError extends Error {
  name = "ToolError";
}

/** Something is wrong with the request or the tool. The client gets this JSON-RPC error. */
export class RpcError extends Error {
  static INVALID_PARAMS = -32602;
  static INTERNAL = -32603;

  name = "RpcError";

  constructor(code, message, data) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

/** The client did not declare what the tool needs. It gets the error -32021. */
export class MissingFeatures extends Error {
  name = "MissingFeatures";

  constructor(features) {
    super("the client lacks what this tool needs");
    this.features = features;
  }
}

/** The call is over already: nobody waits for this handler any more. */
export class CallOver extends Error {
  name = "CallOver";

  constructor() {
    super("The call is over.");
  }
}

const internal = (message) => new RpcError(RpcError.INTERNAL, message);

/** Calls a verb of the host. What it refuses with becomes one of the errors above. */
export function verb(does, ...values) {
  try {
    return does(...values);
  } catch (error) {
    throw error?.payload === undefined ? error : refusal(error.payload);
  }
}

function refusal(payload) {
  const { tag, val } = typeof payload === "string" ? { tag: payload } : payload;
  switch (tag) {
    case "final":
      return new CallOver();
    case "missing-features":
      return new MissingFeatures(val);
    case "unavailable":
      return new ToolError("This tool needs an answer from its user, but nothing can be asked in this call.");
    case "already-started":
      return internal("the call is a task already");
    case "not-allowed":
      return internal("this tool does not declare that it may become a task");
    case "invalid-option":
      return internal(`task option: ${val}`);
    case "limit-reached":
      return internal("Task limit reached");
    case "store-failed":
      return internal(`it could not be stored: ${val}`);
    case "invalid":
      return internal(`input request: ${val}`);
    case "duplicate-keys":
      return internal(`input request: used before: ${val.join(", ")}`);
    case "invalid-key":
      return internal("record: the key is empty or too long");
    case "too-large":
      return internal(`record: ${val}`);
    default:
      return internal(`the host said ${tag}`);
  }
}

/** Does the work, and lowers what it came to, also if it is a promise and the engine waits for it. */
export function answered(work, lower, failed) {
  try {
    const value = work();
    if (typeof value?.then !== "function") return lower(value);
    if (waits) return value.then(lower).catch(failed);
    const remedy = "return the result, or build for StarlingMonkey";
    throw internal(`this function is async, and QuickJS waits for nothing: ${remedy}`);
  } catch (error) {
    return failed(error);
  }
}

/** The answer where a result cannot be an error: of a prompt, a resource, a completion. */
export function refused(error) {
  if (error instanceof ToolError || error instanceof CallOver) error = internal(error.message);
  if (error instanceof RpcError) {
    const { code, message, data } = error;
    throw { tag: "rpc", val: { code, message, data: data === undefined ? undefined : JSON.stringify(data) } };
  }
  if (error instanceof MissingFeatures) throw { tag: "missing-features", val: error.features };
  write("error", `${error}`, JSON.stringify({ stack: error?.stack }));
  // Neither engine makes an answer of this: the run ends as it does when a tool in Rust panics.
  throw error;
}
