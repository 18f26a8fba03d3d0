//! WASI is there and grants nothing.

use std::net::TcpListener;
use std::time::{Duration, Instant};

use cofferdam_tests::{Options, Server};
use serde_json::json;

fn options() -> Options {
    Options::guest("probe-wasi")
}

#[tokio::test]
async fn no_file_no_variable_no_argument() {
    let server = Server::start(options()).await;
    let result = server.client().result("reach", json!({})).await;
    let mut seen = result["structuredContent"]
        .as_object()
        .expect("a report")
        .clone();
    assert_eq!(seen.shift_remove("environment"), Some(json!({})));
    assert_eq!(seen.shift_remove("arguments"), Some(json!([])));
    assert_eq!(seen.shift_remove("preopened"), Some(json!([])));
    assert_eq!(seen.shift_remove("stdin"), Some(json!("0 bytes")));
    assert!(seen.len() >= 10, "{seen:?}");
    for (what, outcome) in seen {
        let text = outcome.as_str().expect("text");
        assert!(text.starts_with("error: "), "{what}: {text}");
    }
}

#[tokio::test]
async fn no_network() {
    let server = Server::start(options()).await;
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.set_nonblocking(true).expect("a socket option");
    let port = listener.local_addr().expect("an address").port();
    let result = server
        .client()
        .result("connect", json!({"port": port}))
        .await;
    for (what, outcome) in result["structuredContent"].as_object().expect("a report") {
        assert!(
            outcome
                .as_str()
                .is_some_and(|text| text.starts_with("error: ")),
            "{what}: {outcome}"
        );
    }
    let nobody = listener.accept().expect_err("nobody connects");
    assert_eq!(nobody.kind(), std::io::ErrorKind::WouldBlock);
}

#[tokio::test]
async fn what_is_printed_goes_to_the_log() {
    let mut server = Server::start(options()).await;
    server.client().result("say", json!({"lines": 2})).await;
    for text in [
        "stdout line 0",
        "stderr line 0",
        "stdout line 1",
        "stderr line 1",
    ] {
        server.log().line(&[text, "tool=\"say\""]).await;
    }
    // Never to the server's own standard output, which is for one line only.
    server.terminate();
    assert!(server.gone().await.success());
}

// Time spent in WASI's own clock ends at the limit, too.
#[tokio::test]
async fn sleeping_by_the_clock_ends_at_the_wall_limit() {
    let server = Server::start(options().set("sandbox.wall-ms", 300)).await;
    let start = Instant::now();
    let answer = server.client().call("doze", json!({"ms": 60_000})).await;
    assert!(answer.message(200, -32603).contains("sandbox.wall-ms"));
    assert!(start.elapsed() < Duration::from_secs(15));
    server.client().result("doze", json!({"ms": 10})).await;
}

// M-30: what a guest holds of the host's memory.
#[tokio::test]
async fn handles_and_random_bytes_are_limited() {
    let server = Server::start(options()).await;
    let client = server.client();
    for (tool, few, many) in [
        (
            "pollables",
            json!({"count": 100}),
            json!({"count": 100_000}),
        ),
        ("random", json!({"bytes": 65_536}), json!({"bytes": 65_537})),
        ("random", json!({"bytes": 1}), json!({"bytes": 1_u64 << 40})),
    ] {
        client.result(tool, few).await;
        let answer = client.call(tool, many.clone()).await;
        answer.message(200, -32603);
    }
    client.result("doze", json!({"ms": 1})).await;
}
