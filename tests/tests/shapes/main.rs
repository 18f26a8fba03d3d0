//! The shape of every answer: one reviewed snapshot for each kind of result and of error. What
//! differs from run to run (ids, times, the version) is replaced.

#![allow(
    clippy::expect_used,
    reason = "a test that meets the unexpected should fail, saying so"
)]

mod errors;
mod results;

use cofferdam_tests::{Answer, Listen, Response};
use serde_json::{Value, json};

/// Compares a value with the snapshot of that name.
fn shape(name: &str, value: &Value) {
    let mut settings = insta::Settings::clone_current();
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    for (selector, replacement) in [
        (".body.id", "[request]"),
        (".body[].id", "[request]"),
        (
            ".**[\"io.modelcontextprotocol/subscriptionId\"]",
            "[request]",
        ),
        (".**.taskId", "[id]"),
        (".**.taskIds[]", "[id]"),
        (".**.requestState", "[state]"),
        (".**.createdAt", "[time]"),
        (".**.lastUpdatedAt", "[time]"),
        (
            ".**[\"io.modelcontextprotocol/serverInfo\"].version",
            "[version]",
        ),
    ] {
        settings.add_redaction(selector, replacement);
    }
    settings.bind(|| insta::assert_json_snapshot!(name, value));
}

/// The shape of an answer: its status, and all that was sent.
fn shape_of(name: &str, answer: &Answer) {
    let mut messages = answer.notifications.clone();
    messages.push(answer.response.clone());
    let body = if answer.streamed {
        Value::Array(messages)
    } else {
        answer.response.clone()
    };
    shape(name, &json!({"status": answer.status, "body": body}));
}

/// The shape of a response that may be no JSON.
async fn shape_of_response(name: &str, response: Response) {
    let status = response.status;
    let kind = response.header("content-type").to_owned();
    let body = response.bytes().await;
    let text = String::from_utf8_lossy(&body).into_owned();
    let body = serde_json::from_str(&text).unwrap_or(Value::String(text));
    shape(
        name,
        &json!({"status": status, "contentType": kind, "body": body}),
    );
}

/// The shape of a whole subscription.
async fn shape_of_subscription(name: &str, listen: Listen) {
    let accepted = listen.accepted().clone();
    let states = listen.rest().await;
    shape(name, &json!({"accepted": accepted, "states": states}));
}
