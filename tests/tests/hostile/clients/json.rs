//! JSON that is no request: too deep, twice the same key, numbers and texts that cannot be, bodies that
//! are no text.

use cofferdam_tests::{Arena, Call, Client, Declares, Kind, META, check};
use serde_json::{Value, json};

use super::terms;

/// One body: what it is, its text, the status and the code that must come, and a part of the words.
type Case = (&'static str, Vec<u8>, u16, i64, &'static str);

pub(super) fn discover(client: &Client) -> Call {
    client.request("server/discover", json!({})).id(json!(1))
}

fn echo(client: &Client) -> Call {
    let call = client.tool("hostile.echo", json!({"text": "A"}));
    call.id(json!(1))
}

/// Sends each body under the head of `call`; tells of all that were not answered so.
async fn send_all(call: &Call, cases: Vec<Case>) {
    let mut wrong = Vec::new();
    for (what, body, status, code, words) in cases {
        let response = call.clone().send_body(body).await;
        let (came, bytes) = (response.status, response.bytes().await);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let Ok(message) = serde_json::from_slice::<Value>(&bytes) else {
            wrong.push(format!("{what}: {came}, and nobody can read {text:.300}"));
            continue;
        };
        check(Kind::Response, &message);
        let error = &message["error"];
        let said = error["message"].as_str().unwrap_or_default();
        // A refusal before the id, or of the id itself, cannot have it.
        let named = message.get("id").is_none_or(|id| id == 1);
        if (came, error["code"].as_i64()) != (status, Some(code)) || !said.contains(words) || !named
        {
            wrong.push(format!(
                "{what}: wanted {status} {code} {words:?}, but {came}: {text:.300}"
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The message with a part replaced, which must be there.
pub(super) fn with(call: &Call, from: &str, to: &str) -> Vec<u8> {
    let text = call.message().to_string();
    assert!(text.contains(from), "{from} is not in {text}");
    text.replacen(from, to, 1).into_bytes()
}

#[tokio::test]
async fn json_that_nests_deeply_is_refused_before_it_is_read() {
    let arena = Arena::start(terms()).await;
    let client = arena.mallory(Declares::Nothing);
    let (plain, call) = (discover(&client), echo(&client));
    let deeper = "deeper than 64 levels";
    let attack = async {
        for levels in [65, 100, 10_000, 1_000_000] {
            let arrays = "[".repeat(levels) + &"]".repeat(levels);
            let objects =
                r#"{"a":"#.repeat(levels.min(600_000)) + "1" + &"}".repeat(levels.min(600_000));
            let mut cases = Vec::new();
            for nested in [&arrays, &objects, &arrays[..levels].to_owned()] {
                cases.push(("alone", nested.clone().into_bytes(), 400, -32700, deeper));
                let member = format!("\"id\":1,\"x\":{nested}");
                cases.push((
                    "a member",
                    with(&plain, "\"id\":1", &member),
                    400,
                    -32700,
                    deeper,
                ));
                let meta = format!("{META}clientCapabilities\":{{\"x\":{nested}}}");
                let place = format!("{META}clientCapabilities\":{{}}");
                cases.push((
                    "a capability",
                    with(&plain, &place, &meta),
                    400,
                    -32700,
                    deeper,
                ));
            }
            send_all(&plain, cases).await;
            let body = with(&call, "\"A\"", &arrays);
            send_all(&call, vec![("an argument", body, 400, -32700, deeper)]).await;
        }
    };
    arena.under("deep JSON", attack).await;
}

#[tokio::test]
async fn a_key_that_is_there_twice_is_refused_wherever_it_is_read() {
    let arena = Arena::start(terms()).await;
    let client = arena.mallory(Declares::Nothing);
    let (plain, call) = (discover(&client), echo(&client));
    let again = |call: &Call, key: &str, value: &str| {
        with(
            call,
            &format!("\"{key}\":"),
            &format!("\"{key}\":{value},\"{key}\":"),
        )
    };
    let attack = async {
        let version = format!("{META}protocolVersion");
        let info = format!("{META}clientInfo");
        let capabilities = format!("{META}clientCapabilities");
        let cases = vec![
            (
                "jsonrpc",
                again(&plain, "jsonrpc", "\"2.0\""),
                400,
                -32600,
                "jsonrpc",
            ),
            ("id", again(&plain, "id", "1"), 400, -32600, "id"),
            (
                "an escaped id",
                with(&plain, "\"id\":1", r#""id":1,"\u0069d":1"#),
                400,
                -32600,
                "id",
            ),
            (
                "method",
                again(&plain, "method", "\"x\""),
                400,
                -32600,
                "method",
            ),
            (
                "params",
                again(&plain, "params", "{}"),
                400,
                -32600,
                "params",
            ),
            ("_meta", again(&plain, "_meta", "{}"), 400, -32602, "_meta"),
            (
                "version",
                again(&plain, &version, "\"x\""),
                400,
                -32602,
                "protocolVersion",
            ),
            (
                "info",
                again(&plain, &info, "{}"),
                400,
                -32602,
                "clientInfo",
            ),
            (
                "capabilities",
                again(&plain, &capabilities, "{}"),
                400,
                -32602,
                "clientCapabilities",
            ),
            (
                "progressToken",
                with(
                    &plain,
                    "\"_meta\":{",
                    r#""_meta":{"progressToken":1,"progressToken":1,"#,
                ),
                400,
                -32602,
                "progressToken",
            ),
        ];
        send_all(&plain, cases).await;
        let cases = vec![
            (
                "name",
                again(&call, "name", "\"hostile.add\""),
                400,
                -32602,
                "name",
            ),
            (
                "arguments",
                again(&call, "arguments", "{}"),
                400,
                -32602,
                "arguments",
            ),
        ];
        send_all(&call, cases).await;
    };
    arena.under("keys that are there twice", attack).await;
}

// What is checked against the schema and the headers is one reading of the arguments; the tool must
// not get another. Each is refused as a wrong argument, before a guest sees it.
#[tokio::test]
async fn an_argument_that_is_there_twice_reaches_no_tool() {
    let arena = Arena::start(terms()).await;
    let client = arena.mallory(Declares::Nothing);
    let strict = client.tool("hostile.strict", json!({"word": "abc", "number": 5}));
    let header = client
        .tool("hostile.header", json!({"region": "eu"}))
        .header("Mcp-Param-Region", "eu");
    let nested = client.tool("hostile.structured", json!({"value": {"a": 1}}));
    let attack = async {
        for (call, from, to) in [
            (strict, "\"number\":5", r#""number":5000,"number":5"#),
            (
                header,
                "\"region\":\"eu\"",
                r#""region":"us","region":"eu""#,
            ),
            (nested, "\"a\":1", r#""a":2,"a":1"#),
        ] {
            let body = with(&call, from, to);
            let message = call.send_body(body).await.json().await;
            check(Kind::Response, &message);
            let code = &message["error"]["code"];
            let words = message["error"]["message"].as_str().unwrap_or_default();
            assert!(
                code == -32602 && words.contains("duplicate"),
                "{to}: {message}"
            );
        }
    };
    arena.under("arguments that are there twice", attack).await;
}

#[tokio::test]
async fn bodies_that_are_no_json_text_are_parse_errors() {
    let arena = Arena::start(terms()).await;
    let client = arena.mallory(Declares::Nothing);
    let plain = discover(&client);
    let text = plain.message().to_string();
    let bytes = |from: &str, to: &[u8]| {
        let place = text.find(from).expect("it is there");
        [
            &text.as_bytes()[..place],
            to,
            &text.as_bytes()[place + from.len()..],
        ]
        .concat()
    };
    let attack = async {
        let mut cases: Vec<Case> = Vec::new();
        for wrong in [
            &b"\xff"[..],
            b"\xc0\x80",
            b"\xed\xa0\x80",
            b"\xf4\x90\x80\x80",
            b"\xe2\x82",
        ] {
            cases.push((
                "not UTF-8",
                bytes("cofferdam-tests", wrong),
                400,
                -32700,
                "not UTF-8",
            ));
        }
        let utf16: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let marked = [b"\xef\xbb\xbf", text.as_bytes()].concat();
        for (what, body) in [
            ("a mark of the byte order", marked),
            ("UTF-16", utf16),
            ("a NUL before", bytes("{\"jsonrpc", b"\0{\"jsonrpc")),
            ("a NUL between", bytes("\"id\"", b"\0\"id\"")),
            ("a NUL in a text", bytes("cofferdam-tests", b"\0")),
            ("a NUL behind", format!("{text}\0").into_bytes()),
            ("a space of Unicode", format!("\u{a0}{text}").into_bytes()),
            ("nothing", Vec::new()),
            ("spaces", vec![b' '; 1 << 20]),
            ("two messages", format!("{text}{text}").into_bytes()),
            ("two lines", format!("{text}\n{text}").into_bytes()),
            ("half a message", text.as_bytes()[..text.len() / 2].to_vec()),
            ("a number that is none", bytes("\"id\":1", b"\"id\":01")),
            ("a plus sign", bytes("\"id\":1", b"\"id\":+1")),
            ("NaN", bytes("\"id\":1", b"\"id\":NaN")),
            ("a comma at the end", bytes("\"id\":1,", b"\"id\":1,,")),
            ("a comment", bytes("\"id\":1", b"/* */\"id\":1")),
            ("no escape", bytes("cofferdam-tests", br"\x41")),
            ("half an escape", bytes("cofferdam-tests", br"\u00")),
        ] {
            cases.push((what, body, 400, -32700, "Parse error"));
        }
        send_all(&plain, cases).await;
    };
    arena.under("no JSON", attack).await;
}

#[tokio::test]
async fn what_is_no_single_request_is_refused_whatever_it_holds() {
    let arena = Arena::start(terms()).await;
    let client = arena.mallory(Declares::Nothing);
    let plain = discover(&client);
    let text = plain.message().to_string();
    let attack = async {
        let mut cases: Vec<Case> = Vec::new();
        let many = format!("[{}{text}]", format!("{text},").repeat(10_000));
        for body in [
            "[]",
            "[[]]",
            "[1,2]",
            "null",
            "true",
            "5",
            "1e400",
            "\"x\"",
            &format!("[{text}]"),
            &many,
        ] {
            cases.push(("no object", body.into(), 400, -32600, "one JSON-RPC object"));
        }
        for id in [
            "null",
            "true",
            "1.5",
            "1.0",
            "1e2",
            "1e400",
            "[]",
            "[1]",
            "{}",
            "{\"id\":1}",
        ] {
            let body = with(&plain, "\"id\":1", &format!("\"id\":{id}"));
            cases.push((
                "an id that is none",
                body,
                400,
                -32600,
                "id must be a string or an integer",
            ));
        }
        send_all(&plain, cases).await;
    };
    arena.under("no single request", attack).await;
}

// An escape of half a pair is no text in any language that knows Unicode: who is sent it back cannot
// read it.
#[tokio::test]
async fn half_a_surrogate_pair_is_no_text() {
    let arena = Arena::start(terms()).await;
    let client = arena.mallory(Declares::Nothing);
    let (plain, call) = (discover(&client), echo(&client));
    let progress = client
        .tool("hostile.progress", json!({"steps": 2}))
        .id(json!(1))
        .meta("progressToken", json!("here"));
    let attack = async {
        let half = r#""\ud800""#;
        let cases = vec![
            (
                "id",
                with(&plain, "\"id\":1", &format!("\"id\":{half}")),
                400,
                -32600,
                "id",
            ),
            (
                "method",
                with(&plain, "\"server/discover\"", half),
                400,
                -32600,
                "method",
            ),
        ];
        send_all(&plain, cases).await;
        let cases = vec![(
            "token",
            with(&progress, "\"here\"", half),
            400,
            -32602,
            "progressToken",
        )];
        send_all(&progress, cases).await;
        let cases = vec![(
            "name",
            with(&call, "\"hostile.echo\"", half),
            200,
            -32602,
            "name",
        )];
        send_all(&call, cases).await;
    };
    arena.under("half surrogates", attack).await;
}

// It is an object; what is wrong is within.
#[tokio::test]
async fn a_value_that_cannot_be_read_is_named_as_such() {
    let arena = Arena::start(terms()).await;
    let client = arena.mallory(Declares::Nothing);
    let (plain, call) = (discover(&client), echo(&client));
    let attack = async {
        let place = format!("{META}clientCapabilities\":{{");
        let capabilities = with(&plain, &place, &format!("{place}\"x\":1e400"));
        send_all(
            &plain,
            vec![("a capability", capabilities, 400, -32602, "out of range")],
        )
        .await;
        let cases = vec![
            (
                "a number",
                with(&call, "\"A\"", "1e400"),
                200,
                -32602,
                "out of range",
            ),
            (
                "digits",
                with(&call, "\"A\"", &"9".repeat(100_000)),
                200,
                -32602,
                "out of range",
            ),
            (
                "half a pair",
                with(&call, "\"A\"", r#""\udc00""#),
                200,
                -32602,
                "escape",
            ),
        ];
        send_all(&call, cases).await;
    };
    arena.under("values beyond reading", attack).await;
}
