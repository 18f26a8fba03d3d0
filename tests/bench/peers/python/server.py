"""The official Python SDK with the tool `echo`, set up for speed: no sessions, plain JSON answers, on
uvicorn with uvloop and httptools, which logs no requests. Prints the line that the benchmark waits for.
"""

import socket

import uvicorn
from mcp.server.mcpserver import MCPServer
from mcp.server.transport_security import TransportSecuritySettings

server = MCPServer("bench", log_level="WARNING")


@server.tool(description="Answers with its text", structured_output=False)
async def echo(text: str) -> str:
    return text


# The load names no port in `Host`, as a client does on port 80.
security = TransportSecuritySettings(allowed_hosts=["127.0.0.1"])
app = server.streamable_http_app(
    json_response=True, stateless_http=True, transport_security=security
)
config = uvicorn.Config(
    app, loop="uvloop", http="httptools", ws="none", access_log=False, log_level="warning"
)
with socket.create_server(("127.0.0.1", 0), backlog=config.backlog) as listener:
    address, port = listener.getsockname()
    print(f"listening on http://{address}:{port}/mcp", flush=True)
    uvicorn.Server(config).run(sockets=[listener])
