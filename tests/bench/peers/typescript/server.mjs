// The official TypeScript SDK with the tool `echo`, set up for speed: requests of the present revision
// alone, each with a server of its own as the SDK demands it, answered with plain JSON; its schemas are
// built beforehand, and bodies are parsed once: the SDK's own adapter for Node.js takes longer. Prints
// the line that the benchmark waits for.

import { createServer } from "node:http";
import { createMcpHandler, McpServer, preloadSchemas } from "@modelcontextprotocol/server";
import * as z from "zod/v4";

preloadSchemas();
const inputSchema = z.object({ text: z.string().describe("What comes back.") });
const about = { description: "Answers with its text", inputSchema };
const echo = async ({ text }) => ({ content: [{ type: "text", text }] });

const handler = createMcpHandler(
  () => {
    const server = new McpServer({ name: "bench", version: "1.0.0" });
    server.registerTool("echo", about, echo);
    return server;
  },
  { legacy: "reject", onerror: (error) => console.error(error) },
);

async function serve(incoming, outgoing) {
  const parts = [];
  for await (const part of incoming) parts.push(part);
  const body = Buffer.concat(parts).toString();
  const { method, headers } = incoming;
  const request = new Request(new URL(incoming.url, origin), { method, headers, body });
  const response = await handler.fetch(request, { parsedBody: JSON.parse(body) });
  outgoing.statusCode = response.status;
  outgoing.setHeaders(response.headers);
  outgoing.end(await response.text());
}

let origin;
const server = createServer((incoming, outgoing) => {
  serve(incoming, outgoing).catch((error) => {
    console.error(error);
    outgoing.destroy();
  });
});
server.listen(0, "127.0.0.1", () => {
  origin = `http://127.0.0.1:${server.address().port}`;
  console.log(`listening on ${origin}/mcp`);
});
