//! Streams and connections by the hundreds: at their limits, idle, and never read.

use std::time::Duration;

use cofferdam_tests::{Arena, Client, Declares, Memory, Task, Terms, patient};
use rustix::process::{Pid, Resource, Rlimit, getrlimit, prlimit};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::{Wire, first_answer, terms};

/// Open `subscriptions/listen` streams in these tests (`server.max-listens`).
const LISTENS: usize = 300;
/// Open connections (`server.max-connections`).
const CONNECTIONS: usize = 200;
/// How long something must not come before it is believed not to come.
const QUIET: Duration = Duration::from_millis(300);

fn tools_changed() -> Value {
    json!({"toolsListChanged": true})
}

async fn refused(client: &Client) -> String {
    let call = client.request(
        "subscriptions/listen",
        json!({"notifications": tools_changed()}),
    );
    call.answer().await.message(200, -32603).to_owned()
}

#[tokio::test]
async fn streams_over_the_limit_are_refused_and_their_places_come_back() {
    let arena = Arena::start(terms().set("server.max-listens", 2 * LISTENS)).await;
    let client = arena.mallory(Declares::TasksAndForms);
    let attack = async {
        let task = client.task("hostile.ask", json!({"keys": ["k"]})).await;
        task.until("input_required").await;
        let mut open = Vec::new();
        for _ in 1..LISTENS {
            open.push(client.listen(tools_changed()).await);
        }
        let mut last = client.listen_to(&[&task]).await;
        for _ in 0..200 {
            let message = refused(&client).await;
            let limit = format!("{LISTENS} (tenants.mallory.max-listens)");
            assert!(message.contains(&limit), "{message}");
        }
        // Those that are open go on.
        task.cancel().await;
        last.until("cancelled").await;
        last.rest().await;
        // The place of one that ended, and of those that are left, are there again.
        open.push(client.listen(tools_changed()).await);
        open.truncate(LISTENS / 2);
        let mut more = Vec::new();
        let again = async {
            while open.len() + more.len() < LISTENS {
                let filter = json!({"notifications": tools_changed()});
                let response = client.request("subscriptions/listen", filter).send().await;
                if response.header("content-type") == "text/event-stream" {
                    more.push(response);
                }
            }
        };
        patient("the places of streams that were left", again).await;
    };
    arena.under("idle streams", attack).await;
}

#[tokio::test]
async fn connections_over_the_limit_wait_and_those_within_it_are_served() {
    let arena = Arena::start(terms().set("server.max-connections", CONNECTIONS)).await;
    let wire = Wire::of(&arena);
    let client = arena.mallory(Declares::Nothing);
    let request = wire.request(&client.request("server/discover", json!({})));
    let attack = async {
        // The neighbour has one of them.
        let mut served = Vec::new();
        for _ in 1..CONNECTIONS {
            let mut stream = wire.open(request.as_bytes()).await;
            let told = first_answer(&mut stream).await;
            assert_eq!(told.status, 200, "{told:?}");
            served.push(stream);
        }
        let mut waiting = Vec::new();
        for _ in 0..100 {
            waiting.push(wire.open(request.as_bytes()).await);
        }
        let mut byte = [0];
        let early = tokio::time::timeout(QUIET, waiting[0].read(&mut byte)).await;
        assert!(early.is_err(), "served over the limit: {early:?}");
        // The neighbour is among those within the limit: what it saw is looked at below.
        // One that leaves makes room for one, the first.
        served.pop();
        assert_eq!(first_answer(&mut waiting[0]).await.status, 200);
        let early = tokio::time::timeout(QUIET, waiting[1].read(&mut byte)).await;
        assert!(early.is_err(), "served over the limit: {early:?}");
        // And all are served in the end.
        served.clear();
        for mut stream in waiting.into_iter().skip(1) {
            let told = patient(
                "the turn of a connection that waits",
                first_answer(&mut stream),
            );
            assert_eq!(told.await.status, 200);
        }
    };
    arena.under("idle connections", attack).await;
}

// The operating system's limit is less than the server's own: what is open goes on, and when files can
// be opened again, others come in.
#[tokio::test]
async fn a_server_that_can_open_no_more_files_serves_on() {
    const LEFT: usize = 30;
    let arena = Arena::start(terms()).await;
    let wire = Wire::of(&arena);
    let client = arena.mallory(Declares::Tasks);
    let request = wire.request(&client.request("server/discover", json!({})));
    let call = wire.request(&client.tool("hostile.finish", json!({})));
    let pid = arena.server().pid();
    let attack = async {
        let mut first = wire.open(request.as_bytes()).await;
        first_answer(&mut first).await;
        let open = std::fs::read_dir(format!("/proc/{pid}/fd")).expect("the server runs");
        let before = limit_files(pid, Some((open.count() + LEFT) as u64));
        let mut streams = Vec::new();
        for _ in 0..3 * LEFT {
            streams.push(wire.open(request.as_bytes()).await);
        }
        let log = arena.server().log();
        log.line(&["could not accept a connection"]).await;
        // A call that becomes a task, and so is stored.
        for _ in 0..5 {
            let written = first.write_all(call.as_bytes()).await;
            written.expect("it is open");
            let told = first_answer(&mut first).await;
            assert_eq!(told.status, 200, "{told:?}");
            assert!(told.body.contains("\"taskId\""), "{told:?}");
        }
        // The neighbour's connection is open, too. Now the others leave, without a look at the answer.
        streams.clear();
        assert_eq!(client.call("hostile.count", json!({})).await.status, 200);
        limit_files(pid, before);
    };
    arena.under("no more files", attack).await;
}

