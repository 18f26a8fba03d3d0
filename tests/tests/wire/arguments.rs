//! What a client hands over to a tool: it can be read in one way only, and what cannot be read is told
//! in words.

use cofferdam_tests::{Asked, Call, Declares, Options, Server, accept};
use serde_json::{Value, json};

/// Sends the call's message with a part of its text replaced, and gives the error.
async fn refused(call: Call, from: &str, to: &str) -> String {
    let message = call.message().to_string();
    assert!(message.contains(from), "{from} is not in {message}");
    let response = call.send_body(message.replacen(from, to, 1)).await;
    assert_eq!(response.status, 200, "{to}");
    let message: Value = response.json().await;
    assert_eq!(message["error"]["code"], -32602, "{to}: {message}");
    let words = message["error"]["message"].as_str();
    words.expect("an error has words").to_owned()
}

// Some parsers take the first, others the last; what was checked must be what the tool gets.
#[tokio::test]
async fn a_key_that_is_there_twice_is_refused_by_its_name() {
    let server = Server::start(Options::probe()).await;
    let client = server.client().declaring(Declares::TasksAndForms);
    let echo = || client.tool("echo", json!({"text": "A"}));
    let words = refused(echo(), r#""text":"A""#, r#""text":"B","text":"A""#).await;
    assert!(
        words.contains("\"arguments\": duplicate key \"text\""),
        "{words}"
    );
    let deep = r#""text":[{"k":1,"\u006b":2}]"#;
    let words = refused(echo(), r#""text":"A""#, deep).await;
    assert!(
        words.contains("\"arguments\": duplicate key \"k\""),
        "{words}"
    );

    let asked: Asked = client
        .asked("ask", json!({"keys": ["k"], "begin": "never"}))
        .await;
    let twice = r#""action":"decline","action":"accept""#;
    let answer = asked.call(json!({"k": accept("x")}));
    let words = refused(answer, r#""action":"accept""#, twice).await;
    assert!(
        words.contains("\"inputResponses\": duplicate key \"action\""),
        "{words}"
    );
}

#[tokio::test]
async fn what_cannot_be_read_is_told_with_the_reason() {
    let server = Server::start(Options::probe()).await;
    let echo = || server.client().tool("echo", json!({"text": "A"}));
    for (to, reason) in [
        ("1e400", "number out of range"),
        (r#""\ud800""#, "escape"),
        (r#""\udc00""#, "surrogate"),
    ] {
        let words = refused(echo(), "\"A\"", to).await;
        assert!(
            words.contains("\"arguments\": ") && words.contains(reason),
            "{words}"
        );
    }
    let filter = json!({"notifications": {"x": "A"}});
    let listen = server.client().request("subscriptions/listen", filter);
    let words = refused(listen, "\"A\"", "1e400").await;
    let wanted = "\"notifications\": number out of range";
    assert!(words.contains(wanted), "{words}");
    let words = refused(echo(), "\"echo\"", r#""\udc00""#).await;
    assert!(
        words.contains("\"name\": ") && words.contains("surrogate"),
        "{words}"
    );
}
