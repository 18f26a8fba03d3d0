//! The handshake, and what a session is good for.

use crate::session::Session;
use cofferdam_tests::{Declares, Options, Request, Server};
use serde_json::json;

const REVISIONS: [&str; 3] = ["2025-03-26", "2025-06-18", "2025-11-25"];

#[tokio::test]
async fn every_revision_is_agreed_on_and_others_are_offered_the_newest() {
    let server = Server::start(Options::probe()).await;
    for version in REVISIONS {
        let session = Session::begin(&server, version, json!({})).await;
        assert_eq!(session.begun["protocolVersion"], version);
        let declared = json!({"tools": {"listChanged": true}, "logging": {}});
        assert_eq!(session.begun["capabilities"], declared);
        assert_eq!(session.begun["serverInfo"]["name"], "cofferdam");
        assert_eq!(session.result("ping", json!({})).await, json!({}));
    }
    for version in ["2024-11-05", "2026-07-28", "next"] {
        let session = Session::begin(&server, version, json!({})).await;
        assert_eq!(session.begun["protocolVersion"], "2025-11-25", "{version}");
    }
}

#[tokio::test]
async fn a_malformed_handshake_says_what_is_missing() {
    let server = Server::start(Options::probe()).await;
    for (params, word) in [
        (json!({"capabilities": {}}), "protocolVersion"),
        (json!({"protocolVersion": "2025-11-25"}), "capabilities"),
        (json!([]), "protocolVersion"),
    ] {
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params});
        let request = Request::new("POST", "/mcp").header("Content-Type", "application/json");
        let response = request
            .body(message.to_string())
            .send(server.address())
            .await;
        let error = response.json().await["error"].take();
        assert_eq!(error["code"], -32602);
        assert!(
            error["message"].as_str().unwrap_or_default().contains(word),
            "{error}"
        );
    }
}

// With the metadata of the present revision there is no handshake, whatever else is said.
#[tokio::test]
async fn a_request_that_names_its_revision_begins_no_session() {
    let server = Server::start(Options::probe()).await;
    let call = server.client().request("initialize", json!({}));
    call.answer().await.error(404, -32601);
    let session = Session::begin(&server, "2025-11-25", json!({})).await;
    let call = server.client().request("server/discover", json!({}));
    let discovered = call.header("Mcp-Session-Id", &session.id).answer().await;
    assert_eq!(discovered.result()["resultType"], "complete");
}

#[tokio::test]
async fn without_a_session_nothing_is_done_and_the_answer_says_what_to_do() {
    let server = Server::start(Options::probe()).await;
    let session = Session::begin(&server, "2025-06-18", json!({})).await;
    let ping = session.message("ping", json!({}));
    let missing = session.http("POST").without("Mcp-Session-Id");
    let missing = missing.body(ping.to_string()).send(server.address()).await;
    assert_eq!(missing.status, 400);
    let error = missing.json().await["error"].take();
    assert!(error.to_string().contains("send initialize"), "{error}");

    let mut other = session.id.clone();
    other.replace_range(8..9, if &other[8..9] == "A" { "B" } else { "A" });
    for id in [other.as_str(), "x", &session.id[1..]] {
        let request = session.http("POST").header("Mcp-Session-Id", id);
        let response = request.body(ping.to_string()).send(server.address()).await;
        assert_eq!(response.status, 404, "{id}");
    }
    let other = session
        .http("POST")
        .header("MCP-Protocol-Version", "2025-03-26");
    let response = other.body(ping.to_string()).send(server.address()).await;
    assert_eq!(response.status, 400);
    // A client that never said initialize, and asks without any of it, is told of both ways.
    let plain = Request::new("POST", "/mcp").header("Content-Type", "application/json");
    let response = plain.body(ping.to_string()).send(server.address()).await;
    assert_eq!(response.status, 400);
}

#[tokio::test]
async fn a_session_outlives_the_server() {
    let server = Server::start(Options::probe()).await;
    let session = Session::begin(&server, "2025-11-25", json!({"elicitation": {}})).await;
    let mut server = server;
    server.kill();
    let server = server.restart().await;
    let session = session.at(server.address());
    let told = session.call("features", json!({})).await;
    assert_eq!(told["content"][0]["text"], "elicitation-form");
}

#[tokio::test]
async fn a_message_that_is_no_request_changes_nothing() {
    let server = Server::start(Options::probe()).await;
    let session = Session::begin(&server, "2025-11-25", json!({})).await;
    for message in [
        json!({"jsonrpc": "2.0", "id": 77, "result": {}}),
        json!({"jsonrpc": "2.0", "id": "x", "error": {"code": 1, "message": ""}}),
        json!({"jsonrpc": "2.0", "method": "notifications/roots/list_changed"}),
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 9}}),
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": 5}),
    ] {
        assert_eq!(session.post(&message).await.status, 202, "{message}");
    }
    // Such an answer of a client without a session is refused, as before.
    let answer = json!({"jsonrpc": "2.0", "id": 77, "result": {}});
    let request = session.http("POST").without("Mcp-Session-Id");
    let request = request
        .without("MCP-Protocol-Version")
        .body(answer.to_string());
    assert_eq!(request.send(server.address()).await.status, 400);
}

#[tokio::test]
async fn tasks_are_not_for_them() {
    let server = Server::start(Options::probe()).await;
    let declared = json!({
        "tasks": {"requests": {"tools": {"call": {}}}},
        "extensions": {"io.modelcontextprotocol/tasks": {}},
    });
    let session = Session::begin(&server, "2025-11-25", declared).await;
    assert!(session.begun["capabilities"].get("tasks").is_none());
    assert!(session.begun["capabilities"].get("extensions").is_none());
    let task = server.client().declaring(Declares::Tasks);
    let task = task.task("wait", json!({})).await;
    for method in [
        "tasks/get",
        "tasks/cancel",
        "tasks/update",
        "tasks/result",
        "tasks/list",
    ] {
        let error = session.error(method, json!({"taskId": task.id()})).await;
        assert_eq!(error["code"], -32601, "{method}");
    }
    assert_eq!(task.status().await, "working");
    // What begins a task for others runs while the client waits.
    let told = session.call("finish", json!({})).await;
    assert_eq!(told["content"][0]["text"], "inline");
    assert!(
        told.get("resultType").is_none() && told.get("_meta").is_none(),
        "{told}"
    );

    let listed = session.result("tools/list", json!({})).await;
    let listed = listed["tools"].to_string();
    assert!(
        listed.contains("\"finish\"") && !listed.contains("\"name\":\"required\""),
        "{listed}"
    );
    let call = json!({"name": "required", "arguments": {}, "task": {"ttl": 1000}});
    let error = session.error("tools/call", call).await;
    assert_eq!(error["code"], -32021);
}
