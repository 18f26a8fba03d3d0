//! JSON-RPC: parsing, depth, batches, ids, notifications.

use cofferdam_tests::{Call, Kind, Options, Server, check, patient};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

fn discover(server: &Server) -> Call {
    server.client().request("server/discover", json!({}))
}

/// Sends a body that has no readable id, and returns status and code of the error, which has none
/// either.
async fn refusal(server: &Server, body: impl Into<bytes::Bytes>) -> (u16, i64) {
    let response = discover(server).send_body(body).await;
    let status = response.status;
    let message = response.json().await;
    check(Kind::Response, &message);
    check(Kind::Error, &message["error"]);
    assert_eq!(message.get("id"), None);
    (
        status,
        message["error"]["code"]
            .as_i64()
            .expect("checked by the schema"),
    )
}

#[tokio::test]
async fn what_is_no_json_is_a_parse_error() {
    let server = Server::start(Options::probe()).await;
    let right = discover(&server).message().to_string();
    let mut bad_text = right.clone().into_bytes();
    let place = right
        .find("discover")
        .expect("the method is in the message");
    bad_text[place] = 0xff;
    for body in [
        Vec::new(),
        b"nope".to_vec(),
        right.as_bytes()[..right.len() - 1].to_vec(),
        format!("{right} x").into_bytes(),
        b"{'jsonrpc':'2.0'}".to_vec(),
        bad_text,
    ] {
        assert_eq!(refusal(&server, body).await, (400, -32700));
    }
}

// M-30: the depth of the JSON, at the limit and one over it.
#[tokio::test]
async fn json_nests_64_levels_deep_and_no_deeper() {
    let server = Server::start(Options::probe()).await;
    // The message, its params and the value inside them: three levels and what the value adds.
    let nested = |levels: usize| -> String {
        let value = format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        let message = discover(&server)
            .param("x", json!("here"))
            .message()
            .to_string();
        message.replace("\"here\"", &value)
    };
    assert_eq!(discover(&server).send_body(nested(62)).await.status, 200);
    assert_eq!(refusal(&server, nested(63)).await, (400, -32700));
    assert_eq!(refusal(&server, "[".repeat(3_000_000)).await, (400, -32700));
    discover(&server).answer().await.result();
}

// A small value takes many times its text in memory.
#[tokio::test]
async fn a_request_has_so_many_values_and_no_more() {
    let server = Server::start(Options::probe().set("server.max-json-values", 1_000)).await;
    let values = |count: usize| {
        let call = discover(&server).param("x", json!(vec![1; count]));
        call.message().to_string()
    };
    assert_eq!(discover(&server).send_body(values(900)).await.status, 200);
    let response = discover(&server).send_body(values(1_000)).await;
    assert_eq!(response.status, 400);
    let error = response.json().await["error"].take();
    assert_eq!(error["code"], -32700, "{error}");
    let words = error["message"].as_str().unwrap_or_default();
    assert!(
        words.contains("1000 values (limit server.max-json-values)"),
        "{words}"
    );
}

// Their work is not that of the threads that serve others, and takes turns.
#[tokio::test]
async fn large_bodies_at_once_are_all_answered() {
    let server = Server::start(Options::probe()).await;
    let long = "x".repeat(600_000);
    let mut sent = tokio::task::JoinSet::new();
    for _ in 0..8 {
        let call = server.client().tool("echo", json!({"text": long}));
        sent.spawn(async move { call.answer().await.result()["content"][0]["text"].clone() });
    }
    let small = server.client().result("echo", json!({"text": "x"})).await;
    assert_eq!(small["content"][0]["text"], "x");
    while let Some(text) = sent.join_next().await {
        assert_eq!(text.expect("it is answered"), json!(long));
    }
}

#[tokio::test]
async fn what_is_no_single_request_is_invalid() {
    let server = Server::start(Options::probe()).await;
    let right = discover(&server).message().clone();
    for body in [
        json!([]),
        json!([right]),
        json!([right, right]),
        json!(5),
        json!("text"),
        json!(null),
        json!(true),
    ] {
        assert_eq!(
            refusal(&server, body.to_string()).await,
            (400, -32600),
            "{body}"
        );
    }
    for id in [json!(null), json!(1.5), json!(true), json!({}), json!([1])] {
        let body = discover(&server).id(id.clone()).message().to_string();
        assert_eq!(refusal(&server, body).await, (400, -32600), "{id}");
    }
}

