//! The headers that repeat the body: version, method and name.

use cofferdam_tests::{Call, Declares, Options, Server, raw};
use serde_json::json;

// M-22 and T-54: all three methods of the extension name their task in the header.
const NAMED: [&str; 3] = ["tasks/get", "tasks/update", "tasks/cancel"];

fn discover(server: &Server) -> Call {
    server.client().request("server/discover", json!({}))
}

#[tokio::test]
async fn the_version_header_must_be_there_and_agree() {
    let server = Server::start(Options::probe()).await;
    discover(&server)
        .without("MCP-Protocol-Version")
        .answer()
        .await
        .error(400, -32020);
    for value in [
        "",
        "2025-11-25",
        "2026-07-28x",
        "=?base64?MjAyNi0wNy0yOA==?=",
    ] {
        discover(&server)
            .header("MCP-Protocol-Version", value)
            .answer()
            .await
            .error(400, -32020);
    }
    discover(&server)
        .header("MCP-Protocol-Version", " \t2026-07-28  ")
        .answer()
        .await
        .result();
}

#[tokio::test]
async fn the_method_header_must_be_there_and_agree() {
    let server = Server::start(Options::probe()).await;
    discover(&server)
        .without("Mcp-Method")
        .answer()
        .await
        .error(400, -32020);
    for value in [
        "",
        "tools/list",
        "SERVER/DISCOVER",
        "server/discover/",
        "=?base64?c2VydmVyL2Rpc2NvdmVy?=",
    ] {
        discover(&server)
            .header("Mcp-Method", value)
            .answer()
            .await
            .error(400, -32020);
    }
    discover(&server)
        .header("Mcp-Method", "  server/discover\t")
        .answer()
        .await
        .result();
}

#[tokio::test]
async fn header_names_have_no_case() {
    let server = Server::start(Options::probe()).await;
    let body = discover(&server).message().to_string();
    let request = format!(
        "POST /mcp HTTP/1.1\r\nhOST: {}\r\nCONNECTION: close\r\nCONTENT-TYPE: application/json\r\naCCEPT: application/json\r\n\
         MCP-PROTOCOL-VERSION: 2026-07-28\r\nMCP-METHOD:server/discover\r\ncontent-length: {}\r\n\r\n{body}",
        server.address(),
        body.len()
    );
    let answer = raw(server.address(), request.as_bytes()).await;
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
}

#[tokio::test]
async fn the_name_header_must_be_there_and_agree_on_calls() {
    let server = Server::start(Options::probe()).await;
    let call = || server.client().tool("echo", json!({"text": "hi"}));
    call().answer().await.result();
    call().without("Mcp-Name").answer().await.error(400, -32020);
    for value in [
        "",
        "Echo",
        "echo2",
        "echo, echo",
        "=?base64?ZWNobw=?=",
        "=?base64?ZWNo!28=?=",
        "=?BASE64?ZWNobw==?=",
        "=?base64?ZWNobw==",
        "=?base64?/w==?=",
    ] {
        call()
            .header("Mcp-Name", value)
            .answer()
            .await
            .error(400, -32020);
    }
    call()
        .header("Mcp-Name", "\t echo ")
        .answer()
        .await
        .result();
    call()
        .header("Mcp-Name", "=?base64?ZWNobw==?=")
        .answer()
        .await
        .result();
    // Bytes beyond ASCII are no header text.
    call()
        .header("Mcp-Name", b"ech\xc3\xb6")
        .answer()
        .await
        .error(400, -32020);
}

#[tokio::test]
async fn a_header_given_twice_is_no_agreement() {
    let server = Server::start(Options::probe()).await;
    for (name, value) in [
        ("Mcp-Method", "tools/list"),
        ("MCP-Protocol-Version", "2025-11-25"),
    ] {
        let response = discover(&server)
            .http()
            .more(name, value)
            .send(server.address())
            .await;
        assert_eq!(response.status, 400, "{name}");
        assert_eq!(response.json().await["error"]["code"], -32020, "{name}");
    }
}

#[tokio::test]
async fn the_name_header_is_looked_at_before_the_tool() {
    let server = Server::start(Options::probe()).await;
    let call = server.client().tool("no-such-tool", json!({}));
    call.clone()
        .without("Mcp-Name")
        .answer()
        .await
        .error(400, -32020);
    call.clone()
        .header("Mcp-Name", "echo")
        .answer()
        .await
        .error(400, -32020);
    call.answer().await.error(200, -32602);
}

#[tokio::test]
async fn task_methods_name_their_task() {
    let server = Server::start(Options::probe()).await;
    let client = server.client().declaring(Declares::Tasks);
    for method in NAMED {
        let call = client.request(method, json!({"taskId": "some-task", "inputResponses": {}}));
        call.clone()
            .without("Mcp-Name")
            .answer()
            .await
            .error(400, -32020);
        for value in ["", "other-task", "SOME-TASK", "=?base64?c29tZS10YXNr=?="] {
            call.clone()
                .header("Mcp-Name", value)
                .answer()
                .await
                .error(400, -32020);
        }
        // Agreement, plain, padded or encoded, leads on to the task, which there is not.
        for value in ["some-task", " some-task ", "=?base64?c29tZS10YXNr?="] {
            call.clone()
                .header("Mcp-Name", value)
                .answer()
                .await
                .error(200, -32602);
        }
    }
}

#[tokio::test]
async fn the_name_header_can_be_made_optional_for_task_methods_only() {
    let server = Server::start(Options::probe().set("server.lenient-names", true)).await;
    let client = server.client().declaring(Declares::Tasks);
    for method in NAMED {
        let call = client.request(method, json!({"taskId": "some-task", "inputResponses": {}}));
        call.clone()
            .without("Mcp-Name")
            .answer()
            .await
            .error(200, -32602);
        // A wrong header stays wrong.
        call.header("Mcp-Name", "other-task")
            .answer()
            .await
            .error(400, -32020);
    }
    let call = client.tool("echo", json!({"text": "hi"}));
    call.without("Mcp-Name").answer().await.error(400, -32020);
}
