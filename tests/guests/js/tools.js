// The scenarios that a guest in every language plays alike (`tests/guests/scenarios/README.md`).

import * as cofferdam from "./cofferdam/index.js";

const { ask, askAll, defineTools, form, log, progress, record, recall, RpcError, sleep, step, task, ToolError } =
  cofferdam;

const PHASE = {
  type: "string",
  enum: ["inline", "task"],
  default: "inline",
  description: "Whether the call becomes a task before anything else",
};

const VALUE = { value: { type: "string" } };

/** A tool that works inline or as a task. */
function phased({ input, run, ...tool }) {
  return {
    ...tool,
    task: "optional",
    input: { ...input, phase: PHASE },
    run(given) {
      if (given.phase === "task") task.start();
      return run(given);
    },
  };
}

/** Asks for a text under each key, all at once. Returns them by their keys. */
function values(...keys) {
  const questions = keys.map((key) => [key, form(`What is ${key}?`, VALUE)]);
  const answers = Object.entries(askAll(Object.fromEntries(questions)));
  return Object.fromEntries(
    answers.map(([key, { action, content }]) => {
      if (action !== "accept") throw new ToolError(`${key}: ${action}`);
      return [key, content.value];
    }),
  );
}

const hex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");

const clocks = () => ({ wall: Date.now(), monotonic: performance.now() });

/** FNV-1a, 32 bits, of a thousand bytes that depend on `seed`. */
function checksum(seed) {
  let hash = 0x811c9dc5;
  for (let n = 0; n < 1000; n++) {
    hash = Math.imul(hash ^ ((seed + n) & 0xff), 0x01000193) >>> 0;
  }
  return hash.toString(16).padStart(8, "0");
}

export const scenarios = {
  contents: {
    title: "Contents",
    description: "One block of each kind",
    hints: { readOnly: true },
    run() {
      const { text, image, audio, link, resource, blob } = cofferdam;
      return [
        text("text").with({
          audience: ["user", "assistant"],
          priority: 0.5,
          lastModified: "2026-07-28T00:00:00Z",
        }),
        image(Uint8Array.of(137, 80, 78, 71), "image/png"),
        audio(Uint8Array.of(82, 73, 70, 70, 0), "audio/wav"),
        link("file:///report.txt", "report", {
          title: "Report",
          description: "A report",
          mimeType: "text/plain",
          size: 7,
        }),
        resource("test://text", "text/plain", "text"),
        blob("test://blob", "application/octet-stream", Uint8Array.of(0, 255)),
      ];
    },
  },

  add: {
    description: "Adds two numbers",
    input: { a: { type: "number" }, b: { type: "number" } },
    output: { sum: { type: "number" } },
    run: ({ a, b }) => ({ sum: a + b }),
  },

  misfit: {
    description: "Promises a count, and returns something else",
    output: { count: { type: "integer" } },
    run: () => ({ count: "many" }),
  },

  strict: {
    description: "Takes only what is within bounds",
    input: {
      word: { type: "string", minLength: 1, maxLength: 5 },
      number: { type: "integer", minimum: 1, maximum: 10 },
    },
    run: ({ word, number }) => `${word} ${number}`,
  },

  refuse: {
    description: "Cannot do what is asked",
    input: { reason: { type: "string" } },
    run({ reason }) {
      throw new ToolError(reason);
    },
  },

  fault: phased({
    description: "Fails with a JSON-RPC error",
    input: { code: { type: "integer" }, message: { type: "string" } },
    run({ code, message }) {
      throw new RpcError(code, message, { hint: "none" });
    },
  }),

  crash: phased({
    description: "Has a bug",
    run: () => undefined.bug,
  }),

  count: phased({
    description: "Counts, and tells how far it is",
    input: { to: { type: "integer", minimum: 1, maximum: 100 } },
    run({ to }) {
      for (let n = 1; n <= to; n++) progress(n, to, `counted ${n}`);
      return `counted to ${to}`;
    },
  }),

  say: {
    description: "Writes a line to the log",
    input: { level: { type: "string" }, message: { type: "string" } },
    run({ level, message }) {
      log[level](message, { from: "scenarios" });
      return "said";
    },
  },

  confirm: phased({
    description: "Asks whether the user is sure",
    run() {
      const { action, content } = ask("sure", form("Are you sure?", { sure: { type: "boolean" } }));
      return action === "accept" ? (content.sure ? "yes" : "no") : action;
    },
  }),

  sequence: phased({
    description: "Asks one question, then another",
    run: () => JSON.stringify({ ...values("first"), ...values("second") }),
  }),

  two_keys: phased({
    description: "Asks two questions at once",
    run: () => JSON.stringify(values("left", "right")),
  }),

  nap: phased({
    description: "Sleeps",
    input: { ms: { type: "integer", minimum: 0 } },
    run({ ms }) {
      const before = performance.now();
      sleep(ms);
      return performance.now() - before >= ms ? "slept" : "woke early";
    },
  }),

  linger: phased({
    description: "Goes on until it is cancelled, and cleans up",
    run() {
      while (!task.cancelled()) {
        try {
          sleep(10);
        } catch (error) {
          if (!(error instanceof cofferdam.CallOver)) throw error;
        }
      }
      log.info("cleaned up");
    },
  }),

  random: phased({
    description: "Draws random numbers before a question and after it",
    run() {
      const draw = () => `${hex(cofferdam.randomBytes(8))} ${Math.random()}`;
      const drawn = draw();
      record("drawn", drawn);
      const { go } = values("go");
      if (draw() === drawn) throw new Error("random numbers came twice");
      return JSON.stringify({ same: cofferdam.fromUtf8(recall("drawn")) === drawn, answer: go });
    },
  }),

  clock: phased({
    description: "Reads the clocks before a question and after it",
    run() {
      const before = clocks();
      const read = JSON.stringify(before);
      record("read", read);
      const { go } = values("go");
      const after = clocks();
      return JSON.stringify({
        same: cofferdam.fromUtf8(recall("read")) === read,
        ordered: after.wall >= before.wall && after.monotonic >= before.monotonic,
        answer: go,
      });
    },
  }),

  steps: phased({
    description: "Takes five steps, each once, and asks a question after the third",
    run() {
      const steps = [];
      let answer;
      for (let n = 0; n < 5; n++) {
        steps.push(step(`checksum ${n}`, () => checksum(n)));
        if (n === 2) answer = values("go").go;
      }
      return JSON.stringify({ steps, answer });
    },
  }),
};

export const handler = defineTools(scenarios);