#[tokio::test]
async fn an_invalid_request_with_a_readable_id_is_answered_by_it() {
    let server = Server::start(Options::probe()).await;
    for body in [
        json!({"id": 7, "method": "server/discover"}),
        json!({"id": 7, "jsonrpc": "1.0", "method": "server/discover"}),
        json!({"id": 7, "jsonrpc": 2.0, "method": "server/discover"}),
        json!({"id": 7, "jsonrpc": "2.0"}),
        json!({"id": 7, "jsonrpc": "2.0", "method": 5}),
        json!({"id": 7, "jsonrpc": "2.0", "result": {}}),
        json!({"id": 7, "jsonrpc": "2.0", "error": {"code": 1, "message": "x"}}),
    ] {
        let response = discover(&server).send_body(body.to_string()).await;
        assert_eq!(response.status, 400, "{body}");
        let message = response.json().await;
        assert_eq!(
            (&message["id"], &message["error"]["code"]),
            (&json!(7), &json!(-32600)),
            "{body}"
        );
    }
}

#[tokio::test]
async fn ids_come_back_to_the_letter() {
    let server = Server::start(Options::probe()).await;
    let message = discover(&server).id(json!("here")).message().to_string();
    for id in [
        "0",
        "-1",
        "1796000000000",
        "9007199254740993",
        "18446744073709551615",
        "123456789012345678901234567890",
        "\"\"",
        "\"a-b\"",
        "\"\\u00e9\u{1F600}\"",
    ] {
        let response = discover(&server)
            .send_body(message.replace("\"here\"", id))
            .await;
        assert_eq!(response.status, 200);
        let body = String::from_utf8(response.bytes().await.to_vec()).expect("UTF-8");
        assert!(body.contains(&format!("\"id\":{id},")), "{id}: {body}");
    }
    // In errors too.
    let call = server
        .client()
        .request("unknown/method", json!({}))
        .id(json!("an id"));
    assert_eq!(call.answer().await.response["id"], "an id");
}

#[tokio::test]
async fn notifications_are_accepted_without_an_answer() {
    let server = Server::start(Options::probe()).await;
    let note = |method: &str, params: Value| {
        json!({"jsonrpc": "2.0", "method": method, "params": params}).to_string()
    };
    for body in [
        note("notifications/cancelled", json!({"requestId": 1})),
        note(
            "notifications/cancelled",
            json!({"requestId": 1, "reason": "x", "_meta": {}}),
        ),
    ] {
        let call = discover(&server).header("Mcp-Method", "notifications/cancelled");
        let response = call.send_body(body.clone()).await;
        assert_eq!(response.status, 202, "{body}");
        assert_eq!(response.bytes().await.len(), 0, "{body}");
    }
}

#[tokio::test]
async fn members_that_nobody_knows_are_passed_over() {
    let server = Server::start(Options::probe()).await;
    let call = discover(&server)
        .param("extra", json!({"a": [1]}))
        .edit(|message| {
            message["params"]["_meta"]["com.example/key"] = json!([1]);
            message["params"]["_meta"]["traceparent"] =
                json!("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01");
            message["extra"] = json!(1);
        });
    call.answer().await.result();
}

/// A proxy sends a body to its end before it looks for the answer: to close the connection would cost its
/// client the reason.
#[tokio::test]
async fn a_request_that_is_refused_by_its_head_may_send_its_body() {
    let server = Server::start(Options::probe()).await;
    let mut stream = TcpStream::connect(server.address())
        .await
        .expect("connected");
    let host = server.address();
    let body = vec![b' '; 4 << 20];
    for _ in 0..3 {
        let head = format!(
            "POST /mcp HTTP/1.1\r\nHost: {host}\r\nContent-Type: text/plain\r\n\
             Accept: application/json, text/event-stream\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        let sent = async {
            stream.write_all(head.as_bytes()).await?;
            stream.write_all(&body).await
        };
        patient("the body to be taken", sent).await.expect("taken");
        // An object without braces in it but its error's.
        let mut told = String::new();
        while !told.ends_with("}}") {
            let mut more = vec![0; 4_096];
            let read = patient("an answer", stream.read(&mut more)).await;
            let read = read.expect("an answer");
            assert!(read > 0, "closed after {told}");
            told += &String::from_utf8_lossy(&more[..read]);
        }
        assert!(told.starts_with("HTTP/1.1 415 "), "{told}");
    }
}
