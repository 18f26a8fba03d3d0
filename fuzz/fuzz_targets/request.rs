//! A POST to the server: lines `Name: value`, an empty line, and the body. A value `*` of one of the
//! headers that repeat the body is what the body says, `*` as `Mcp-Session-Id` a session of an earlier
//! revision, and `$STATE` in the body a request state that the server gave for the tool `asks` without
//! arguments.
//!
//! Whatever comes, the answer is one JSON-RPC message with the request's id or none and a documented
//! status, everything streamed before it is JSON-RPC (a request only in a session), and `-32603` is told
//! for limits only, or when the server stops.

#![no_main]

use bytes::Bytes;
use cofferdam_fuzz::world::World;
use hyper::HeaderMap;
use hyper::header::{HeaderName, HeaderValue};
use libfuzzer_sys::{Corpus, fuzz_target};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use std::sync::LazyLock;

static WORLD: LazyLock<World> = LazyLock::new(World::new);

/// A request state of a call that has asked its client.
static STATE: LazyLock<String> = LazyLock::new(|| {
    let asks = br#"Mcp-Method: tools/call
Mcp-Name: asks
MCP-Protocol-Version: 2026-07-28

{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"asks","arguments":{},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{},"roots":{}}}}}"#;
    let (headers, body) = message(asks, "").expect("it is a message");
    let answered = WORLD.answer(headers, body.into(), true, false);
    let body = answered.response.body.expect("a request is answered");
    let body: Value = serde_json::from_slice(&body).expect("an answer is JSON");
    let state = body["result"]["requestState"].as_str();
    state
        .unwrap_or_else(|| panic!("a question: {body}"))
        .to_owned()
});

/// A session that can be asked everything.
static SESSION: LazyLock<String> = LazyLock::new(|| {
    let begin = br#"X: x

{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{"form":{},"url":{}},"roots":{},"sampling":{"tools":{}}}}}"#;
    let (headers, body) = message(begin, "").expect("it is a message");
    let answered = WORLD.answer(headers, body.into(), true, false);
    answered.response.session.expect("a session begins")
});

#[derive(Deserialize)]
struct Request<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    method: Option<String>,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Message<'a> {
    jsonrpc: String,
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    method: Option<String>,
    params: Option<Value>,
    result: Option<Value>,
    error: Option<Error>,
}

#[derive(Debug, Deserialize)]
struct Error {
    code: i32,
    message: String,
}

fuzz_target!(init: setup(), |data: &[u8]| -> Corpus {
    let Some((headers, body)) = message(data, &STATE) else {
        return Corpus::Reject;
    };
    let request: Option<Request<'_>> = serde_json::from_slice(&body).ok();
    let method = request
        .as_ref()
        .and_then(|request| request.method.as_deref());
    let streams = headers
        .get("accept")
        .is_none_or(|accept| accept != "application/json");
    let in_session = headers.contains_key("mcp-session-id");
    let is_earlier = in_session
        || method == Some("initialize")
        || headers.get("mcp-protocol-version").is_some_and(|it| it.as_bytes().starts_with(b"2025-"));
    // What waits for its client is told that the server stops.
    let listens = is_earlier || method == Some("subscriptions/listen");
    let answered = WORLD.answer(headers, Bytes::copy_from_slice(&body), streams, listens);

    for event in &answered.events {
        let event = read(event);
        assert!(
            event.method.is_some() && event.params.is_some(),
            "{event:?}"
        );
        assert!(event.id.is_none() || in_session, "{event:?}");
        assert!(event.result.is_none() && event.error.is_none());
    }
    let status = answered.response.status;
    let Some(body) = &answered.response.body else {
        assert_eq!(status, 202, "only what is accepted has no body");
        return Corpus::Keep;
    };
    let answer = read(body);
    assert!(
        answer.method.is_none() && answer.params.is_none(),
        "{answer:?}"
    );
    if let Some(id) = answer.id {
        let asked = request.and_then(|request| request.id).map(RawValue::get);
        assert_eq!(asked, Some(id.get()), "an answer has the request's id");
    }
    match (answer.result, answer.error) {
        (Some(_), None) => assert!(status == 200 && answer.id.is_some(), "{status}"),
        (None, Some(Error { code, message })) => {
            let expected: &[u16] = match code {
                -32700 | -32020 | -32021 | -32022 => &[400],
                -32600 => &[400, 406],
                -32601 => &[404],
                -32602 => &[400, 200],
                -32603 => &[200],
                _ => &[],
            };
            let expected = if is_earlier { &[200, 400, 404, 406] } else { expected };
            assert!(
                expected.contains(&status),
                "{code} with {status}: {message}"
            );
            let told = ["limit", "The server stops", "text/event-stream"];
            let internal = code == -32603 && !told.iter().any(|part| message.contains(part));
            assert!(!internal, "-32603: {message}");
        }
        both => panic!("a result or an error: {both:?}"),
    }
    Corpus::Keep
});

/// What the first input would else be taken to have reached.
fn setup() {
    LazyLock::force(&STATE);
    LazyLock::force(&SESSION);
}

fn read(text: &[u8]) -> Message<'_> {
    let message: Message<'_> = serde_json::from_slice(text)
        .unwrap_or_else(|error| panic!("no JSON-RPC: {error}: {}", String::from_utf8_lossy(text)));
    assert_eq!(message.jsonrpc, "2.0");
    message
}

/// Headers and body.
fn message(data: &[u8], state: &str) -> Option<(HeaderMap, Vec<u8>)> {
    let end = data.windows(2).position(|pair| pair == b"\n\n")?;
    let body = replace(&data[end + 2..], b"$STATE", state.as_bytes());
    let request: Option<Request<'_>> = serde_json::from_slice(&body).ok();
    let params = request.as_ref().and_then(|request| request.params);
    let params: Option<Value> = params.and_then(|it| serde_json::from_str(it.get()).ok());
    let said = |header: &str| -> Option<String> {
        let (request, params) = (request.as_ref()?, params.as_ref());
        match header {
            "mcp-method" => request.method.clone(),
            "mcp-name" => {
                let params = params?;
                let name = params.get("name").or_else(|| params.get("taskId"))?;
                name.as_str().map(ToOwned::to_owned)
            }
            "mcp-protocol-version" => {
                let version = &params?["_meta"]["io.modelcontextprotocol/protocolVersion"];
                version.as_str().map(ToOwned::to_owned)
            }
            "mcp-param-number" => Some(params?["arguments"]["number"].to_string()),
            _ => None,
        }
    };
    let mut headers = HeaderMap::new();
    for line in data[..end].split(|byte| *byte == b'\n').take(32) {
        let colon = line.iter().position(|byte| *byte == b':')?;
        let name = HeaderName::from_bytes(&line[..colon]).ok()?;
        let value = line[colon + 1..].trim_ascii();
        let value = match value {
            b"*" if name == "mcp-session-id" => Some(SESSION.clone().into_bytes()),
            b"*" => said(name.as_str()).map(String::into_bytes),
            _ => Some(value.to_vec()),
        };
        // What the body does not say cannot be repeated.
        if let Some(value) = value {
            headers.append(name, HeaderValue::from_bytes(&value).ok()?);
        }
    }
    Some((headers, body))
}

fn replace(text: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    match text.windows(from.len()).position(|part| part == from) {
        Some(at) => [&text[..at], to, &text[at + from.len()..]].concat(),
        None => text.to_vec(),
    }
}
