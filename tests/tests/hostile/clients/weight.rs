//! Small requests that weigh much: what a body takes in memory, and how long an answer to a fault is.

use std::pin::pin;
use std::time::{Duration, Instant};

use cofferdam_tests::{Arena, Call, Client, Declares, Memory, Terms};
use serde_json::json;
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use super::{Wire, terms};

/// The largest body, bytes (`server.max-body-bytes`).
const BODY: usize = 4 << 20;
/// MiB that a body may take while it is read: 16 times its size.
const MOST: u64 = 64;

/// A value of many small ones, as long as `piece` can be repeated in a body.
fn many(piece: &str) -> String {
    let count = (BODY - 2_000) / (piece.len() + 1);
    let pieces = format!("{piece},").repeat(count - 1);
    format!("[{pieces}{piece}]")
}

/// The call's message with this value in its place.
fn place(call: &Call, value: &str) -> String {
    call.message().to_string().replace("\"here\"", value)
}

/// Where a caller may put a large value.
fn places(client: &Client) -> [(&'static str, Call); 6] {
    [
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
    ]
}

// Each on a server of its own: what the allocator still keeps of one body is no weight of the next.
#[tokio::test]
async fn a_body_of_many_small_values_weighs_little() {
    for at in 0..6 {
        let arena = Arena::start(Terms {
            elsewhere: 256 << 20,
            ..terms()
        })
        .await;
        let client = arena.mallory(Declares::Everything);
        let (what, call) = places(&client)[at].clone();
        let body = place(&call, &many(r#"{"a":{}}"#));
        let before = Memory::of(arena.server().pid()).now;
        let attack = weigh(&arena, before, vec![(call, body)]);
        let name = format!("many small values in {what}");
        let grew = arena.under(&name, attack).await;
        assert!(grew <= MOST, "{what}: a body of 4 MiB took {grew} MiB");
    }
}

// Reading a body is work of the server's own, which no share of a tenant bounds: it must be little, or
// must give way.
#[tokio::test]
async fn heavy_bodies_at_once_weigh_little() {
    const AT_ONCE: usize = 4;
    let arena = Arena::start(terms()).await;
    let client = arena.mallory(Declares::Everything);
    let call = client
        .request("server/discover", json!({}))
        .meta("clientCapabilities", json!({"x": "here"}));
    let body = place(&call, &many("[]"));
    let neighbour = arena.neighbour(Declares::Nothing);
    let attack = async {
        let before = Memory::of(arena.server().pid()).now;
        let mut most = 0;
        let mut longest = Duration::ZERO;
        for _ in 0..3 {
            let bodies = vec![(call.clone(), body.clone()); AT_ONCE];
            let mut weigh = pin!(weigh(&arena, before, bodies));
            // How long the neighbour waits for one call meanwhile: its p99 does not show a few long ones.
            let grew = loop {
                let started = Instant::now();
                let call = neighbour.result("neighbour.echo", json!({"text": "x"}));
                let mut call = pin!(call);
                tokio::select! {
                    grew = &mut weigh => {
                        call.await;
                        longest = longest.max(started.elapsed());
                        break grew;
                    }
                    _ = &mut call => longest = longest.max(started.elapsed()),
                }
            };
            most = most.max(grew);
        }
        println!("the longest call of the neighbour's took {longest:?}");
        most
    };
    let most = arena.under("heavy bodies at once", attack).await;
    assert!(
        most <= MOST * AT_ONCE as u64,
        "{AT_ONCE} bodies of 4 MiB took {most} MiB"
    );
}

/// Sends all of these at once, and gives by how many MiB more than `before` the server grew.
async fn weigh(arena: &Arena, before: u64, bodies: Vec<(Call, String)>) -> u64 {
    let pid = arena.server().pid();
    Memory::forget_peak(pid);
    let started = Instant::now();
    let mut sent = JoinSet::new();
    for (call, body) in bodies {
        sent.spawn(async move { call.send_body(body).await.status });
    }
    while let Some(status) = sent.join_next().await {
        let status = status.expect("each is answered");
        assert!(matches!(status, 200 | 400 | 413), "status {status}");
    }
    println!("answered after {:?}", started.elapsed());
    Memory::of(pid).peak.saturating_sub(before) >> 20
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