/// Sets how many files a process may have open, and gives how many it might have before.
fn limit_files(pid: u32, most: Option<u64>) -> Option<u64> {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    let limit = Rlimit {
        current: most,
        // As it is: the server has it from the tests.
        ..getrlimit(Resource::Nofile)
    };
    let before = prlimit(pid, Resource::Nofile, limit);
    before.expect("the server runs").current
}

#[tokio::test]
async fn streams_that_nobody_reads_hold_a_bounded_backlog() {
    const STREAMS: usize = 100;
    let arena = Arena::start(terms().set("server.keep-alive-ms", 1_000)).await;
    let wire = Wire::of(&arena);
    let client = arena.mallory(Declares::Tasks);
    let attack = async {
        let pid = arena.server().pid();
        let before = Memory::of(pid).now;
        let task = client
            .task("hostile.steps", json!({"number": 100, "pause": 20}))
            .await;
        let listen = client.request(
            "subscriptions/listen",
            json!({"notifications": {"taskIds": [task.id()]}}),
        );
        let mut unread = Vec::new();
        for _ in 0..STREAMS {
            unread.push(wire.reluctant(&wire.request(&listen)).await);
        }
        // As many notifications as a call can send, each with a long token, to one who does not read.
        let long = "x".repeat(512 << 10);
        let progress = client
            .tool("hostile.progress", json!({"steps": 2_000, "delay_ms": 20}))
            .meta("progressToken", json!(long));
        for _ in 0..3 {
            unread.push(wire.reluctant(&wire.request(&progress)).await);
        }
        let ended = task.end().await;
        assert_eq!(ended["status"], "completed", "{ended}");
        let grew = Memory::of(pid).peak.saturating_sub(before);
        println!("{} unread streams: {} MiB more", unread.len(), grew >> 20);
        // Who reads at last is told how it ended.
        let mut text = Vec::new();
        let mut first = unread.swap_remove(0);
        let told = async {
            while read_more(&mut first, &mut text).await {
                if String::from_utf8_lossy(&text).contains("\"completed\"") {
                    return;
                }
            }
            panic!("the stream ended without the task's end");
        };
        patient("the end of the task on an unread stream", told).await;
        assert!(grew < 160 << 20, "{} MiB", grew >> 20);
    };
    arena.under("unread streams", attack).await;
}

async fn read_more(stream: &mut TcpStream, text: &mut Vec<u8>) -> bool {
    stream.read_buf(text).await.is_ok_and(|read| read > 0)
}

// Every message of a stream carries its request's id: what is bounded in number must be in bytes.
#[tokio::test]
async fn notifications_that_nobody_reads_are_bounded_in_bytes() {
    const STREAMS: usize = 10;
    const TASKS: usize = 32;
    const MOST: u64 = 64 << 20;
    let arena = Arena::start(Terms {
        elsewhere: 256 << 20,
        ..terms().set("tasks.park-after-ms", 10)
    })
    .await;
    let wire = Wire::of(&arena);
    let client = arena.mallory(Declares::TasksAndForms);
    let attack = async {
        let mut tasks = Vec::new();
        for _ in 0..TASKS {
            let task = client.task("hostile.ask", json!({"keys": ["k"]})).await;
            task.until("input_required").await;
            tasks.push(task);
        }
        let ids: Vec<&str> = tasks.iter().map(Task::id).collect();
        let listen = client
            .request(
                "subscriptions/listen",
                json!({"notifications": {"taskIds": ids}}),
            )
            .id(json!("x".repeat(512 << 10)));
        let request = wire.request(&listen);
        let pid = arena.server().pid();
        let before = Memory::of(pid).now;
        Memory::forget_peak(pid);
        let mut unread = Vec::new();
        for _ in 0..STREAMS {
            let stream = wire.reluctant(&request).await;
            let begun = patient("an answer to begin", stream.readable()).await;
            begun.expect("it is open");
            unread.push(stream);
        }
        for task in &tasks {
            task.cancel().await;
        }
        for task in &tasks {
            task.until("cancelled").await;
        }
        let grew = Memory::of(pid).peak.saturating_sub(before);
        println!(
            "{STREAMS} unread streams of {TASKS} tasks: {} MiB more",
            grew >> 20
        );
        assert!(grew <= MOST, "{} MiB", grew >> 20);
    };
    arena.under("notifications with long ids", attack).await;
}

#[tokio::test]
async fn answers_that_nobody_reads_hold_one_answer_each() {
    const STREAMS: u64 = 24;
    const ANSWER: u64 = 3 << 20;
    let arena = Arena::start(Terms {
        elsewhere: STREAMS * ANSWER * 3,
        ..terms()
    })
    .await;
    let wire = Wire::of(&arena);
    let client = arena.mallory(Declares::Nothing);
    let call = wire.request(&client.tool("hostile.large", json!({"bytes": ANSWER})));
    let attack = async {
        let pid = arena.server().pid();
        let before = Memory::of(pid).now;
        let mut unread = Vec::new();
        for _ in 0..STREAMS {
            // Ten calls on each connection: the second must wait until the first is read.
            unread.push(wire.reluctant(&call.repeat(10)).await);
        }
        for stream in &unread {
            let begun = stream.readable();
            patient("an answer to begin", begun)
                .await
                .expect("it is open");
        }
        arena.at_rest().await;
        let grew = Memory::of(pid).peak.saturating_sub(before);
        println!("{STREAMS} unread answers of 3 MiB: {} MiB more", grew >> 20);
        assert!(
            grew <= STREAMS * ANSWER * 3 + (64 << 20),
            "{} MiB",
            grew >> 20
        );
    };
    arena.under("unread answers", attack).await;
}
