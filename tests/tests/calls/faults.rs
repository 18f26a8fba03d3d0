//! Faults of guests: each ends its own call, and the server serves on.

use cofferdam_tests::{Options, Server};
use serde_json::json;

async fn serves(server: &Server) {
    server
        .client()
        .result("echo", json!({"text": "alive"}))
        .await;
}

#[tokio::test]
async fn a_trap_ends_the_call_only() {
    let server = Server::start(Options::probe()).await;
    for how in ["trap", "overflow", "panic"] {
        let answer = server.client().call("finish", json!({"how": how})).await;
        let message = answer.message(200, -32603);
        // Where in the guest it was is for the log.
        assert!(
            !message.contains("0x") && !message.contains('\n'),
            "{how}: {message}"
        );
        serves(&server).await;
    }
}

// A fresh instance for each call: what one call left behind, the next does not find.
#[tokio::test]
async fn every_call_finds_a_pristine_instance() {
    let server = Server::start(Options::probe()).await;
    for _ in 0..3 {
        let result = server.client().result("count", json!({})).await;
        assert_eq!(result["content"][0]["text"], "1");
    }
    server
        .client()
        .call("finish", json!({"how": "trap"}))
        .await
        .error(200, -32603);
    let result = server.client().result("count", json!({})).await;
    assert_eq!(result["content"][0]["text"], "1");
}
