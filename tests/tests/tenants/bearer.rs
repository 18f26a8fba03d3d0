//! Tokens that the operator gave out (RFC 6750): every request needs the right one, whatever else is
//! wrong with it, and a token is kept nowhere.

use std::net::SocketAddr;
use std::path::Path;

use cofferdam_tests::{Call, Client, Config, Declares, Identity, Options, Request, Server};
use serde_json::json;

fn of_one() -> (Config, Identity) {
    let identity = Identity::new("acme", "ci");
    let config = Config::new(&format!("[tenants.acme]\n{}", identity.entry));
    (config, identity)
}

/// A request of every kind.
fn requests(client: &Client) -> Vec<Call> {
    let id = "A".repeat(43);
    vec![
        client.request("server/discover", json!({})),
        client.request("tools/list", json!({})),
        client.tool("echo", json!({"text": "secret"})),
        client.tool("no such tool", json!({})),
        client.request("tasks/get", json!({"taskId": id})),
        client.request("tasks/update", json!({"taskId": id, "inputResponses": {}})),
        client.request("tasks/cancel", json!({"taskId": id})),
        client.request(
            "subscriptions/listen",
            json!({"notifications": {"taskIds": [id]}}),
        ),
        client.request("no/such/method", json!({})),
        client
            .request("tools/list", json!({}))
            .without("Mcp-Method"),
        client
            .request("tools/list", json!({}))
            .header("MCP-Protocol-Version", "1999-01-01"),
        client
            .request("notifications/cancelled", json!({}))
            .edit(|message| {
                message.as_object_mut().expect("a message").remove("id");
            }),
    ]
}

/// What comes back, as a client sees it.
#[derive(Debug, PartialEq)]
struct Told {
    status: u16,
    challenge: String,
    kind: String,
    body: String,
}

async fn told(request: Request, address: SocketAddr) -> Told {
    let response = request.send(address).await;
    Told {
        status: response.status,
        challenge: response.header("www-authenticate").to_owned(),
        kind: response.header("content-type").to_owned(),
        body: String::from_utf8(response.bytes().await.to_vec()).expect("UTF-8"),
    }
}

/// The request without the right token, in all ways in which it can be missing.
fn without_the_token(request: &Request, token: &str) -> Vec<Request> {
    let value = |value: &str| request.clone().header("Authorization", value);
    let right = format!("Bearer {token}");
    vec![
        request.clone(),
        value(""),
        value("Bearer"),
        value("Bearer "),
        value(token),
        value("Bearer wrong"),
        value(&format!("Bearer {}", &token[..token.len() - 1])),
        value(&format!("Bearer {token}A")),
        value(&format!("Bearer {token} {token}")),
        value(&format!("Bearer \"{token}\"")),
        value(&format!("Basic {token}")),
        value(&format!("{right}, {right}")),
        value(&right).more("Authorization", &right),
        value(&right).more("Authorization", "Bearer wrong"),
        value("Basic wrong").more("Authorization", &right),
        request.clone().header("Authorization", b"Bearer \xff\xfe"),
        request.clone().header("X-Authorization", &right),
        request
            .clone()
            .header("Cookie", format!("access_token={token}")),
    ]
}

#[tokio::test]
async fn whoever_has_no_token_learns_nothing_else() {
    let (config, identity) = of_one();
    let server = Server::start(config.probe()).await;
    let client = server.client().declaring(Declares::Tasks);
    let refused = told(requests(&client)[0].http(), server.address()).await;
    assert_eq!(
        (refused.status, refused.challenge.as_str()),
        (401, "Bearer")
    );
    assert_eq!(refused.kind, "application/json");
    for call in requests(&client) {
        let request = call.http();
        for (way, request) in without_the_token(&request, &identity.token)
            .into_iter()
            .enumerate()
        {
            let told = told(request, server.address()).await;
            assert_eq!(told, refused, "{}, way {way}", call.message());
        }
    }
    // A token in the query is none (RFC 6750, 2.3; the specification forbids it).
    let message = client.request("tools/list", json!({}));
    let query = Request::new("POST", &format!("/mcp?access_token={}", identity.token))
        .header("Content-Type", "application/json")
        .header("Accept", "application/json, text/event-stream")
        .header("MCP-Protocol-Version", cofferdam_tests::VERSION)
        .header("Mcp-Method", "tools/list")
        .body(message.message().to_string());
    assert_eq!(told(query, server.address()).await, refused);
}

// The body of a stranger is not even looked at.
#[tokio::test]
async fn a_body_does_not_matter_without_a_token() {
    let (config, identity) = of_one();
    let server = Server::start(config.probe().set("server.max-body-bytes", 4096)).await;
    let call = server.client().request("tools/list", json!({}));
    let refused = told(call.http(), server.address()).await;
    assert_eq!(refused.status, 401);
    let too_large = vec![b' '; 100_000];
    for body in [&b""[..], b"{", b"[]", b"\xff", b"null", &too_large] {
        let request = call.http().body(body.to_vec());
        let length = body.len();
        assert_eq!(
            told(request, server.address()).await,
            refused,
            "{length} bytes"
        );
    }
    let right = server.client().bearing(&identity.token);
    let too_large = right.request("tools/list", json!({})).send_body(too_large);
    assert_eq!(too_large.await.status, 413);
}

