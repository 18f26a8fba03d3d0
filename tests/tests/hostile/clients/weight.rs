//! Small requests that weigh much: what a body takes in memory, and how long an answer to a fault is.

use std::time::Instant;

use cofferdam_tests::{Arena, Call, Declares, Memory, Terms};
use serde_json::json;
use tokio::net::TcpStream;

use super::{Wire, terms};

/// The largest body, bytes (`server.max-body-bytes`).
const BODY: usize = 4 << 20;
/// How many times its size a body may take while it is read. Some copies are in order.
const TIMES: u64 = 16;

/// A value of many small ones, as long as `piece` can be repeated in a body.
fn many(piece: &str) -> String {
    let count = (BODY - 2_000) / (piece.len() + 1);
    let pieces = format!("{piece},").repeat(count - 1);
    format!("[{pieces}{piece}]")
}

#[tokio::test]
async fn a_body_of_many_small_values_weighs_little() {
    let arena = Arena::start(Terms {
        elsewhere: 256 << 20,
        ..terms()
    })
    .await;
    let client = arena.mallory(Declares::Everything);
    let place = |call: &Call, value: &str| call.message().to_string().replace("\"here\"", value);
    let calls = [
        (
            "a capability",
            client
                .request("server/discover", json!({}))
                .meta("clientCapabilities", json!({"x": "here"})),
        ),
        (
            "clientInfo",
            client.request("server/discover", json!({})).meta(
                "clientInfo",
                json!({"name": "x", "version": "0", "x": "here"}),
            ),
        ),
        (
            "an argument",
            client.tool("hostile.echo", json!({"text": "here"})),
        ),
        (
            "answers",
            client
                .tool("hostile.echo", json!({"text": "x"}))
                .param("inputResponses", json!({"x": "here"})),
        ),
        (
            "a filter",
            client.request(
                "subscriptions/listen",
                json!({"notifications": {"taskIds": "here"}}),
            ),
        ),
        (
            "what nobody knows",
            client.request("server/discover", json!({"x": "here"})),
        ),
    ];
    let pid = arena.server().pid();
    let attack = async {
        let before = Memory::of(pid).now;
        let mut wrong = Vec::new();
        for (what, call) in &calls {
            // Of all forms the dearest.
            for piece in [r#"{"a":{}}"#, "[]"] {
                let body = place(call, &many(piece));
                let size = body.len();
                Memory::forget_peak(pid);
                let started = Instant::now();
                let response = call.clone().send_body(body).await;
                let (status, took) = (response.status, started.elapsed());
                drop(response);
                let grew = Memory::of(pid).peak.saturating_sub(before);
                println!(
                    "{what} of {piece}: {size} bytes, {status} after {took:?}, {} MiB more than at first",
                    grew >> 20
                );
                if grew > BODY as u64 * TIMES {
                    wrong.push(format!("{what} of {piece}: {} MiB", grew >> 20));
                }
            }
        }
        assert!(
            wrong.is_empty(),
            "a body of 4 MiB took {}",
            wrong.join(", ")
        );
    };
    arena.under("many small values", attack).await;
}

#[tokio::test]
async fn a_fault_in_a_long_text_is_told_shortly() {
    let arena = Arena::start(terms()).await;
    let client = arena.mallory(Declares::Tasks);
    let long = "x".repeat(3 << 20);
    let strict = |arguments| client.tool("hostile.strict", arguments);
    let task = json!({"taskId": long});
    let attack = async {
        for (what, call) in [
            (
                "a wrong type",
                strict(json!({"word": "abc", "number": long})),
            ),
            ("a long word", strict(json!({"word": long, "number": 5}))),
            (
                "a long key",
                strict(json!({"word": "abc", "number": 5, "key": {long.clone(): 1}})),
            ),
            (
                "an unknown key",
                strict(json!({"word": "abc", "number": 5, long.clone(): 1})),
            ),
            (
                "a list",
                strict(json!({"word": "abc", "number": 5, "list": vec!["x"; 700_000]})),
            ),
            (
                "a cursor",
                client.request("tools/list", json!({"cursor": long})),
            ),
            (
                "a level",
                client
                    .request("server/discover", json!({}))
                    .meta("logLevel", json!(long)),
            ),
            (
                "a version",
                client
                    .request("server/discover", json!({}))
                    .meta("protocolVersion", json!(long)),
            ),
            ("a tool", client.tool(&long, json!({})).without("Mcp-Name")),
            (
                "a task",
                client.request("tasks/get", task).without("Mcp-Name"),
            ),
            (
                "a state",
                client
                    .tool("hostile.ask", json!({"keys": ["k"]}))
                    .param("requestState", json!(long)),
            ),
            (
                "a method",
                client
                    .request("server/discover", json!({}))
                    .edit(|message| message["method"] = json!(long)),
            ),
        ] {
            let pid = arena.server().pid();
            Memory::forget_peak(pid);
            let started = Instant::now();
            let response = call.send().await;
            let status = response.status;
            let length = response.bytes().await.len();
            let peak = Memory::of(pid).peak >> 20;
            println!("{what}: {:?}, peak {peak} MiB", started.elapsed());
            assert!(length < 8_192, "{what}: status {status}, {length} bytes");
        }
    };
    arena.under("faults in long texts", attack).await;
}

// Bodies that are on their way are there, but not more than once.
#[tokio::test]
async fn bodies_short_of_a_byte_weigh_what_has_come() {
    const CONNECTIONS: u64 = 48;
    let arena = Arena::start(Terms {
        elsewhere: CONNECTIONS * BODY as u64 * 2,
        ..terms()
    })
    .await;
    let wire = Wire::of(&arena);
    let pid = arena.server().pid();
    let head = wire.head("server/discover");
    let request = format!(
        "{head}Content-Length: {BODY}\r\n\r\n{}",
        " ".repeat(BODY - 1)
    );
    let attack = async {
        let before = Memory::of(pid).now;
        let mut streams: Vec<TcpStream> = Vec::new();
        for _ in 0..CONNECTIONS {
            streams.push(wire.open(request.as_bytes()).await);
        }
        let grew = Memory::of(pid).peak.saturating_sub(before);
        println!("{CONNECTIONS} bodies of 4 MiB: {} MiB more", grew >> 20);
        assert!(grew <= CONNECTIONS * BODY as u64 * 2, "{} MiB", grew >> 20);
    };
    arena.under("bodies short of a byte", attack).await;
}
