// Five tools that ask their user and tell whether what they had before the answer is what they have
// after it. A handler that the host runs again must come to the same place with the same values, so
// no result depends on anything but the answers.

import task from "cofferdam:tool/task@0.1.0";
import random from "wasi:random/random@0.2.0";

const ARGUMENTS = JSON.stringify({
  type: "object",
  properties: {
    phase: {
      type: "string",
      enum: ["inline", "task"],
      default: "inline",
      description: "Whether the call becomes a task before anything else",
    },
  },
});

const FORM = JSON.stringify({
  type: "object",
  properties: { value: { type: "string" } },
  required: ["value"],
});

/** A question that the user did not answer. */
class Unanswered extends Error {}

/** Asks the user one question for each key, all at once. Returns the values by their keys. */
function ask(...keys) {
  const requests = keys.map((key) => [
    key,
    { tag: "form", val: { message: `${key}?`, schema: FORM } },
  ]);
  const values = {};
  for (const [key, { val: { action, content } }] of task.requireInput(requests)) {
    if (action !== "accept") throw new Unanswered(`the answer to "${key}" was: ${action}`);
    values[key] = JSON.parse(content).value;
  }
  return values;
}

/** Records ASCII text. */
function record(key, text) {
  task.record(key, Uint8Array.from(text, (character) => character.charCodeAt(0)));
}

/** What was recorded under the key, or null. */
function recall(key) {
  const bytes = task.recall(key);
  return bytes && String.fromCharCode(...bytes);
}

function randomHex(length) {
  return random.getRandomBytes(length).toHex();
}

function clocks() {
  return { wall: Date.now(), monotonic: performance.now() };
}

/** FNV-1a, 32 bits, of a thousand bytes that depend on `seed`. */
function checksum(seed) {
  let hash = 0x811c9dc5;
  for (let n = 0; n < 1000; n++) {
    hash = Math.imul(hash ^ ((seed + n) & 0xff), 0x01000193) >>> 0;
  }
  return hash.toString(16).padStart(8, "0");
}

const TOOLS = {
  sequence: {
    description: "Asks one question, then another",
    run: () => ({ ...ask("first"), ...ask("second") }),
  },

  two_keys: {
    description: "Asks two questions at once",
    run: () => ask("left", "right"),
  },

  random: {
    description: "Draws random bytes before a question and after it",
    run() {
      const drawn = randomHex(16);
      record("drawn", drawn);
      const { go } = ask("go");
      if (randomHex(16) === drawn) throw new Error("random bytes came twice");
      return { same: recall("drawn") === drawn, answer: go };
    },
  },

  clock: {
    description: "Reads the clocks before a question and after it",
    run() {
      const before = clocks();
      const read = JSON.stringify(before);
      record("read", read);
      const { go } = ask("go");
      const after = clocks();
      return {
        same: recall("read") === read,
        ordered: after.wall >= before.wall && after.monotonic >= before.monotonic,
        answer: go,
      };
    },
  },

  steps: {
    description: "Takes five steps, each once, and asks a question after the third",
    run() {
      const steps = [];
      let answer;
      for (let i = 0; i < 5; i++) {
        const key = `step-${i}`;
        if (recall(key) === null) record(key, checksum(i));
        steps.push(recall(key));
        if (i === 2) answer = ask("go").go;
      }
      return { steps, answer };
    },
  },
};

function result(text, isError) {
  return {
    content: [{ tag: "text", val: { text, annotations: null } }],
    structured: null,
    isError,
    meta: null,
  };
}

/** What a failed call throws: an error of the contract's own type. */
function callError(error) {
  // What a verb refuses with is the payload of what it throws.
  const { payload } = error;
  if (payload?.tag === "missing-features") return payload;
  const message = payload === undefined ? String(error) : `the host said ${JSON.stringify(payload)}`;
  return { tag: "rpc", val: { code: -32603, message, data: null } };
}

export const handler = {
  listTools: () =>
    Object.entries(TOOLS).map(([name, { description }]) => ({
      name,
      title: null,
      description,
      inputSchema: ARGUMENTS,
      outputSchema: null,
      hints: null,
      taskSupport: "optional",
      meta: null,
    })),

  callTool(call) {
    try {
      if (JSON.parse(call.arguments).phase === "task") {
        task.startTask({
          ttl: { tag: "default" },
          pollIntervalMs: null,
          statusMessage: null,
          maxAttempts: null,
        });
      }
      return result(JSON.stringify(TOOLS[call.name].run()), false);
    } catch (error) {
      if (error instanceof Unanswered) return result(error.message, true);
      throw callError(error);
    }
  },
};