#[tokio::test]
async fn the_right_token_opens_everything() {
    let (config, identity) = of_one();
    let server = Server::start(config.probe()).await;
    let client = server
        .client()
        .declaring(Declares::Tasks)
        .bearing(&identity.token);
    client
        .request("server/discover", json!({}))
        .answer()
        .await
        .result();
    client
        .request("tools/list", json!({}))
        .answer()
        .await
        .result();
    client.result("echo", json!({"text": "hello"})).await;
    let task = client.task("wait", json!({})).await;
    let listen = client.listen_to(&[&task]).await;
    assert_eq!(listen.accepted(), &json!({"taskIds": [task.id()]}));
    task.get().await;
    task.cancel().await;
    task.until("cancelled").await;
    // The scheme's name has no case (RFC 9110, 11.1).
    for scheme in ["bearer", "BEARER", "bEaReR"] {
        let value = format!("{scheme} {}", identity.token);
        let call = client
            .request("tools/list", json!({}))
            .header("Authorization", value);
        call.answer().await.result();
    }
}

#[tokio::test]
async fn tokens_are_kept_nowhere() {
    let (config, identity) = of_one();
    let stranger = Identity::new("acme", "stranger");
    let mut server = Server::start(config.probe()).await;
    let client = server
        .client()
        .declaring(Declares::TasksAndForms)
        .bearing(&identity.token);
    let task = client.task("ask", json!({"keys": ["k"]})).await;
    task.until("input_required").await;
    let asked = client
        .asked("ask", json!({"keys": ["k"], "begin": "never"}))
        .await;
    assert!(!asked.state().contains(&identity.token));
    client.result("sleep", json!({"ms": 0})).await;
    client.call("header", json!({})).await;
    let wrong = client.bearing(&stranger.token);
    for call in requests(&wrong) {
        assert_eq!(call.send().await.status, 401);
    }
    server.stop().await;
    let log = server.log().text();
    assert!(
        log.contains("sleep begins"),
        "the log tells of calls: {log}"
    );
    let mut files = Vec::new();
    read(server.data(), &mut files);
    assert!(
        files
            .iter()
            .any(|content| holds(content, "input_required") || holds(content, "acme")),
        "the data folder holds the task"
    );
    for token in [&identity.token, &stranger.token] {
        // Its random part alone would be as bad.
        let secret = token.strip_prefix("cfd_").expect("a token has a prefix");
        assert!(!log.contains(secret), "a token is in the log: {log}");
        for content in &files {
            assert!(!holds(content, secret), "a token is in the data folder");
        }
    }
}

// Two tokens of one subject are two ways to be the same caller, for example while one is replaced.
#[tokio::test]
async fn a_subject_may_have_two_tokens() {
    let (old, new) = (Identity::new("acme", "ci"), Identity::new("acme", "ci"));
    let text = |tokens: &[&Identity]| {
        let entries: String = tokens.iter().map(|token| token.entry.as_str()).collect();
        format!("[tenants.acme]\n{entries}")
    };
    let config = Config::new(&text(&[&old, &new]));
    let server = Server::start(config.probe()).await;
    let client = server.client().declaring(Declares::Tasks);
    let task = client.bearing(&old.token).task("wait", json!({})).await;
    task.through(&client.bearing(&new.token)).get().await;
    config.put("cofferdam.toml", text(&[&new]));
    let server = server.restart().await;
    let client = server.client().declaring(Declares::Tasks);
    let call = client
        .bearing(&old.token)
        .request("tasks/get", json!({"taskId": task.id()}));
    assert_eq!(call.send().await.status, 401, "it was taken back");
    client
        .bearing(&new.token)
        .task_get(task.id())
        .await
        .result();
}

// The metadata of RFC 9728 would name a server that gives out tokens; here there is none.
#[tokio::test]
async fn nobody_is_named_who_gives_out_tokens() {
    let (config, _identity) = of_one();
    for options in [config.probe(), Options::probe()] {
        let server = Server::start(options).await;
        for path in ["", "/mcp"] {
            let path = format!("/.well-known/oauth-protected-resource{path}");
            let response = Request::new("GET", &path).send(server.address()).await;
            assert_eq!(response.status, 404, "{path}");
        }
    }
}

fn read(folder: &Path, files: &mut Vec<Vec<u8>>) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            read(&path, files);
        } else {
            files.push(std::fs::read(&path).expect("a file"));
        }
    }
}

fn holds(content: &[u8], text: &str) -> bool {
    content
        .windows(text.len())
        .any(|window| window == text.as_bytes())
}
