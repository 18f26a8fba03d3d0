//! What a guest may take through the verbs (M-30): at each limit it gets a typed error, or the
//! surplus is dropped and counted.

use cofferdam_tests::{Declares, Options, Server};
use serde_json::{Value, json};

async fn kept(server: &Server, keys: Value, bytes: u64) -> Vec<String> {
    let result = server
        .client()
        .result("keep", json!({"keys": keys, "bytes": bytes}))
        .await;
    let text = result["content"][0]["text"].as_str().expect("text");
    text.split("; ").map(str::to_owned).collect()
}

#[tokio::test]
async fn a_call_keeps_values_under_keys() {
    let server = Server::start(Options::probe()).await;
    // A key used again holds the new value.
    assert_eq!(
        kept(&server, json!(["a", "b", "a"]), 3).await,
        ["kept, the same"; 3]
    );
    // It counts its runs by what it kept: the next call begins with nothing.
    let client = server.client().declaring(Declares::Tasks);
    for _ in 0..2 {
        let end = client
            .task("retry", json!({"traps": 0}))
            .await
            .until("completed")
            .await;
        assert_eq!(end["result"]["content"][0]["text"], "1");
    }
}

#[tokio::test]
async fn keys_have_1_to_256_bytes() {
    let server = Server::start(Options::probe()).await;
    let keys = json!([
        "",
        "x".repeat(256),
        "x".repeat(257),
        "é".repeat(128),
        "é".repeat(129)
    ]);
    let told = kept(&server, keys, 1).await;
    let good = "kept, the same";
    let bad = "invalid-key, nothing";
    assert_eq!(told, [bad, good, bad, good, bad]);
}

#[tokio::test]
async fn values_have_up_to_1_mib_and_16_mib_in_all() {
    let server = Server::start(Options::probe()).await;
    assert_eq!(
        kept(&server, json!(["a"]), 1 << 20).await,
        ["kept, the same"]
    );
    let told = kept(&server, json!(["a"]), (1 << 20) + 1).await;
    assert!(
        told[0].starts_with("too-large") && told[0].ends_with("nothing"),
        "{told:?}"
    );
    let keys: Vec<String> = (0..20).map(|n| format!("key {n}")).collect();
    let told = kept(&server, json!(keys), 1 << 20).await;
    let good = told.iter().filter(|told| *told == "kept, the same").count();
    let full = told
        .iter()
        .filter(|told| told.starts_with("too-large") && told.ends_with("nothing"))
        .count();
    assert!((15..=16).contains(&good) && good + full == 20, "{told:?}");
}

#[tokio::test]
async fn a_flood_of_log_lines_is_dropped_and_counted() {
    let mut server = Server::start(Options::probe()).await;
    server
        .client()
        .result("log-many", json!({"lines": 5000}))
        .await;
    server.terminate();
    server.gone().await;
    let log = server.log().text();
    let written = log.lines().filter(|line| line.contains("of many")).count();
    // 200 in a second; the call may have taken a few.
    assert!((200..2000).contains(&written), "{written}");
    assert!(
        log.contains("dropped"),
        "what was dropped is counted: {}",
        &log[log.len().saturating_sub(2000)..]
    );
}

#[tokio::test]
async fn a_long_log_line_is_cut() {
    let server = Server::start(Options::probe()).await;
    server
        .client()
        .result("large-log", json!({"bytes": 1 << 20}))
        .await;
    let line = server.log().line(&["xxxx"]).await;
    assert!(line.len() > 16_000 && line.len() < 20_000, "{}", line.len());
}

#[tokio::test]
async fn memory_grows_up_to_the_limit() {
    let server = Server::start(Options::probe().set("sandbox.memory-bytes", 32 << 20)).await;
    let result = server.client().result("grow", json!({})).await;
    let mib: u32 = result["content"][0]["text"]
        .as_str()
        .expect("text")
        .parse()
        .expect("a number");
    assert!((16..=32).contains(&mib), "{mib}");
}

// A guest whose first memory is beyond the limit never starts.
#[tokio::test]
async fn a_component_that_needs_more_memory_than_there_is_is_refused_at_load() {
    let (status, text) = Server::refuse(Options::probe().set("sandbox.memory-bytes", 65_536)).await;
    assert!(!status.success(), "{text}");
    assert!(
        text.contains("sandbox.memory-bytes") && text.contains("65536"),
        "{text}"
    );
}

#[tokio::test]
async fn connections_over_the_limit_wait() {
    let server = Server::start(Options::probe().set("server.max-connections", 1)).await;
    let held = tokio::net::TcpStream::connect(server.address())
        .await
        .expect("a connection");
    let mut call = tokio::spawn(
        server
            .client()
            .request("server/discover", json!({}))
            .answer(),
    );
    let early = tokio::time::timeout(std::time::Duration::from_millis(300), &mut call).await;
    assert!(early.is_err(), "the one place is taken");
    drop(held);
    call.await.expect("an answer").result();
}

// The handler is told what its client can do.
#[tokio::test]
async fn the_features_of_the_client_are_known_to_the_tool() {
    let server = Server::start(Options::probe()).await;
    for (capabilities, told) in [
        (json!({}), ""),
        (json!({"elicitation": {}}), "elicitation-form"),
        (json!({"elicitation": {"url": {}}}), "elicitation-url"),
        (json!({"sampling": {}}), "sampling"),
        (
            json!({"sampling": {"tools": {}}, "roots": {"listChanged": true}}),
            "sampling, sampling-tools, roots",
        ),
        (
            Declares::Everything.json(),
            "elicitation-form, elicitation-url, sampling, sampling-tools, roots, tasks",
        ),
        (json!({"experimental": {"x": {}}, "unknown": 5}), ""),
    ] {
        let client = server.client().declaring_json(capabilities.clone());
        let result = client.result("features", json!({})).await;
        let text = result["content"][0]["text"].as_str().unwrap_or_default();
        assert_eq!(text, told, "{capabilities}");
    }
}
