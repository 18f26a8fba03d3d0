//! `Origin` and `Host`: what a browser could be tricked into sending is refused.

use cofferdam_tests::{Config, Identity, Options, Request, Server};
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

const PAGE: &str = "https://app.example.com";

fn with_page(options: Options) -> Options {
    options.set("server.allowed-origins", format!("[{PAGE:?}]"))
}

fn preflight(origin: &str, path: &str) -> Request {
    Request::new("OPTIONS", path)
        .header("Origin", origin)
        .header("Access-Control-Request-Method", "POST")
        .header("Access-Control-Request-Headers", "content-type,mcp-method")
}

// What a browser asks before it lets a page call, and needs to let it read the answer.
#[tokio::test]
async fn pages_of_allowed_origins_may_call_and_read() {
    let identity = Identity::new("a", "s");
    let config = Config::new(&format!("[tenants.a]\n{}", identity.entry));
    let server = Server::start(with_page(config.probe())).await;
    for path in ["/mcp", "/.well-known/oauth-protected-resource/mcp"] {
        let response = preflight(PAGE, path).send(server.address()).await;
        assert_eq!(response.status, 204, "{path}");
        let header = |name: &str| response.header(name).to_owned();
        assert_eq!(header("access-control-allow-origin"), PAGE);
        assert!(header("access-control-allow-methods").contains("POST"));
        let allowed = header("access-control-allow-headers");
        assert_eq!(allowed, "content-type,mcp-method");
        assert_eq!(header("vary"), "Origin");
        assert_eq!(header("access-control-allow-credentials"), "");
        assert!(response.bytes().await.is_empty());
    }
    let client = server.client();
    for (client, status) in [
        (client.clone(), 401),
        (client.bearing(&identity.token), 200),
    ] {
        let call = client.request("server/discover", json!({}));
        let response = call.header("Origin", PAGE).send().await;
        assert_eq!(response.status, status);
        assert_eq!(response.header("access-control-allow-origin"), PAGE);
        let exposed = response.header("access-control-expose-headers");
        assert!(exposed.contains("WWW-Authenticate"), "{exposed}");
        assert_eq!(response.header("vary"), "Origin");
    }
}

#[tokio::test]
async fn other_pages_are_told_nothing() {
    let server = Server::start(with_page(Options::probe())).await;
    for origin in ["https://evil.example.com", "null", "http://app.example.com"] {
        let call = server.client().request("server/discover", json!({}));
        let call = call.header("Origin", origin).send().await;
        let asked = preflight(origin, "/mcp").send(server.address()).await;
        for response in [call, asked] {
            assert_eq!(response.status, 403, "{origin}");
            let names = response.headers.keys().map(|name| name.as_str());
            let told: Vec<_> = names.filter(|name| name.starts_with("access-")).collect();
            assert!(told.is_empty(), "{origin}: {told:?}");
        }
    }
    // By a name that was made to point here; elsewhere on the server; without asking.
    let foreign = preflight(PAGE, "/mcp").header("Host", "evil.example.com");
    assert_eq!(foreign.send(server.address()).await.status, 403);
    let elsewhere = preflight(PAGE, "/other").send(server.address()).await;
    assert_eq!(elsewhere.status, 404);
    let plain = Request::new("OPTIONS", "/mcp").header("Origin", PAGE);
    assert_eq!(plain.send(server.address()).await.status, 405);
    // Who is no page is told nothing of pages.
    let call = server.client().request("server/discover", json!({}));
    let response = call.send().await;
    assert_eq!(response.status, 200);
    assert_eq!(response.header("access-control-allow-origin"), "");
}
