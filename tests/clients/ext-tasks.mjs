// Drives the official TypeScript client and the official Tasks requester against a server that
// serves the conformance component. It is read from standard input, in the folder that holds the
// packages: node --input-type=module - URL < ext-tasks.mjs
// Prints a word for each thing that worked; exits with an error at the first that did not.

import assert from "node:assert/strict";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { createTaskSessionFromClient, resultFromTaskOutcome } from "@modelcontextprotocol/ext-tasks/client";

const [url] = process.argv.slice(2);
const protocolVersion = "2026-07-28";
const clientInfo = { name: "cofferdam-tests", version: "0" };
const clientCapabilities = {
  elicitation: { form: {} },
  extensions: { "io.modelcontextprotocol/tasks": {} },
};

// The requester leaves the HTTP of task requests to its host.
let requests = 0;
async function rawDispatch(request) {
  const name = request.params?.taskId ?? request.params?.name;
  const response = await fetch(url, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": protocolVersion,
      "mcp-method": request.method,
      ...(name === undefined ? {} : { "mcp-name": name }),
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: `raw-${++requests}`, ...request }),
  });
  const { result, error } = await response.json();
  return error ? { kind: "error", error } : { kind: "result", result };
}

const client = new Client(clientInfo, {
  capabilities: clientCapabilities,
  versionNegotiation: { mode: { pin: protocolVersion } },
});
await client.connect(new StreamableHTTPClientTransport(new URL(url)));
const asked = [];
const session = createTaskSessionFromClient(client, {
  endpointId: "cofferdam",
  rawDispatch,
  v2RequestFraming: { protocolVersion, clientInfo, clientCapabilities },
  onInputRequest: async (request) => {
    asked.push(request);
    return { action: "accept", content: { confirm: true } };
  },
});

const settled = async (execution) => (await execution.settle()).outcome;

const greeting = await session.callTool("greet", { name: "Ada" });
assert.equal(greeting.kind, "immediate");
assert.equal(resultFromTaskOutcome(await settled(greeting)).content[0].text, "Hello, Ada!");
console.log("call");

const computation = await session.callTool("slow_compute", { seconds: 0.2, label: "typescript" });
assert.equal(computation.kind, "task");
assert.ok(resultFromTaskOutcome(await settled(computation)).content.length > 0);
console.log("task");

const deletion = await session.callTool("confirm_delete", { filename: "a.txt" });
assert.equal(deletion.kind, "task");
assert.ok(resultFromTaskOutcome(await settled(deletion)).content.length > 0);
assert.equal(asked.length, 1);
assert.equal(asked[0].kind, "elicitation");
console.log("input");

const failure = await settled(await session.callTool("protocol_error_job", {}));
assert.equal(failure.status, "failed");
assert.equal(typeof failure.error.code, "number");
console.log("error");

const long = await session.callTool("slow_compute", { seconds: 60, label: "long" });
assert.equal(long.kind, "task");
await long.cancel();
assert.equal((await settled(long)).status, "cancelled");
console.log("cancel");

await session.close();
await client.close();
