//! HTTP itself: methods, paths, sizes of heads and bodies, headers that mean nothing here.

use cofferdam_tests::{Options, Request, Server, raw};
use serde_json::json;

#[tokio::test]
async fn only_post_is_allowed() {
    let server = Server::start(Options::probe()).await;
    for method in ["GET", "DELETE", "PUT", "PATCH", "HEAD", "OPTIONS"] {
        let response = Request::new(method, "/mcp").header("Accept", "text/event-stream");
        let response = response.send(server.address()).await;
        assert_eq!(response.status, 405, "{method}");
        assert_eq!(response.header("allow"), "POST", "{method}");
    }
}

#[tokio::test]
async fn other_paths_are_not_found() {
    let server = Server::start(Options::probe()).await;
    for path in ["/", "/mcp/", "/MCP", "/mcp/x", "/%6dcp"] {
        let response = Request::new("POST", path).header("Content-Type", "application/json");
        assert_eq!(
            response.body("{}").send(server.address()).await.status,
            404,
            "{path}"
        );
    }
}

// M-30: the body.
#[tokio::test]
async fn a_body_over_the_limit_is_413_and_one_at_the_limit_is_served() {
    let server = Server::start(Options::probe().set("server.max-body-bytes", 2048)).await;
    let call = server.client().request("server/discover", json!({}));
    let mut body = call.message().to_string();
    body.push_str(&" ".repeat(2048 - body.len()));
    assert_eq!(call.clone().send_body(body.clone()).await.status, 200);
    body.push(' ');
    assert_eq!(call.clone().send_body(body).await.status, 413);
    call.answer().await.result();
}

// A body that is announced too large is refused before it is sent.
#[tokio::test]
async fn the_default_body_limit_is_four_mebibytes() {
    let server = Server::start(Options::probe()).await;
    let call = server.client().request("server/discover", json!({}));
    let mut body = call.message().to_string();
    body.push_str(&" ".repeat((4 << 20) - body.len()));
    assert_eq!(call.send_body(body).await.status, 200);
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nContent-Type: application/json\r\n\
         Accept: application/json\r\nContent-Length: {}\r\n\r\n",
        (4 << 20) + 1
    );
    let answer = raw(server.address(), head.as_bytes()).await;
    assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");
}

#[tokio::test]
async fn a_chunked_body_over_the_limit_is_413_too() {
    let server = Server::start(Options::probe().set("server.max-body-bytes", 1024)).await;
    let head = "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nContent-Type: application/json\r\n\
                Accept: application/json\r\nTransfer-Encoding: chunked\r\n\r\n";
    let chunk = format!("{:x}\r\n{}\r\n", 600, " ".repeat(600));
    let answer = raw(
        server.address(),
        format!("{head}{chunk}{chunk}0\r\n\r\n").as_bytes(),
    )
    .await;
    assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");
}

// M-30: the head.
#[tokio::test]
async fn a_head_over_the_limit_is_431() {
    let server = Server::start(Options::probe()).await;
    let call = server.client().request("server/discover", json!({}));
    let response = call
        .clone()
        .header("X-Filler", "x".repeat(15_000))
        .send()
        .await;
    assert_eq!(response.status, 200);
    let response = call
        .clone()
        .header("X-Filler", "x".repeat(16_500))
        .send()
        .await;
    assert_eq!(response.status, 431);
    let many = (0..400).fold(call.http(), |request, n| {
        request.header(&format!("X-{n}"), "x".repeat(60))
    });
    assert_eq!(many.send(server.address()).await.status, 431);
    call.answer().await.result();
}

#[tokio::test]
async fn malformed_http_is_refused_and_the_server_goes_on() {
    let server = Server::start(Options::probe()).await;
    for bytes in [
        "nonsense\r\n\r\n",
        "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: x\r\n\r\n",
    ] {
        let answer = raw(server.address(), bytes.as_bytes()).await;
        assert!(answer.starts_with("HTTP/1.1 400 "), "{bytes:?}: {answer:?}");
    }
    server
        .client()
        .request("server/discover", json!({}))
        .answer()
        .await
        .result();
}

#[tokio::test]
async fn sessions_do_not_exist() {
    let server = Server::start(Options::probe()).await;
    let call = server.client().request("tools/list", json!({}));
    let call = call
        .header("Mcp-Session-Id", "abc")
        .header("Last-Event-ID", "7");
    let answer = call.answer().await;
    answer.result();
    assert!(!answer.headers.contains_key("mcp-session-id"));
}

#[tokio::test]
async fn a_connection_serves_unrelated_requests_one_after_the_other() {
    let server = Server::start(Options::probe()).await;
    let body = server
        .client()
        .request("server/discover", json!({}))
        .message()
        .to_string();
    let request = |close: &str| {
        format!(
            "POST /mcp HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nAccept: application/json\r\n\
             MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: server/discover\r\n{close}Content-Length: {}\r\n\r\n{body}",
            server.address(),
            body.len()
        )
    };
    let both = format!("{}{}", request(""), request("Connection: close\r\n"));
    let answer = raw(server.address(), both.as_bytes()).await;
    assert_eq!(answer.matches("HTTP/1.1 200 ").count(), 2, "{answer}");
    assert_eq!(answer.matches("supportedVersions").count(), 2, "{answer}");
}
