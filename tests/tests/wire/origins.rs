//! `Origin` and `Host`: what a browser could be tricked into sending is refused.

use cofferdam_tests::{Options, Server};
use serde_json::json;

async fn status(server: &Server, header: &str, value: &str) -> u16 {
    let call = server.client().request("server/discover", json!({}));
    call.header(header, value).send().await.status
}

#[tokio::test]
async fn foreign_origins_are_refused() {
    let server = Server::start(Options::probe()).await;
    let port = server.address().port();
    for origin in [
        "http://evil.example.com".to_owned(),
        format!("http://evil.example.com:{port}"),
        format!("http://127.0.0.1.evil.example.com:{port}"),
        format!("http://127.0.0.1:{port}@evil.example.com"),
        "null".to_owned(),
        String::new(),
        "127.0.0.1".to_owned(),
    ] {
        assert_eq!(status(&server, "Origin", &origin).await, 403, "{origin:?}");
    }
    // Its own name, whichever the browser calls it by.
    for host in [format!("127.0.0.1:{port}"), format!("localhost:{port}")] {
        let call = server
            .client()
            .request("server/discover", json!({}))
            .header("Host", &host);
        let own = call.header("Origin", format!("http://{host}")).send().await;
        assert_eq!(own.status, 200, "{host}");
    }
}

#[tokio::test]
async fn an_origin_can_be_allowed() {
    let options = Options::probe().set("server.allowed-origins", r#"["https://app.example.com"]"#);
    let server = Server::start(options).await;
    assert_eq!(
        status(&server, "Origin", "https://app.example.com").await,
        200
    );
    for other in [
        "http://app.example.com",
        "https://app.example.com:8443",
        "https://example.com",
    ] {
        assert_eq!(status(&server, "Origin", other).await, 403, "{other}");
    }
}

#[tokio::test]
async fn foreign_hosts_are_refused_on_a_loopback_address() {
    let server = Server::start(Options::probe()).await;
    let port = server.address().port();
    for host in [
        "evil.example.com".to_owned(),
        format!("evil.example.com:{port}"),
        format!("127.0.0.1.nip.example:{port}"),
    ] {
        assert_eq!(status(&server, "Host", &host).await, 403, "{host}");
    }
    for host in [
        format!("localhost:{port}"),
        format!("LocalHost:{port}"),
        format!("[::1]:{port}"),
        format!("127.0.0.1:{port}"),
    ] {
        assert_eq!(status(&server, "Host", &host).await, 200, "{host}");
    }
}

#[tokio::test]
async fn a_host_can_be_allowed() {
    let server =
        Server::start(Options::probe().set("server.allowed-hosts", r#"["tools.example.com"]"#))
            .await;
    assert_eq!(status(&server, "Host", "tools.example.com").await, 200);
    assert_eq!(status(&server, "Host", "tools.example.com:8080").await, 200);
    assert_eq!(status(&server, "Host", "evil.example.com").await, 403);
}

#[tokio::test]
async fn a_refusal_tells_nothing() {
    let server = Server::start(Options::probe()).await;
    let call = server.client().request("tools/list", json!({}));
    let response = call
        .header("Origin", "http://evil.example.com")
        .send()
        .await;
    assert_eq!(response.status, 403);
    let body = String::from_utf8_lossy(&response.bytes().await).into_owned();
    assert!(
        !body.contains("tools") && !body.contains("\"id\""),
        "{body}"
    );
}
