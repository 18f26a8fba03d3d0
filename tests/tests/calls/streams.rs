//! What comes before the answer of a call: progress, log lines; and what a client that leaves does.

use cofferdam_tests::{Call, Options, Server};
use serde_json::{Value, json};

fn of<'a>(notifications: &'a [Value], method: &str) -> Vec<&'a Value> {
    notifications
        .iter()
        .filter(|note| note["method"] == method)
        .map(|note| &note["params"])
        .collect()
}

fn progress(server: &Server, steps: u64) -> Call {
    server.client().tool("progress", json!({"steps": steps}))
}

#[tokio::test]
async fn progress_comes_with_its_token_and_grows() {
    let server = Server::start(Options::probe()).await;
    for token in [
        json!("token"),
        json!(7),
        json!(1_796_000_000_000_i64),
        json!(""),
    ] {
        let answer = progress(&server, 3)
            .meta("progressToken", token.clone())
            .answer()
            .await;
        answer.result();
        assert!(answer.streamed);
        assert_eq!(answer.headers["x-accel-buffering"], "no");
        assert_eq!(answer.headers["cache-control"], "no-cache");
        let told = of(&answer.notifications, "notifications/progress");
        assert_eq!(told.len(), 3, "{answer:?}");
        assert!(told.iter().all(|note| note["progressToken"] == token));
        let values: Vec<f64> = told
            .iter()
            .filter_map(|note| note["progress"].as_f64())
            .collect();
        assert!(values.is_sorted_by(|a, b| a < b), "{values:?}");
    }
}

#[tokio::test]
async fn without_a_token_or_a_stream_there_is_no_progress() {
    let server = Server::start(Options::probe()).await;
    let answer = progress(&server, 3).answer().await;
    answer.result();
    assert!(!answer.streamed && answer.notifications.is_empty());
    let answer = progress(&server, 3)
        .meta("progressToken", json!(1))
        .header("Accept", "application/json")
        .answer()
        .await;
    answer.result();
    assert!(!answer.streamed);
}

#[tokio::test]
async fn a_bad_token_is_refused() {
    let server = Server::start(Options::probe()).await;
    for token in [json!(1.5), json!(null), json!({}), json!(true)] {
        progress(&server, 1)
            .meta("progressToken", token)
            .answer()
            .await
            .error(400, -32602);
    }
}

// M-30: what does not grow, and what comes too fast, is dropped.
#[tokio::test]
async fn a_flood_of_progress_is_thinned_out() {
    let server = Server::start(Options::probe()).await;
    let answer = progress(&server, 5000)
        .meta("progressToken", json!(1))
        .answer()
        .await;
    answer.result();
    let told = of(&answer.notifications, "notifications/progress").len();
    assert!((1..1000).contains(&told), "{told}");
}

#[tokio::test]
async fn log_lines_come_from_the_level_that_was_asked_for() {
    let server = Server::start(Options::probe()).await;
    let levels = [
        "debug",
        "info",
        "notice",
        "warning",
        "error",
        "critical",
        "alert",
        "emergency",
    ];
    for (index, level) in levels.iter().enumerate() {
        let answer = server
            .client()
            .tool("log", json!({}))
            .meta("logLevel", json!(level))
            .answer()
            .await;
        answer.result();
        let told: Vec<&str> = of(&answer.notifications, "notifications/message")
            .iter()
            .map(|note| note["level"].as_str().expect("checked by the schema"))
            .collect();
        assert_eq!(told, levels[index..], "{level}");
    }
    let answer = server.client().tool("log", json!({})).answer().await;
    answer.result();
    assert!(!answer.streamed && answer.notifications.is_empty());
}

#[tokio::test]
async fn an_unknown_level_is_refused() {
    let server = Server::start(Options::probe()).await;
    for level in [
        json!("verbose"),
        json!("INFO"),
        json!(3),
        json!(null),
        json!(""),
    ] {
        let call = server
            .client()
            .tool("log", json!({}))
            .meta("logLevel", level);
        call.answer().await.error(400, -32602);
    }
}

#[tokio::test]
async fn log_lines_are_written_to_the_servers_log_under_the_tools_name() {
    let server = Server::start(Options::probe()).await;
    server.client().result("log", json!({})).await;
    server
        .log()
        .line(&["ERROR", "tool=\"log\"", "\\\"n\\\":5"])
        .await;
}

// A late error can still have its own status if nothing was streamed before.
#[tokio::test]
async fn an_error_after_progress_ends_the_stream() {
    let server = Server::start(Options::probe()).await;
    let call = server
        .client()
        .tool("progress", json!({"steps": 1, "then": "trap"}));
    let answer = call.meta("progressToken", json!(1)).answer().await;
    assert!(answer.streamed);
    answer.error(200, -32603);
}

// The client that goes away cancels its call: the guest sees it.
#[tokio::test]
async fn closing_the_stream_cancels_the_call() {
    let server = Server::start(Options::probe()).await;
    let call = server
        .client()
        .tool("sleep", json!({"ms": 60_000, "progress": true}));
    let mut events = call.meta("progressToken", json!(1)).send().await.events();
    assert!(events.message().await.is_some(), "it runs");
    drop(events);
    server.log().line(&["sleep", "final"]).await;
}

// The same without a stream: the connection that waits for the head of the answer is closed.
#[tokio::test]
async fn closing_the_connection_cancels_the_call() {
    let server = Server::start(Options::probe()).await;
    let call = tokio::spawn(server.client().tool("sleep", json!({"ms": 60_000})).send());
    server.log().line(&["sleep", "begins"]).await;
    call.abort();
    server.log().line(&["sleep", "final"]).await;
}

#[tokio::test]
async fn several_calls_stream_side_by_side() {
    let server = Server::start(Options::probe()).await;
    let calls: Vec<_> = (0..8)
        .map(|n| {
            tokio::spawn(
                progress(&server, 3)
                    .meta("progressToken", json!(n))
                    .answer(),
            )
        })
        .collect();
    for (n, call) in calls.into_iter().enumerate() {
        let answer = call.await.expect("an answer");
        answer.result();
        assert!(
            answer
                .notifications
                .iter()
                .all(|note| note["params"]["progressToken"] == json!(n))
        );
    }
}
