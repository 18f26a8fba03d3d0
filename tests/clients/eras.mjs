// Drives the official TypeScript SDKs against a server that serves the conformance component, by
// either transport: node eras.mjs ERA http URL, or node eras.mjs ERA stdio COMMAND ARGUMENT…
// ERA is `first` (the SDK of the revisions before 2026-07-28), or of the present one `legacy` or
// `modern`. It is read from standard input, in the folder that holds the packages. Prints a word for
// each thing that worked; exits with an error at the first that did not.

import assert from "node:assert/strict";
import * as present from "@modelcontextprotocol/client";
import * as presentStdio from "@modelcontextprotocol/client/stdio";
import * as first from "@modelcontextprotocol/sdk/client/index.js";
import * as firstHttp from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import * as firstStdio from "@modelcontextprotocol/sdk/client/stdio.js";
import * as firstTypes from "@modelcontextprotocol/sdk/types.js";

const [era, kind, ...target] = process.argv.slice(2);
const sdk = era === "first"
  ? { ...first, ...firstHttp, ...firstStdio }
  : { ...present, ...presentStdio };

const transport = kind === "http"
  ? new sdk.StreamableHTTPClientTransport(new URL(target[0]))
  : new sdk.StdioClientTransport({ command: target[0], args: target.slice(1), stderr: "inherit" });
const mode = { legacy: "legacy", modern: { pin: "2026-07-28" } }[era];
const client = new sdk.Client(
  { name: "cofferdam-tests", version: "0" },
  { capabilities: { elicitation: { form: {} } }, ...(mode && { versionNegotiation: { mode } }) },
);
const asked = [];
const answer = async (request) => {
  asked.push(request.params.message);
  return { action: "accept", content: { username: "ada", email: "ada@example.com" } };
};
if (era === "first") client.setRequestHandler(firstTypes.ElicitRequestSchema, answer);
else client.setRequestHandler("elicitation/create", answer);
await client.connect(transport);
console.log("connect");

const { tools } = await client.listTools();
const names = tools.map((tool) => tool.name);
assert(names.includes("greet"), names);
// What only runs as a task is not for clients that know none.
if (era !== "modern") assert(!names.includes("failing_job"), names);
console.log("list");

const greeting = await client.callTool({ name: "greet", arguments: { name: "Ada" } });
assert.equal(greeting.content[0].text, "Hello, Ada!");
assert.equal((await client.callTool({ name: "test_error_handling", arguments: {} })).isError, true);
await assert.rejects(client.callTool({ name: "nothing", arguments: {} }), { code: -32602 });
console.log("call");

const { prompts } = await client.listPrompts();
assert(prompts.some((prompt) => prompt.name === "test_prompt_with_arguments"));
const prompt = await client.getPrompt({
  name: "test_prompt_with_arguments",
  arguments: { arg1: "one", arg2: "two" },
});
assert.match(prompt.messages[0].content.text, /'one'.*'two'/);
await assert.rejects(client.getPrompt({ name: "nothing" }), { code: -32602 });
const completed = await client.complete({
  ref: { type: "ref/prompt", name: "test_prompt_with_arguments" },
  argument: { name: "arg1", value: "par" },
});
assert.deepEqual(completed.completion.values, ["paris", "park", "party"]);
console.log("prompts");

const watched = "test://watched-resource";
const { resources } = await client.listResources();
assert(resources.some(({ uri }) => uri === watched));
const { resourceTemplates } = await client.listResourceTemplates();
assert.equal(resourceTemplates[0].uriTemplate, "test://template/{id}/data");
const read = await client.readResource({ uri: "test://template/7/data" });
assert.equal(JSON.parse(read.contents[0].text).id, "7");
const unknown = client.readResource({ uri: "test://nothing" });
await assert.rejects(unknown, ({ code }) => [-32602, -32002].includes(code));
const updated = new Promise((resolve) => {
  const tell = ({ params }) => resolve(params.uri);
  if (era === "first") {
    client.setNotificationHandler(firstTypes.ResourceUpdatedNotificationSchema, tell);
  } else {
    client.setNotificationHandler("notifications/resources/updated", tell);
  }
});
const listening = era === "modern"
  ? await client.listen({ resourceSubscriptions: [watched] })
  : await client.subscribeResource({ uri: watched });
// Over HTTP a client of an earlier revision may still be opening its stream.
const trigger = () => client.callTool({ name: "test_trigger_resource_change", arguments: {} });
const again = setInterval(trigger, 200);
assert.equal(await updated, watched);
clearInterval(again);
if (era === "modern") await listening.close();
console.log("resources");

const reports = [];
const schema = era === "first" ? [firstTypes.CallToolResultSchema] : [];
const options = { onprogress: ({ progress }) => reports.push(progress) };
await client.callTool({ name: "test_tool_with_progress", arguments: {} }, ...schema, options);
// Within the SDK a response overtakes notifications that were read together with it.
assert(reports.length > 0);
assert.deepEqual(reports, [0, 50, 100].slice(0, reports.length));
console.log("progress");

const message = "Who are you?";
const answered = await client.callTool({ name: "test_elicitation", arguments: { message } });
assert.match(answered.content[0].text, /action=accept.*ada@example\.com/);
assert.deepEqual(asked, [message]);
console.log("question");

if (era !== "modern") {
  const get = { method: "tasks/get", params: { taskId: "x" } };
  await assert.rejects(client.request(get, firstTypes.ResultSchema), { code: -32601 });
}
const aborter = new AbortController();
const slow = { name: "slow_compute", arguments: { seconds: 60, label: "slow" } };
const aborted = client.callTool(slow, ...schema, { signal: aborter.signal });
aborter.abort();
await assert.rejects(aborted);
// The connection is good for more.
await client.callTool({ name: "greet", arguments: { name: "Bob" } });
console.log("cancel");
await client.close();
