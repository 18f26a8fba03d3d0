//! Ids and progress tokens: what they may be, and that they come back to the letter wherever they are
//! sent back.

use cofferdam_tests::{Call, Declares, Options, Server, VERSION, raw};
use serde_json::json;

/// The letters of ids that no number of a machine and no `Value` holds as they are.
const LETTERS: [&str; 4] = [
    "123456789012345678901234567890",
    "-0",
    r#""\u0041\/""#,
    r#""\ud83d\ude00""#,
];

/// Sends the call with these letters in place of its text `"here"`, and gives all that came.
async fn told(server: &Server, call: &Call, letters: &str) -> String {
    let message = call.message();
    let body = message.to_string().replace("\"here\"", letters);
    let method = message["method"].as_str().unwrap_or_default();
    let name = message["params"]["name"].as_str().unwrap_or_default();
    let request = format!(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\
         Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n\
         MCP-Protocol-Version: {VERSION}\r\nMcp-Method: {method}\r\nMcp-Name: {name}\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len(),
    );
    raw(server.address(), request.as_bytes()).await
}

fn listen(server: &Server) -> Call {
    // A task that is not there: the stream ends at once.
    let filter = json!({"taskIds": ["A".repeat(43)]});
    let client = server.client().declaring(Declares::Tasks);
    client
        .request("subscriptions/listen", json!({"notifications": filter}))
        .id(json!("here"))
}

fn progress(server: &Server) -> Call {
    let call = server.client().tool("progress", json!({"steps": 2}));
    call.meta("progressToken", json!("here"))
}

#[tokio::test]
async fn ids_and_tokens_come_back_to_the_letter_on_streams() {
    let server = Server::start(Options::probe()).await;
    let digits = "9".repeat(400);
    for letters in LETTERS.into_iter().chain([&*digits]) {
        let stream = told(&server, &listen(&server), letters).await;
        let named = format!("subscriptionId\":{letters}");
        // The acknowledgement and the end.
        assert_eq!(stream.matches(&named).count(), 2, "{stream}");
        let stream = told(&server, &progress(&server), letters).await;
        let named = format!("progressToken\":{letters}");
        assert_eq!(stream.matches(&named).count(), 2, "{stream}");
    }
}

#[tokio::test]
async fn what_cannot_be_sent_back_is_refused() {
    let server = Server::start(Options::probe()).await;
    let long = format!("\"{}\"", "x".repeat(1_023));
    for (letters, words) in [(r#""\ud800""#, "must be text"), (&*long, "1024 bytes")] {
        for (call, code, member) in [
            (listen(&server), -32600, "The id "),
            (progress(&server), -32602, "_meta.progressToken "),
        ] {
            let answer = told(&server, &call, letters).await;
            assert!(answer.starts_with("HTTP/1.1 400"), "{answer}");
            assert!(answer.contains(&format!("\"code\":{code},")), "{answer}");
            assert!(
                answer.contains(member) && answer.contains(words),
                "{answer}"
            );
        }
    }
    assert_eq!(server.log().count(&["panicked"]), 0);
}
