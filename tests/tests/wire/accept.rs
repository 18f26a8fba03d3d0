//! `Accept` and `Content-Type`.

use cofferdam_tests::{Call, Options, Server};
use serde_json::json;

fn discover(server: &Server) -> Call {
    server.client().request("server/discover", json!({}))
}

#[tokio::test]
async fn an_answer_is_json_unless_streams_are_preferred() {
    let server = Server::start(Options::probe()).await;
    for accept in [
        "application/json, text/event-stream",
        "text/event-stream;q=0.5, application/json",
        "application/json",
        "APPLICATION/JSON",
        "application/json;q=0.5,text/html",
        "application/*",
        "*/*",
        "text/html, */*;q=0.1",
    ] {
        let answer = discover(&server).header("Accept", accept).answer().await;
        answer.result();
        assert!(!answer.streamed, "{accept}");
    }
    let answer = discover(&server).without("Accept").answer().await;
    answer.result();
    assert!(!answer.streamed);
}

#[tokio::test]
async fn an_answer_is_a_stream_where_only_that_is_acceptable() {
    let server = Server::start(Options::probe()).await;
    for accept in ["text/event-stream", "text/*"] {
        let answer = discover(&server).header("Accept", accept).answer().await;
        answer.result();
        assert!(answer.streamed, "{accept}");
    }
}

// Its length is known, so the connection is free for the next request as soon as after JSON.
#[tokio::test]
async fn an_answer_is_a_stream_of_one_event_where_streams_are_preferred() {
    let server = Server::start(Options::probe()).await;
    for accept in [
        "text/event-stream, application/json",
        "application/json;q=0.8, text/event-stream",
    ] {
        let answer = discover(&server).header("Accept", accept).answer().await;
        answer.result();
        assert!(answer.streamed, "{accept}");
        assert!(answer.headers.contains_key("content-length"), "{accept}");
        assert_eq!(answer.headers["cache-control"], "no-cache");
    }
    // What failed keeps its status.
    let unknown = server.client().request("no/such", json!({}));
    let streams = "text/event-stream, application/json";
    let answer = unknown.header("Accept", streams).send().await;
    assert_eq!(answer.status, 404);
    assert_eq!(answer.headers["content-type"], "application/json");
}

#[tokio::test]
async fn nothing_acceptable_is_406() {
    let server = Server::start(Options::probe()).await;
    for accept in [
        "text/html",
        "image/*",
        "application/xml, text/plain",
        "application/json2",
        "application/json;q=0",
    ] {
        assert_eq!(
            discover(&server)
                .header("Accept", accept)
                .send()
                .await
                .status,
            406,
            "{accept}"
        );
    }
    // A subscription is a stream or nothing.
    let listen = server
        .client()
        .request("subscriptions/listen", json!({"notifications": {}}));
    assert_eq!(
        listen
            .header("Accept", "application/json")
            .send()
            .await
            .status,
        406
    );
}

#[tokio::test]
async fn only_json_is_read() {
    let server = Server::start(Options::probe()).await;
    for good in [
        "application/json",
        "application/json; charset=utf-8",
        "Application/JSON",
    ] {
        assert_eq!(
            discover(&server)
                .header("Content-Type", good)
                .send()
                .await
                .status,
            200,
            "{good}"
        );
    }
    for bad in [
        "text/plain",
        "application/json5",
        "application/x-www-form-urlencoded",
        "json",
    ] {
        assert_eq!(
            discover(&server)
                .header("Content-Type", bad)
                .send()
                .await
                .status,
            415,
            "{bad}"
        );
    }
    assert_eq!(
        discover(&server)
            .without("Content-Type")
            .send()
            .await
            .status,
        415
    );
}
