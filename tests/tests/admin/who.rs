//! Who may ask: no page but the console, nobody by a foreign name, and nobody without the token, if there
//! is one.

use cofferdam_tests::{Config, Identity, Options, Request, Response, Server, raw, token};

const PATHS: [(&str, &str); 7] = [
    ("GET", "/"),
    ("GET", "/console"),
    ("GET", "/history"),
    ("GET", "/health"),
    ("GET", "/status"),
    ("GET", "/metrics"),
    ("POST", "/reload"),
];

async fn refused(response: Response, status: u16) {
    assert_eq!(response.status, status);
    let answer = response.json().await;
    let members = answer.as_object().expect("an object");
    assert!(
        members.len() == 1 && answer["error"].is_string(),
        "{answer}"
    );
}

#[tokio::test]
async fn foreign_pages_and_foreign_names_are_refused_whatever_they_ask_for() {
    let server = Server::start(Options::probe().admin()).await;
    let address = server.admin();
    for (method, path) in PATHS {
        let request = || Request::new(method, path);
        for origin in ["http://evil.example", "http://localhost:1", "null", ""] {
            refused(request().header("Origin", origin).send(address).await, 403).await;
        }
        for site in ["cross-site", "same-site", "unheard-of"] {
            let request = request().header("Sec-Fetch-Site", site);
            refused(request.clone().send(address).await, 403).await;
            // A frame, whatever is in it.
            let frame = request.header("Sec-Fetch-Mode", "navigate");
            let frame = frame.header("Sec-Fetch-Dest", "iframe");
            refused(frame.send(address).await, 403).await;
        }
        for host in [
            "evil.example",
            "127.0.0.1.evil.example",
            "",
            "localhost@evil.example",
        ] {
            refused(request().header("Host", host).send(address).await, 403).await;
        }
    }
    for host in ["localhost", "127.0.0.1:1", "[::1]:8081"] {
        let request = Request::new("GET", "/status").header("Host", host);
        let typed = request.header("Sec-Fetch-Site", "none");
        assert_eq!(typed.send(address).await.status, 200, "{host}");
    }
    let nameless = raw(address, b"GET /status HTTP/1.0\r\n\r\n").await;
    assert!(nameless.starts_with("HTTP/1.0 403 "), "{nameless}");
}

#[tokio::test]
async fn the_console_may_ask_and_nothing_is_told_to_other_pages() {
    let server = Server::start(Options::probe().admin()).await;
    let address = server.admin();
    let own = format!("http://{address}");
    for (method, path) in PATHS {
        let request = Request::new(method, path);
        let request = request.header("Sec-Fetch-Site", "same-origin");
        let from_console = request.header("Origin", &own);
        if method == "POST" {
            // What a form can send, a page may have been made to send.
            let form = from_console.clone().header("Content-Type", "text/plain");
            refused(from_console.clone().send(address).await, 415).await;
            refused(form.send(address).await, 415).await;
        }
        let request = from_console.header("Content-Type", "application/json");
        let answer = request.send(address).await;
        assert_eq!(answer.status, 200, "{path}");
        for (name, value) in [
            ("cache-control", "no-store"),
            ("x-content-type-options", "nosniff"),
            ("x-frame-options", "DENY"),
            ("referrer-policy", "no-referrer"),
            ("cross-origin-resource-policy", "same-origin"),
            ("cross-origin-opener-policy", "same-origin"),
        ] {
            assert_eq!(answer.header(name), value, "{path}");
        }
        let policy = answer.header("content-security-policy");
        let parts: Vec<_> = policy.split("; ").collect();
        for part in ["default-src 'none'", "frame-ancestors 'none'"] {
            assert!(parts.contains(&part), "{path}: {policy}");
        }
        assert!(
            !policy.contains("unsafe") && !policy.contains('*'),
            "{policy}"
        );
        let cross = answer.headers.keys();
        let cross: Vec<_> = cross
            .filter(|it| it.as_str().starts_with("access-control"))
            .collect();
        assert!(
            cross.is_empty() && !answer.headers.contains_key("set-cookie"),
            "{cross:?}"
        );
    }
}

#[tokio::test]
async fn there_is_nothing_else_at_the_address() {
    let server = Server::start(Options::probe().admin()).await;
    let address = server.admin();
    for path in [
        "/index.html",
        "/console/",
        "/mcp",
        "/status/",
        "/tasks",
        "/.well-known/oauth-protected-resource",
    ] {
        refused(Request::new("GET", path).send(address).await, 404).await;
    }
    for (method, path) in PATHS {
        for other in ["GET", "POST", "PUT", "DELETE", "OPTIONS"] {
            if other != method {
                let response = Request::new(other, path).send(address).await;
                assert_eq!(response.header("allow"), method);
                refused(response, 405).await;
            }
        }
    }
    let health = Request::new("GET", "/health").send(address).await;
    assert_eq!(health.header("cache-control"), "no-store");
    assert_eq!(health.bytes().await, "ok\n");
    // Nor is the operator's answer at the callers' address.
    let response = Request::new("GET", "/status").send(server.address()).await;
    assert_eq!(response.status, 404);
}

#[tokio::test]
async fn a_token_is_needed_where_one_is_configured() {
    let (good, hash) = token();
    let caller = Identity::new("acme", "ci");
    let config = Config::new(&format!(
        "[admin]\ntoken-sha256 = {hash:?}\n[tenants.acme]\n{}",
        caller.entry
    ));
    let server = Server::start(config.probe().admin()).await;
    let address = server.admin();
    for path in ["/status", "/history", "/metrics"] {
        let request = || Request::new("GET", path);
        let bearing = |token: &str| request().header("Authorization", format!("Bearer {token}"));
        assert_eq!(bearing(&good).send(address).await.status, 200);
        let other = token().0;
        let cut = &good[..good.len() - 1];
        for bad in ["", cut, &hash, &other, &caller.token] {
            refused(bearing(bad).send(address).await, 401).await;
        }
        let basic = request().header("Authorization", format!("Basic {good}"));
        refused(basic.send(address).await, 401).await;
        let twice = bearing(&good).more("Authorization", format!("Bearer {good}"));
        refused(twice.send(address).await, 401).await;
        let none = request().send(address).await;
        assert_eq!(none.header("www-authenticate"), "Bearer");
        refused(none, 401).await;
    }
    refused(Request::new("POST", "/reload").send(address).await, 401).await;
    for open in ["/health", "/", "/console"] {
        let answer = Request::new("GET", open).send(address).await;
        assert_eq!(answer.status, 200, "{open}");
    }
    // And it is good for nothing else.
    let list = server.client().bearing(&good);
    let list = list
        .request("tools/list", serde_json::json!({}))
        .send()
        .await;
    assert_eq!(list.status, 401);
}
