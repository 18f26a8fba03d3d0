//! `cofferdam status` and `cofferdam reload`.

use std::process::Output;

use cofferdam_tests::{Config, Declares, Options, Server, cofferdam, token};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

fn url(server: &Server) -> String {
    format!("http://{}", server.admin())
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("UTF-8")
}

/// What a command wrote to standard error when it failed.
fn failed(output: &Output) -> &str {
    assert!(!output.status.success(), "{output:?}");
    assert!(output.stdout.is_empty(), "{output:?}");
    text(&output.stderr)
}

#[tokio::test]
async fn status_is_a_table_for_people_and_json_for_scripts() {
    let config = Config::new("");
    config.put("broken.wasm", "no component");
    let broken = config.folder().join("broken.wasm");
    let server = Server::start(Options::probe().and(broken).admin()).await;
    let client = server.client().declaring(Declares::Tasks);
    client.result("echo", json!({"text": "x"})).await;
    client
        .task("finish", json!({}))
        .await
        .until("completed")
        .await;

    let told = cofferdam(&["status", "--admin", &url(&server)], &[]).await;
    assert!(told.status.success(), "{told:?}");
    let table = text(&told.stdout);
    assert!(
        table.lines().all(|line| line.chars().count() <= 80),
        "{table}"
    );
    for line in [
        format!("cofferdam {}, up ", env!("CARGO_PKG_VERSION")),
        "instances    0 of 1000 run, 0 calls wait".to_owned(),
        "tasks        0 working, 0 input_required; 0 of them run".to_owned(),
        "             1 completed, 0 failed, 0 cancelled".to_owned(),
        "echo                     none              1        0 ".to_owned(),
        "finish                   optional          1        0 ".to_owned(),
        "REFUSED".to_owned(),
    ] {
        let found = table.lines().any(|it| it.starts_with(&line));
        assert!(found, "{line:?} in {table}");
    }
    assert!(
        table.contains("/probe.wasm ") && table.contains("/broken.wasm\n"),
        "{table}"
    );

    let json = cofferdam(&["status", "--json", "--admin", &url(&server)], &[]).await;
    let json: Value = serde_json::from_slice(&json.stdout).expect("JSON");
    assert_eq!(json["tasks"]["completed"], 1);
}

#[tokio::test]
async fn a_token_comes_from_the_environment() {
    let (token, hash) = token();
    let config = Config::new(&format!("[admin]\ntoken-sha256 = {hash:?}\n"));
    let server = Server::start(config.probe().admin()).await;
    let url = url(&server);
    let arguments = ["status", "--admin", &url];
    let good = cofferdam(&arguments, &[("COFFERDAM_ADMIN_TOKEN", &token)]).await;
    assert!(good.status.success(), "{good:?}");
    for variables in [&[][..], &[("COFFERDAM_ADMIN_TOKEN", "another")]] {
        let bad = cofferdam(&arguments, variables).await;
        assert!(failed(&bad).contains("COFFERDAM_ADMIN_TOKEN"), "{bad:?}");
    }
}

#[tokio::test]
async fn where_nothing_answers_the_error_says_what_to_do() {
    let free = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}", free.local_addr().expect("an address"));
    drop(free);
    for command in ["status", "reload"] {
        let output = cofferdam(&[command, "--admin", &url], &[]).await;
        let error = failed(&output);
        for words in [&url, "--admin", "start one"] {
            assert!(error.contains(words), "{words} in {error}");
        }
    }
    // The callers' address is another one.
    let server = Server::start(Options::probe().admin()).await;
    let wrong = format!("http://{}", server.address());
    let output = cofferdam(&["status", "--admin", &wrong], &[]).await;
    assert!(failed(&output).contains("no admin address"), "{output:?}");
}

/// An address that answers one request with this JSON; gives the request.
async fn answering(status: u16, body: Value) -> (String, tokio::task::JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let asked = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.expect("a connection");
        let mut request = Vec::new();
        while !request.ends_with(b"\r\n\r\n") {
            request.push(stream.read_u8().await.expect("a request"));
        }
        let body = body.to_string();
        let head = format!(
            "HTTP/1.1 {status} X\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        let answer = stream.write_all((head + &body).as_bytes()).await;
        answer.expect("an answer");
        String::from_utf8(request).expect("UTF-8")
    });
    (url, asked)
}

#[tokio::test]
async fn what_a_server_says_of_its_failure_is_told() {
    let (url, asked) = answering(500, json!({"error": "no \u{1b}[2Jfolder"})).await;
    let output = cofferdam(&["reload", "--admin", &url], &[]).await;
    let error = failed(&output);
    assert!(error.contains("500: no \u{fffd}[2Jfolder"), "{error}");
    let asked = asked.await.expect("a request");
    assert!(asked.starts_with("POST /reload HTTP/1.1\r\n"), "{asked}");
}
