# mcp URL METHOD NAME PARAMS: one request, of a client that takes tasks and fills in forms.
mcp() {
    curl -sN "$1" -H 'Content-Type: application/json' \
        -H 'Accept: application/json, text/event-stream' -H 'MCP-Protocol-Version: 2026-07-28' \
        -H "Mcp-Method: $2" -H "Mcp-Name: $3" -d @- <<END
{"jsonrpc":"2.0","id":1,"method":"$2","params":{$4,"_meta":{
 "io.modelcontextprotocol/protocolVersion":"2026-07-28",
 "io.modelcontextprotocol/clientCapabilities":{
  "elicitation":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}}}}
END
    echo
}
