//! Calls in a session: questions on the stream, log lines, cancellation.

use crate::session::Session;
use cofferdam_tests::{Options, Server};
use serde_json::{Value, json};

const FORMS: fn() -> Value = || json!({"elicitation": {}});

#[tokio::test]
async fn questions_are_requests_on_the_stream_of_the_call() {
    let server = Server::start(Options::probe()).await;
    for version in ["2025-06-18", "2025-11-25"] {
        let session = Session::begin(&server, version, FORMS()).await;
        let arguments = json!({"keys": ["a", "b"], "again": ["c"], "begin": "never"});
        let call = session.send("tools/call", json!({"name": "ask", "arguments": arguments}));
        let mut events = call.await.events();
        let mut asked = Vec::new();
        for _ in 0..2 {
            asked.push(events.message().await.expect("a question"));
        }
        for question in asked.iter().rev() {
            assert_eq!(question["method"], "elicitation/create");
            assert_eq!(
                question["params"].get("mode").is_some(),
                version == "2025-11-25"
            );
            let content = json!({"action": "accept", "content": {"value": "x"}});
            session.answer(question, content).await;
        }
        let third = events.message().await.expect("a question");
        session.answer(&third, json!({"action": "decline"})).await;
        let answer = events.message().await.expect("the response");
        let told = &answer["result"]["structuredContent"];
        assert_eq!(told["a"]["content"], json!({"value": "x"}), "{told}");
        assert_eq!(told["c"]["action"], "decline", "{told}");
        assert_eq!(events.message().await, None);
    }
    // No instance waited, and none is left.
    server.until_running(0, 0).await;
}

#[tokio::test]
async fn a_question_that_cannot_be_asked_is_the_tools_to_know() {
    let server = Server::start(Options::probe()).await;
    let call = json!({"name": "ask", "arguments": {"keys": ["a"], "begin": "never"}});
    // Forms came with 2025-06-18.
    for (version, declared) in [("2025-11-25", json!({})), ("2025-03-26", FORMS())] {
        let session = Session::begin(&server, version, declared).await;
        let (answer, before) = session.response("tools/call", call.clone()).await;
        assert!(before.is_empty(), "{before:?}");
        assert!(answer.to_string().contains("missing-features"), "{answer}");
    }
    let session = Session::begin(&server, "2025-11-25", FORMS()).await;
    let message = session.message("tools/call", call);
    let request = session.http("POST").header("Accept", "application/json");
    let response = request
        .body(message.to_string())
        .send(server.address())
        .await;
    let error = response.json().await["error"].take();
    assert!(error.to_string().contains("text/event-stream"), "{error}");
}

#[tokio::test]
async fn answers_are_checked_and_refusals_end_the_call() {
    let server = Server::start(Options::probe()).await;
    let session = Session::begin(&server, "2025-11-25", FORMS()).await;
    let call = json!({"name": "ask", "arguments": {"keys": ["a"], "begin": "never"}});
    let bad = json!({"action": "accept", "content": {"value": 5}});
    let mut events = session.send("tools/call", call.clone()).await.events();
    let question = events.message().await.expect("a question");
    session.answer(&question, bad).await;
    let answer = events.message().await.expect("the response");
    assert_eq!(answer["error"]["code"], -32602, "{answer}");

    let mut events = session.send("tools/call", call).await.events();
    let question = events.message().await.expect("a question");
    let refusal = json!({
        "jsonrpc": "2.0",
        "id": question["id"],
        "error": {"code": -1, "message": "the user is away"},
    });
    assert_eq!(session.post(&refusal).await.status, 202);
    let answer = events.message().await.expect("the response");
    assert_eq!(answer["error"]["code"], -32603, "{answer}");
    assert!(answer.to_string().contains("the user is away"), "{answer}");
}

#[tokio::test]
async fn an_answer_that_never_comes_ends_the_call_in_time() {
    let server = Server::start(Options::probe().set("tasks.answer-ms", 300)).await;
    let session = Session::begin(&server, "2025-11-25", FORMS()).await;
    let call = json!({"name": "ask", "arguments": {"keys": ["a"], "begin": "never"}});
    let error = session.error("tools/call", call).await;
    assert!(error.to_string().contains("tasks.answer-ms"), "{error}");
}

