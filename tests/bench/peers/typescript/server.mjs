// The official TypeScript SDK with the tool `echo`, set up for speed: requests of the present revision
// alone, each with a server of its own as the SDK demands it, answered with plain JSON; its schemas
// are built beforehand. Prints the line that the benchmark waits for.

import { createServer } from "node:http";
import { toNodeHandler } from "@modelcontextprotocol/node";
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
  { legacy: "reject", responseMode: "json", onerror: (error) => console.error(error) },
);

const server = createServer(toNodeHandler(handler));
server.listen(0, "127.0.0.1", () => {
  console.log(`listening on http://127.0.0.1:${server.address().port}/mcp`);
});
