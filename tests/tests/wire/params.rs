//! `Mcp-Param-*`: arguments that the tool's schema wants repeated as headers (`x-mcp-header`).

use cofferdam_tests::{Call, Options, Server};
use serde_json::{Value, json};

fn call(server: &Server, arguments: Value) -> Call {
    server.client().tool("header", arguments)
}

#[tokio::test]
async fn a_repeated_argument_must_be_there_and_agree() {
    let server = Server::start(Options::probe()).await;
    let region = || call(&server, json!({"region": "Hello"}));
    region().answer().await.error(400, -32020);
    for good in ["Hello", "  Hello\t", "=?base64?SGVsbG8=?="] {
        region()
            .header("Mcp-Param-Region", good)
            .answer()
            .await
            .result();
    }
    for bad in [
        "",
        "hello",
        "Hello!",
        "=?base64?SGVsbG8?=",
        "=?base64?SGVs!!!bG8=?=",
        "=?base64?SGVsbG8=",
        "SGVsbG8=?=",
    ] {
        region()
            .header("Mcp-Param-Region", bad)
            .answer()
            .await
            .error(400, -32020);
    }
}

#[tokio::test]
async fn numbers_and_truths_compare_by_value() {
    let server = Server::start(Options::probe()).await;
    let number = || call(&server, json!({"priority": 42}));
    for good in ["42", "42.0", " 42 ", "=?base64?NDI=?="] {
        number()
            .header("Mcp-Param-Priority", good)
            .answer()
            .await
            .result();
    }
    for bad in ["", "43", "0x2a", "forty-two", "NaN", "42 42"] {
        number()
            .header("Mcp-Param-Priority", bad)
            .answer()
            .await
            .error(400, -32020);
    }
    let dry = |value: bool| call(&server, json!({"dry": value}));
    dry(true)
        .header("Mcp-Param-Dry", "true")
        .answer()
        .await
        .result();
    dry(false)
        .header("Mcp-Param-Dry", "false")
        .answer()
        .await
        .result();
    for bad in ["false", "True", "1", ""] {
        dry(true)
            .header("Mcp-Param-Dry", bad)
            .answer()
            .await
            .error(400, -32020);
    }
}

#[tokio::test]
async fn an_argument_within_an_object_is_repeated_too() {
    let server = Server::start(Options::probe()).await;
    let zone = || call(&server, json!({"zone": {"number": -7}}));
    zone().answer().await.error(400, -32020);
    zone()
        .header("mcp-param-ZONE", "-7")
        .answer()
        .await
        .result();
    zone()
        .header("Mcp-Param-Zone", "7")
        .answer()
        .await
        .error(400, -32020);
    call(&server, json!({"zone": {}})).answer().await.result();
}

#[tokio::test]
async fn half_a_sentinel_is_a_literal() {
    let server = Server::start(Options::probe()).await;
    for literal in ["=?base64?SGVsbG8=", "SGVsbG8=?="] {
        let call = call(&server, json!({"region": literal}));
        call.header("Mcp-Param-Region", literal)
            .answer()
            .await
            .result();
    }
}

#[tokio::test]
async fn an_argument_that_is_not_there_needs_no_header() {
    let server = Server::start(Options::probe()).await;
    call(&server, json!({})).answer().await.result();
    // And a header that nobody knows is nobody's business.
    call(&server, json!({}))
        .header("Mcp-Param-Other", "x")
        .answer()
        .await
        .result();
    call(&server, json!({}))
        .header("Mcp-Param-Region", "x")
        .answer()
        .await
        .result();
}

#[tokio::test]
async fn text_beyond_ascii_is_encoded() {
    let server = Server::start(Options::probe()).await;
    let call = call(&server, json!({"region": "é"}));
    call.clone()
        .header("Mcp-Param-Region", "=?base64?w6k=?=")
        .answer()
        .await
        .result();
    call.header("Mcp-Param-Region", "é".as_bytes())
        .answer()
        .await
        .error(400, -32020);
}

// The header is looked at before the arguments are checked against the schema, which needs them
// whole, but after their form is.
#[tokio::test]
async fn the_header_comes_after_the_form_and_before_the_schema() {
    let server = Server::start(Options::probe()).await;
    call(&server, json!({"region": "x", "extra": 1}))
        .answer()
        .await
        .error(400, -32020);
    let call = server
        .client()
        .request("tools/call", json!({"name": "header", "arguments": [1]}));
    call.answer().await.error(200, -32602);
}
