//! The admin address: what it tells is right, and tells nothing of what callers do; who may not ask
//! learns nothing; and neither it nor the server is held up by the other's callers.

#![allow(
    clippy::expect_used,
    reason = "a test that meets the unexpected should fail, saying so"
)]

mod bounds;
mod commands;
mod exposition;
mod history;
mod inspect;
mod metrics;
mod reload;
mod start;
mod status;
mod who;

use cofferdam_tests::{Request, Server, patient};
use serde_json::Value;

/// What `GET /status` tells.
async fn status(server: &Server) -> Value {
    let response = Request::new("GET", "/status").send(server.admin()).await;
    assert_eq!(response.status, 200);
    response.json().await
}

/// Looks at the status until it is as `wanted`.
async fn status_when(server: &Server, what: &str, wanted: impl Fn(&Value) -> bool) -> Value {
    patient(&format!("a status with {what}"), async {
        loop {
            let status = status(server).await;
            if wanted(&status) {
                return status;
            }
            tokio::task::yield_now().await;
        }
    })
    .await
}

/// Looks at what `GET /history` has until that is as `wanted`.
async fn history_when(
    server: &Server,
    what: &str,
    wanted: impl Fn(&[Value]) -> bool,
) -> Vec<Value> {
    patient(&format!("a history with {what}"), async {
        loop {
            let response = Request::new("GET", "/history").send(server.admin()).await;
            assert_eq!(response.status, 200);
            let samples = response.json().await["samples"].take();
            let samples: Vec<Value> = serde_json::from_value(samples).expect("samples");
            if wanted(&samples) {
                return samples;
            }
            tokio::task::yield_now().await;
        }
    })
    .await
}

/// The text of `GET /metrics`.
async fn metrics(server: &Server) -> String {
    let response = Request::new("GET", "/metrics").send(server.admin()).await;
    assert_eq!(response.status, 200);
    let kind = response.header("content-type");
    assert_eq!(kind, "text/plain; version=0.0.4; charset=utf-8");
    String::from_utf8(response.bytes().await.to_vec()).expect("UTF-8")
}

/// A tool in a status.
fn tool<'a>(status: &'a Value, name: &str) -> &'a Value {
    let tools = status["tools"].as_array().expect("tools");
    let tool = tools.iter().find(|tool| tool["name"] == name);
    tool.unwrap_or_else(|| panic!("no tool {name} in {status}"))
}
