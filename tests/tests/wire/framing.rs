//! Where a request comes from and where it ends, as bytes: one host, one coding, a body that is whole.
//! And bodies on their way, which are bounded all together.

use cofferdam_tests::{Config, Identity, Options, Server, VERSION, patient, raw};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// A request with these lines in its head.
fn request(server: &Server, target: &str, lines: &str, body: &str) -> String {
    let host = server.address();
    format!(
        "POST {target} HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n\
         MCP-Protocol-Version: {VERSION}\r\nMcp-Method: server/discover\r\n{lines}\r\n{body}"
    )
}

fn message(server: &Server) -> String {
    let call = server.client().request("server/discover", json!({}));
    call.message().to_string()
}

/// Status and words of the one answer to bytes.
async fn told(server: &Server, request: &str) -> (u16, String) {
    one(&raw(server.address(), request.as_bytes()).await)
}

fn one(answer: &str) -> (u16, String) {
    assert_eq!(answer.matches("HTTP/1.1 ").count(), 1, "{answer}");
    let status = answer
        .split(' ')
        .nth(1)
        .and_then(|status| status.parse().ok());
    let (_, body) = answer.split_once("\r\n\r\n").expect("a head ends");
    let body: Value = serde_json::from_str(body).unwrap_or_default();
    let words = body["error"]["message"].as_str().unwrap_or_default();
    (status.expect("a status"), words.to_owned())
}

#[tokio::test]
async fn a_request_has_one_host_one_origin_and_one_coding() {
    let server = Server::start(Options::probe()).await;
    let body = message(&server);
    let close = format!("Connection: close\r\nContent-Length: {}\r\n", body.len());
    let own = format!("Origin: http://{}\r\n", server.address());
    for (target, lines, status) in [
        ("/mcp", String::new(), 200),
        ("/mcp", own.clone(), 200),
        ("http://localhost/mcp", String::new(), 200),
        ("/mcp", "Host: localhost\r\n".to_owned(), 400),
        ("http://evil.example/mcp", String::new(), 403),
        ("/mcp", format!("{own}Origin: http://evil.example\r\n"), 403),
    ] {
        let request = request(&server, target, &format!("{lines}{close}"), &body);
        let (came, words) = told(&server, &request).await;
        assert_eq!(came, status, "{target} {lines}: {words}");
    }
    // What another reader could read otherwise ends the connection.
    let chunks = format!("{:x}\r\n{body}\r\n0\r\n\r\n", body.len());
    for coding in ["gzip, chunked", "chunked, chunked"] {
        let lines = format!("Transfer-Encoding: {coding}\r\n");
        let twice = request(&server, "/mcp", &lines, &chunks).repeat(2);
        let (status, words) = told(&server, &twice).await;
        assert!(
            status == 501 && words.contains("Transfer-Encoding"),
            "{words}"
        );
    }
}

#[tokio::test]
async fn a_malformed_body_is_refused_with_the_reason() {
    let server = Server::start(Options::probe()).await;
    let chunked = |body: &str| {
        let lines = "Transfer-Encoding: chunked\r\n";
        request(&server, "/mcp", lines, body)
    };
    let (status, words) = told(&server, &chunked("zz\r\n")).await;
    assert!(
        status == 400 && words.contains("chunk size"),
        "{status} {words}"
    );

    // It ends before it is there.
    let mut stream = TcpStream::connect(server.address())
        .await
        .expect("it accepts");
    let short = request(&server, "/mcp", "Content-Length: 10\r\n", "{}");
    stream.write_all(short.as_bytes()).await.expect("it reads");
    stream.shutdown().await.expect("it is open");
    let mut answer = String::new();
    let read = patient("an answer", stream.read_to_string(&mut answer));
    read.await.expect("it is text");
    let (status, words) = one(&answer);
    assert!(
        status == 400 && words.contains("cannot be read: "),
        "{status} {words}"
    );
}

#[tokio::test]
async fn bodies_on_their_way_are_bounded_together() {
    const BODY: usize = 60_000;
    let options = Options::probe()
        .set("server.max-body-bytes", 65_536)
        .set("server.max-bodies-bytes", 100_000);
    let server = Server::start(options).await;
    let lines = format!("Connection: close\r\nContent-Length: {BODY}\r\n");
    let short = request(&server, "/mcp", &lines, &" ".repeat(BODY - 1));
    let whole = format!("{short} ");
    // Nothing tells when the first has come, and which of the two comes first has the room.
    let full = async {
        loop {
            let first = TcpStream::connect(server.address()).await;
            let mut first = first.expect("it accepts");
            let written = first.write_all(short.as_bytes()).await;
            written.expect("it reads");
            let answer = raw(server.address(), whole.as_bytes()).await;
            if answer.starts_with("HTTP/1.1 503") {
                return (first, answer);
            }
        }
    };
    let (first, answer) = patient("the room to be taken", full).await;
    assert!(answer.contains("retry-after: 1\r\n"), "{answer}");
    let (_, words) = one(&answer);
    let limit = "100000 bytes (server.max-bodies-bytes)";
    assert!(words.contains(limit), "{words}");
    // A small one has room.
    let discover = server.client().request("server/discover", json!({}));
    discover.answer().await.result();

    // Whoever leaves leaves his room, and so does what is answered: here with an error, for spaces
    // are no message.
    drop(first);
    let room = async { while told(&server, &whole).await.0 != 400 {} };
    patient("the room of one that left", room).await;
    assert_eq!(told(&server, &whole).await.0, 400);
}

// Whoever holds requests open holds up nobody else.
#[tokio::test]
async fn requests_of_a_tenant_are_bounded_in_number() {
    let (flood, calm) = (Identity::new("flood", "f"), Identity::new("calm", "c"));
    let config = Config::new(&format!(
        "[tenants.flood]\nmax-requests = 2\n[tenants.calm]\n{}{}",
        flood.entry, calm.entry
    ));
    let server = Server::start(config.probe()).await;
    let discover = |who: &Identity| {
        let client = server.client().bearing(&who.token);
        client.request("server/discover", json!({}))
    };
    let filter = || json!({"toolsListChanged": true});
    let client = server.client().bearing(&flood.token);
    let streams = [client.listen(filter()).await, client.listen(filter()).await];
    let refused = discover(&flood).send().await;
    assert_eq!((refused.status, refused.header("retry-after")), (503, "1"));
    let words = refused.json().await["error"]["message"].to_string();
    assert!(words.contains("2 (tenants.flood.max-requests)"), "{words}");
    discover(&calm).answer().await.result();
    // A place is there again when a stream is left.
    drop(streams);
    let again = async { while discover(&flood).send().await.status != 200 {} };
    patient("the place of a stream that was left", again).await;
}

// A stream is there for long; the body that asked for it is not.
#[tokio::test]
async fn a_stream_keeps_no_room_for_its_request() {
    let options = Options::probe()
        .set("server.max-body-bytes", 65_536)
        .set("server.max-bodies-bytes", 65_536);
    let server = Server::start(options).await;
    let mut streams = Vec::new();
    for _ in 0..3 {
        let filter = json!({"notifications": {"toolsListChanged": true}});
        let listen = server.client().request("subscriptions/listen", filter);
        let listen = listen.param("padding", json!("x".repeat(50_000)));
        streams.push(cofferdam_tests::Listen::open(listen).await);
    }
    assert_eq!(streams.len(), 3);
}