#[tokio::test]
async fn a_client_hears_the_levels_it_set_also_after_its_requests() {
    let server = Server::start(Options::probe()).await;
    let session = Session::begin(&server, "2025-06-18", json!({})).await;
    let heard = async |session: &Session| {
        let call = json!({"name": "log", "arguments": {}});
        let (_, before) = session.response("tools/call", call).await;
        before.len()
    };
    // Unless it says otherwise: all but debug.
    assert_eq!(heard(&session).await, 7);
    let set = async |level: &str| {
        session
            .result("logging/setLevel", json!({"level": level}))
            .await
    };
    assert_eq!(set("critical").await, json!({}));
    assert_eq!(heard(&session).await, 3);
    set("debug").await;
    assert_eq!(heard(&session).await, 8);
    let error = session
        .error("logging/setLevel", json!({"level": "loud"}))
        .await;
    assert_eq!(error["code"], -32602);
    let other = Session::begin(&server, "2025-06-18", json!({})).await;
    assert_eq!(heard(&other).await, 7, "another session is not concerned");
}

#[tokio::test]
async fn progress_is_told_on_the_stream() {
    let server = Server::start(Options::probe()).await;
    let session = Session::begin(&server, "2025-03-26", json!({})).await;
    let call = json!({
        "name": "progress",
        "arguments": {"steps": 3},
        "_meta": {"progressToken": "p"},
    });
    let (_, before) = session.response("tools/call", call).await;
    assert_eq!(before.len(), 3, "{before:?}");
    assert!(
        before
            .iter()
            .all(|report| report["params"]["progressToken"] == "p")
    );
}

#[tokio::test]
async fn a_cancelled_call_is_not_answered_and_its_instance_ends() {
    let server = Server::start(Options::probe()).await;
    let session = Session::begin(&server, "2025-11-25", json!({})).await;
    let call = json!({
        "name": "sleep",
        "arguments": {"ms": 3_600_000, "progress": true},
        "_meta": {"progressToken": 1},
    });
    let message = session.message("tools/call", call);
    let mut events = session.post(&message).await.events();
    events.message().await.expect("it runs");
    // Another call with its id would be taken for it.
    let twin = session.post(&message).await;
    assert_eq!(twin.json().await["error"]["code"], -32600);
    let other = Session::begin(&server, "2025-11-25", json!({})).await;
    let cancel = json!({
        "jsonrpc": "2.0",
        "method": "notifications/cancelled",
        "params": {"requestId": message["id"], "reason": "a test"},
    });
    // Ids are those of a session.
    other.post(&cancel).await;
    server.until_running(1, 0).await;
    session.post(&cancel).await;
    while let Some(message) = events.message().await {
        assert!(message.get("id").is_none(), "{message}");
    }
    server.until_running(0, 0).await;
    session.result("ping", json!({})).await;
}

#[tokio::test]
async fn what_a_revision_does_not_have_is_left_out() {
    let server = Server::start(Options::probe()).await;
    let session = async |version| Session::begin(&server, version, json!({})).await;
    let (oldest, newest) = (session("2025-03-26").await, session("2025-11-25").await);
    let kinds = |result: &Value| -> Vec<String> {
        let blocks = result["content"].as_array().expect("blocks");
        blocks.iter().map(|it| it["type"].to_string()).collect()
    };
    let arguments = json!({});
    let old = oldest.call("contents", arguments.clone()).await;
    let new = newest.call("contents", arguments).await;
    assert!(
        kinds(&new).contains(&"\"resource_link\"".to_owned()),
        "{new}"
    );
    assert!(
        !kinds(&old).contains(&"\"resource_link\"".to_owned()),
        "{old}"
    );
    assert_eq!(kinds(&old).len(), kinds(&new).len());

    // What an answer has beside its text is not lost.
    let arguments = json!({"value": {"count": 1}});
    let result = newest.call("structured", arguments.clone()).await;
    assert_eq!(result["structuredContent"], json!({"count": 1}));
    let result = oldest.call("structured", arguments).await;
    assert!(result.get("structuredContent").is_none(), "{result}");
    assert!(result["content"].to_string().contains("count"), "{result}");
}
