//! Servers that do what none should: Cofferdam would not, so these are written by hand.

use axum::Router;
use axum::http::header::CONTENT_TYPE;
use axum::routing::post;
use cofferdam_tests::patient;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::spawn_blocking;

use crate::terminal::Terminal;
use crate::{Ends as _, run};

/// A server with one tool, `tool`, that answers calls like this; gives its address.
async fn server(answer: fn(&Value) -> Value) -> String {
    let respond = move |body: String| async move {
        let request: Value = serde_json::from_str(&body).expect("JSON");
        let mut message = match request["method"].as_str() {
            Some("tools/list") => json!({ "result": {
                "resultType": "complete",
                "tools": [{
                    "name": "tool",
                    "description": "a\u{1b}[2Jb\u{9b}1m\u{202e}c",
                    "inputSchema": { "type": "object" },
                }],
            } }),
            _ => answer(&request["params"]),
        };
        message["jsonrpc"] = "2.0".into();
        if message.get("id").is_none() {
            message["id"] = request["id"].clone();
        }
        ([(CONTENT_TYPE, "application/json")], message.to_string())
    };
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let router = Router::new().route("/mcp", post(respond));
    tokio::spawn(async move { axum::serve(listener, router).await });
    address.to_string()
}

/// Asks for a secret, and says what it was told.
fn asks_for_a_secret(params: &Value) -> Value {
    if let Some(told) = params.get("inputResponses") {
        assert_eq!(params["requestState"], "state");
        return json!({ "result": { "resultType": "complete", "content": [], "structuredContent": told } });
    }
    let pin = json!({ "type": "string", "writeOnly": true, "minLength": 4 });
    let word = json!({ "type": "string", "format": "password" });
    let schema = json!({
        "type": "object", "properties": { "pin": pin, "word": word }, "required": ["pin", "word"],
    });
    let params = json!({ "message": "Who are you?\u{1b}[2J", "requestedSchema": schema });
    json!({ "result": {
        "resultType": "input_required",
        "requestState": "state",
        "inputRequests": { "who": { "method": "elicitation/create", "params": params } },
    } })
}

#[tokio::test]
async fn a_secret_is_not_shown() {
    let url = server(asks_for_a_secret).await;
    let conversation = spawn_blocking(move || {
        let mut terminal = Terminal::start(&["call", &url, "tool", "-o", "json"]);
        terminal.sees("Who are you?");
        let message = terminal.sees("pin:");
        assert!(!message.contains("\u{1b}[2J"), "{message:?}");
        terminal.answers("123");
        let reason = terminal.sees("at least 4");
        terminal.answers("4567");
        let between = terminal.sees("word:");
        terminal.answers("sesame");
        let after = terminal.sees("{");
        let (rest, code) = terminal.ends();
        (reason + &between + &after, rest, code)
    });
    let (shown, rest, code) = patient("the conversation", conversation)
        .await
        .expect("its thread");
    assert_eq!(code, 0, "{rest}");
    for secret in ["123", "4567", "sesame"] {
        assert!(!shown.contains(secret), "{shown}");
    }
    assert!(
        rest.contains("\"4567\"") && rest.contains("\"sesame\""),
        "it was sent: {rest}"
    );
}

#[tokio::test]
async fn its_words_are_made_harmless() {
    let refuses = |_: &Value| {
        let data = json!({ "more\u{1b}[1m": "\u{7}" });
        json!({ "error": { "code": 5, "message": "no\u{1b}]0;x\u{7}", "data": data } })
    };
    let url = server(refuses).await;
    let listed = run(&["tools", &url]).await;
    assert_eq!(listed.with(0), "tool\n  a\u{fffd}[2Jb\u{fffd}1m\u{fffd}c\n");
    let ended = run(&["call", &url, "tool"]).await;
    let harmless = |char: char| char == '\n' || !char.is_control();
    assert!(ended.failing(3).chars().all(harmless), "{ended:?}");
    let ended = run(&["call", &url, "tool", "-o", "json"]).await;
    assert!(ended.with(3).chars().all(harmless), "{ended:?}");
    assert_eq!(ended.json()["error"]["code"], 5);
}

#[tokio::test]
async fn what_means_nothing_ends_in_an_error() {
    let answers: [fn(&Value) -> Value; 6] = [
        |_| json!({}),
        |_| json!({ "id": 12345, "result": {} }),
        |_| json!({ "method": "ping", "id": 1 }),
        |_| json!({ "result": { "resultType": "task" } }),
        |_| json!({ "result": { "resultType": "input_required", "inputRequests": { "a": { "method": "roots/list" } } } }),
        |_| json!({ "result": { "resultType": "input_required", "inputRequests": { "a": 5 } } }),
    ];
    for answer in answers {
        let url = server(answer).await;
        let ended = run(&["call", &url, "tool"]).await;
        assert!(ended.failing(3).starts_with("cofferdam: "), "{ended:?}");
    }
    // What is left out of a result is not there.
    let url = server(|_| json!({ "result": { "content": [{ "type": "new\u{1b}[1m" }, 5] } })).await;
    let ended = run(&["call", &url, "tool"]).await;
    let shown = ended.with(0);
    assert!(
        shown.contains("\"new\\u001b[1m\"") && shown.ends_with("5\n"),
        "{shown:?}"
    );
}
