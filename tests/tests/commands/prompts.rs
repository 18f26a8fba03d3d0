//! What a tool asks, answered by a person at a terminal.

use cofferdam_tests::{Options, Server, patient};
use serde_json::{Value, json};
use tokio::task::spawn_blocking;

use crate::terminal::{DOWN, ENTER, ESCAPE, SPACE, Terminal};

/// Calls the tool that asks, at a terminal; `person` answers it. Gives what the tool was told.
async fn told(
    server: &Server,
    more: &[&str],
    person: impl FnOnce(&mut Terminal) + Send + 'static,
) -> Value {
    let url = server.url();
    let arguments = [
        &["call", &url, "ask", "-a", r#"keys=["k"]"#, "-o", "json"],
        more,
    ]
    .concat();
    let arguments: Vec<String> = arguments.iter().map(|&it| it.to_owned()).collect();
    let conversation = spawn_blocking(move || {
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let mut terminal = Terminal::start(&arguments);
        person(&mut terminal);
        terminal.ends()
    });
    let (shown, code) = patient("the conversation", conversation)
        .await
        .expect("its thread");
    assert_eq!(code, 0, "{shown}");
    // What is drawn on standard error comes to the same terminal before the document.
    let begin = shown
        .find("{\r\n")
        .unwrap_or_else(|| panic!("no document in {shown}"));
    let result: Value = serde_json::from_str(&shown[begin..]).expect("JSON");
    result["structuredContent"]["k"].clone()
}

fn form(properties: Value, required: Value) -> String {
    let schema = json!({"type": "object", "properties": properties, "required": required});
    format!("schema={schema}")
}

#[tokio::test]
async fn texts_and_numbers_are_checked_while_they_are_typed() {
    let server = Server::start(Options::probe()).await;
    let schema = form(
        json!({
            "mail": {"type": "string", "format": "email", "title": "E-mail", "description": "Where to"},
            "age": {"type": "integer", "minimum": 18},
            "ratio": {"type": "number", "default": 0.5},
            "note": {"type": "string"},
        }),
        json!(["mail", "age", "ratio"]),
    );
    let told = told(&server, &["-a", &schema], |terminal| {
        terminal.sees("ask at 127.0.0.1 asks:");
        terminal.sees("What is it?");
        terminal.sees("E-mail:");
        terminal.sees("Where to; string, email");
        terminal.answers("nobody");
        terminal.sees("is not a \"email\"");
        terminal.answers("@example.com");
        terminal.sees("age:");
        terminal.answers("17");
        terminal.sees("at least 18");
        terminal.types("\u{7f}");
        terminal.answers("9");
        terminal.sees("ratio:");
        terminal.types(ENTER);
        terminal.sees("note (optional):");
        terminal.types(ENTER);
    })
    .await;
    let content = json!({"mail": "nobody@example.com", "age": 19, "ratio": 0.5});
    assert_eq!(told, json!({"action": "accept", "content": content}));
}

#[tokio::test]
async fn choices_are_menus() {
    let server = Server::start(Options::probe()).await;
    let schema = form(
        json!({
            "size": {"type": "string", "oneOf": [{"const": "s", "title": "Small"}, {"const": "l", "title": "Large"}]},
            "color": {"type": "string", "enum": ["red", "blue", "green"], "default": "blue"},
            "sure": {"type": "boolean"},
            "later": {"type": "boolean"},
            "tags": {"type": "array", "minItems": 1, "items": {"type": "string", "enum": ["x", "y", "z"]}},
        }),
        json!(["size", "color", "sure", "tags"]),
    );
    let told = told(&server, &["-a", &schema], |terminal| {
        terminal.sees("size:");
        terminal.sees("Large");
        terminal.types(DOWN);
        terminal.types(ENTER);
        terminal.sees("color:");
        terminal.types(ENTER);
        terminal.sees("sure:");
        terminal.answers("yes");
        terminal.sees("later (optional):");
        terminal.sees("leave it out");
        terminal.types(DOWN);
        terminal.types(DOWN);
        terminal.types(ENTER);
        terminal.sees("tags:");
        terminal.types(ENTER);
        terminal.sees("at least 1");
        terminal.types(SPACE);
        terminal.types(DOWN);
        terminal.types(DOWN);
        terminal.types(SPACE);
        terminal.types(ENTER);
    })
    .await;
    let content = json!({"size": "l", "color": "blue", "sure": true, "tags": ["x", "z"]});
    assert_eq!(told, json!({"action": "accept", "content": content}));
}

#[tokio::test]
async fn a_question_can_be_declined_or_cancelled() {
    let server = Server::start(Options::probe()).await;
    for (downs, action) in [(1, "decline"), (2, "cancel")] {
        let told = told(&server, &["-a", "begin=never"], move |terminal| {
            terminal.sees("value:");
            terminal.types(ESCAPE);
            terminal.sees("what now?");
            (0..downs).for_each(|_| terminal.types(DOWN));
            terminal.types(ENTER);
        })
        .await;
        assert_eq!(told, json!({"action": action}));
    }
}

#[tokio::test]
async fn a_page_is_shown_with_its_host_and_not_opened() {
    let server = Server::start(Options::probe()).await;
    for (downs, action) in [(0, "accept"), (1, "decline"), (2, "cancel")] {
        let told = told(&server, &["-a", "kind=url"], move |terminal| {
            terminal.sees("Go there");
            terminal.sees("Nothing is opened for you.");
            terminal.sees("host: example.com");
            terminal.sees("page: https://example.com/page");
            terminal.sees("Do you agree");
            (0..downs).for_each(|_| terminal.types(DOWN));
            terminal.types(ENTER);
        })
        .await;
        assert_eq!(told, json!({"action": action}));
    }
}

#[tokio::test]
async fn what_was_answered_beforehand_is_not_asked() {
    let server = Server::start(Options::probe()).await;
    let told = told(&server, &["--answer", "k=known"], |_| {}).await;
    assert_eq!(
        told,
        json!({"action": "accept", "content": {"value": "known"}})
    );
}

#[tokio::test]
async fn progress_is_a_bar_that_goes_before_the_result() {
    let server = Server::start(Options::probe()).await;
    let url = server.url();
    let conversation = spawn_blocking(move || {
        let arguments = [
            "call",
            &url,
            "progress",
            "-a",
            "steps=2",
            "-a",
            "delay_ms=500",
        ];
        let mut terminal = Terminal::start(&arguments);
        terminal.sees("calling progress at 127.0.0.1");
        terminal.sees("1/2 step");
        terminal.sees("2/2 step");
        terminal.ends()
    });
    let (shown, code) = patient("the conversation", conversation)
        .await
        .expect("its thread");
    assert_eq!(code, 0, "{shown}");
    assert!(shown.ends_with("done\r\n"), "{shown:?}");
}
