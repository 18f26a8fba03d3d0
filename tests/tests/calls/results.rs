//! Results: every kind of content, structured results and their schema.

use cofferdam_tests::{Options, Server};
use serde_json::json;

#[tokio::test]
async fn a_call_may_leave_its_arguments_out() {
    let server = Server::start(Options::probe()).await;
    let call = server
        .client()
        .request("tools/call", json!({"name": "contents"}));
    let answer = call.answer().await;
    assert_eq!(answer.result()["resultType"], "complete");
    assert_eq!(answer.headers["content-type"], "application/json");
}

// The schema of the harness checks each block; this, that nothing is lost on the way.
#[tokio::test]
async fn every_kind_of_content_arrives() {
    let server = Server::start(Options::probe()).await;
    let result = server.client().result("contents", json!({})).await;
    let content = result["content"].as_array().expect("content");
    let kinds: Vec<&str> = content
        .iter()
        .map(|block| block["type"].as_str().expect("a type"))
        .collect();
    assert_eq!(
        kinds,
        [
            "text",
            "image",
            "audio",
            "resource_link",
            "resource",
            "resource"
        ]
    );
}

#[tokio::test]
async fn structured_content_fits_its_schema() {
    let server = Server::start(Options::probe()).await;
    let result = server
        .client()
        .result("structured", json!({"value": {"count": 3}}))
        .await;
    assert_eq!(result["structuredContent"], json!({"count": 3}));
    // The same as text, for clients that read only that.
    let text = result["content"][0]["text"].as_str().expect("text");
    assert_eq!(
        serde_json::from_str::<serde_json::Value>(text).expect("JSON"),
        json!({"count": 3})
    );
}

#[tokio::test]
async fn structured_content_that_does_not_fit_never_arrives() {
    let server = Server::start(Options::probe()).await;
    for value in [json!({"count": "three"}), json!({}), json!(5), json!(null)] {
        let answer = server
            .client()
            .call("structured", json!({"value": value}))
            .await;
        answer.error(200, -32603);
    }
}

#[tokio::test]
async fn a_tool_error_is_a_result() {
    let server = Server::start(Options::probe()).await;
    let result = server
        .client()
        .result("finish", json!({"how": "tool-error"}))
        .await;
    assert_eq!(result["isError"], true);
}

#[tokio::test]
async fn a_tools_own_error_reaches_the_client_with_code_and_data() {
    let server = Server::start(Options::probe()).await;
    for (code, expected) in [
        (7, 7),
        (-31999, -31999),
        (-32602, -32602),
        (-32603, -32603),
        (-32000, -32603),
        (-32021, -32603),
        (-32700, -32603),
    ] {
        let answer = server
            .client()
            .call("finish", json!({"how": "rpc-error", "code": code}))
            .await;
        answer.error(200, expected);
    }
}
