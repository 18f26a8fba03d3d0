// The verbs of the running call. An instance serves one call, so they need not be told which.
//
// A handler may be run again from its first line, after a crash of the server or a long wait. Verbs,
// clocks and random numbers then answer as they did before; `step` spares what was worked out.

import * as host from "cofferdam:tool/task@0.1.0";
import { write } from "cofferdam:tool/log@0.1.0";
import { RpcError, verb } from "./errors.js";
import { fromUtf8, u64, utf8 } from "./engine.js";
import { json, Result } from "./results.js";

/** What the calling client can do, as `tools.js` was told. */
export const features = {};

export const task = {
  start({ ttl, pollInterval, status, maxAttempts } = {}) {
    return verb(host.startTask, {
      ttl: lifetime(ttl),
      pollIntervalMs: pollInterval === undefined ? undefined : u64(pollInterval),
      statusMessage: status,
      maxAttempts,
    });
  },
  status: () => host.status(),
  cancelled: () => host.cancelled(),
  complete: (value) => verb(host.complete, Result.of(value).lower()),
  fail: (code, message, data) => verb(host.fail, { code, message, data: json(data) }),
};

function lifetime(ttl) {
  if (ttl === undefined) return { tag: "default" };
  if (ttl === "unlimited") return { tag: "unlimited" };
  return { tag: "millis", val: u64(ttl) };
}

export function progress(done, total, message) {
  verb(host.progress, done, total, message);
}

export function sleep(milliseconds) {
  verb(host.sleep, u64(Math.ceil(milliseconds)));
}

export function record(key, bytes) {
  verb(host.record, key, typeof bytes === "string" ? utf8(bytes) : bytes);
}

export const recall = (key) => host.recall(key) ?? undefined;

export function step(name, work) {
  const key = `step:${name}`;
  const recorded = recall(key);
  if (recorded !== undefined) return read(name, fromUtf8(recorded));
  const value = work();
  if (typeof value?.then === "function") return value.then((value) => keep(name, key, value));
  return keep(name, key, value);
}

function keep(name, key, value) {
  // What is returned now must be what is returned later, so it is read back at once.
  const text = JSON.stringify(value) ?? "null";
  record(key, text);
  return read(name, text);
}

function read(name, text) {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new RpcError(RpcError.INTERNAL, `step \`${name}\`: its recorded value cannot be read (${error.message})`);
  }
}

const LEVELS = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

/** `log.info(message, fields)`, and so for each level. */
export const log = Object.fromEntries(
  LEVELS.map((level) => [level, (message, fields) => write(level, String(message), json(fields))]),
);
