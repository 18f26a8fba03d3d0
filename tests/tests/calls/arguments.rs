//! Arguments: what does not fit the schema never reaches the handler.

use cofferdam_tests::{Options, Server};
use serde_json::json;

#[tokio::test]
async fn bad_arguments_are_told_as_a_tool_error() {
    let server = Server::start(Options::probe()).await;
    for arguments in [
        json!({}),
        json!({"text": 5}),
        json!({"text": null}),
        json!({"text": "x", "extra": 1}),
    ] {
        let result = server.client().result("echo", arguments.clone()).await;
        assert_eq!(result["isError"], true, "{arguments}");
        let text = result["content"][0]["text"].as_str().expect("text");
        assert!(
            text.contains("text") || text.contains("extra"),
            "the member is named: {text}"
        );
    }
}

// Every rule of the schema counts, not types alone.
#[tokio::test]
async fn the_whole_schema_is_checked() {
    let server = Server::start(Options::probe()).await;
    let good = json!({"word": "abc", "number": 5, "list": [true]});
    assert_ne!(
        server.client().result("strict", good.clone()).await["isError"],
        true
    );
    for (member, value) in [
        ("word", json!("")),
        ("word", json!("abcdef")),
        ("word", json!("ABC")),
        ("number", json!(0)),
        ("number", json!(11)),
        ("number", json!(1.5)),
        ("list", json!([true, true, true, true])),
        ("list", json!([1])),
    ] {
        let mut arguments = good.clone();
        arguments[member] = value.clone();
        let result = server.client().result("strict", arguments).await;
        let text = result["content"][0]["text"].as_str().expect("text");
        assert!(
            result["isError"] == true && text.contains(member),
            "{member} {value}: {text}"
        );
    }
}

#[tokio::test]
async fn an_unknown_tool_is_an_error_of_the_request() {
    let server = Server::start(Options::probe()).await;
    for name in ["no-such-tool", "Echo", "echo ", "", "../echo"] {
        let call = server.client().request("tools/call", json!({"name": name}));
        // White space around a header's value is not part of it.
        let call = if name.ends_with(' ') {
            call.header("Mcp-Name", "=?base64?ZWNobyA=?=")
        } else {
            call
        };
        call.answer().await.error(200, -32602);
    }
}

#[tokio::test]
async fn text_arrives_as_it_was_sent() {
    let server = Server::start(Options::probe()).await;
    for text in [
        "",
        "plain",
        "é 漢字 \u{1F600}",
        "\"\\/\u{8}\u{c}\n\r\t\u{0}\u{7f}",
        "\u{2028}\u{fffd}",
        &"long ".repeat(100_000),
    ] {
        let result = server.client().result("echo", json!({"text": text})).await;
        assert_eq!(result["content"][0]["text"], text);
    }
}
