//! Clients that send a byte now and then: they hold a connection each, for the receive time (30 s) and
//! no longer, and nobody else waits for them.

use std::time::{Duration, Instant};

use cofferdam_tests::{Arena, Declares, Options, Server, Terms, patient};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::{Told, Wire, answers, first_answer, terms};

/// Time for a head, and again for a body (`RECEIVE_TIME`).
const RECEIVE: Duration = Duration::from_secs(30);
/// How much later a busy machine may close.
const LATE: Duration = Duration::from_secs(8);
/// Between two bytes.
const TRICKLE: Duration = Duration::from_millis(200);
/// Connections of each kind that trickle at once.
const EACH: usize = 150;
/// Calls beside them.
const CALLS: usize = 20;

/// What is sent at once, and what follows byte by byte, over and over.
#[derive(Clone)]
struct Slow {
    what: &'static str,
    start: String,
    piece: &'static str,
    /// The head is whole: the server can answer.
    head: bool,
}

/// All ways to be slow.
fn ways(wire: &Wire) -> Vec<Slow> {
    let head = wire.head("server/discover");
    let in_head = |what, start, piece| Slow {
        what,
        start,
        piece,
        head: false,
    };
    let way = |what, start, piece| Slow {
        head: true,
        ..in_head(what, start, piece)
    };
    vec![
        in_head("no head at all", String::new(), "\r\n"),
        in_head("a method without end", String::new(), "P"),
        in_head("a head without end", head.clone(), "X: y\r\n"),
        way(
            "a body without end",
            format!("{head}Content-Length: 100000\r\n\r\n{{"),
            " ",
        ),
        way(
            "chunks without end",
            format!("{head}Transfer-Encoding: chunked\r\n\r\n"),
            "1\r\n \r\n",
        ),
        way(
            "trailers without end",
            format!("{head}Transfer-Encoding: chunked\r\n\r\n2\r\n{{}}\r\n0\r\n"),
            "a: b\r\n",
        ),
    ]
}

/// Sends the pieces byte by byte until the server closes. Gives what came.
async fn trickle(mut stream: TcpStream, piece: &'static str) -> Vec<Told> {
    let mut text = Vec::new();
    let mut buffer = [0; 4_096];
    for byte in piece.bytes().cycle() {
        // After an answer the server may have closed its end.
        let _ = stream.write_all(&[byte]).await;
        match tokio::time::timeout(TRICKLE, stream.read(&mut buffer)).await {
            Err(_) => {}
            Ok(Ok(read)) if read > 0 => text.extend_from_slice(&buffer[..read]),
            Ok(_) => break,
        }
    }
    answers(&text)
}

#[tokio::test]
async fn hundreds_of_slow_connections_hold_up_nobody() {
    let arena = Arena::start(terms()).await;
    let wire = Wire::of(&arena);
    let client = arena.mallory(Declares::Nothing);
    let attack = async {
        let served = CancellationToken::new();
        let mut slow = JoinSet::new();
        for way in ways(&wire) {
            for _ in 0..EACH {
                let stream = wire.open(way.start.as_bytes()).await;
                let trickling = trickle(stream, way.piece);
                slow.spawn(served.clone().run_until_cancelled_owned(trickling));
            }
        }
        // The attacker's own calls are served as well, while they trickle.
        for _ in 0..CALLS {
            client.result("hostile.echo", json!({"text": "x"})).await;
        }
        served.cancel();
        let count = slow.len();
        let mut open = 0;
        while let Some(ended) = slow.join_next().await {
            let closed = ended.expect("it does not panic").is_some();
            open += usize::from(!closed);
        }
        println!("{count} slow connections, {open} open to the end of {CALLS} calls beside them");
    };
    arena.under("slow connections", attack).await;
}

// Waits for the receive time.
#[tokio::test]
async fn whoever_is_slow_for_long_is_closed_or_told_so() {
    let arena = Arena::start(terms()).await;
    let wire = Wire::of(&arena);
    let client = arena.mallory(Declares::Nothing);
    let attack = async {
        let begun = Instant::now();
        let mut slow = JoinSet::new();
        for way in ways(&wire) {
            let stream = wire.open(way.start.as_bytes()).await;
            slow.spawn(async move {
                let came = trickle(stream, way.piece).await;
                (way.what, way.head, came)
            });
        }
        // After an answer, the next head has its time.
        let discover = wire.request(&client.request("server/discover", json!({})));
        let mut idle = wire.open(discover.as_bytes()).await;
        first_answer(&mut idle).await;
        slow.spawn(async move {
            let mut text = Vec::new();
            let _ = idle.read_to_end(&mut text).await;
            ("nothing after an answer", false, answers(&text))
        });
        let mut wrong = Vec::new();
        let ended = async {
            while let Some(ended) = slow.join_next().await {
                let after = begun.elapsed();
                let (what, head, told) = ended.expect("it does not panic");
                println!("{what}: closed after {after:?}, {told:?}");
                let right = match &told[..] {
                    // Its limit is named.
                    [told] if head => told.status == 408 && told.message().contains("30 s"),
                    [told] => told.status == 408,
                    told => told.is_empty() && !head,
                };
                if !right || after < RECEIVE - Duration::from_secs(1) {
                    wrong.push(format!("{what}: after {after:?} {told:?}"));
                }
            }
        };
        let in_time = tokio::time::timeout(RECEIVE + LATE, ended).await;
        let after = begun.elapsed();
        assert!(in_time.is_ok(), "some are still open after {after:?}");
        wrong
    };
    let wrong = arena.under("slow to the end", attack).await;
    assert!(wrong.is_empty(), "not closed as they should be: {wrong:#?}");
}

// Whoever takes nothing of an answer holds a place among the connections, and the answer. Waits for the
// receive time, too, which is time enough to take a byte.
#[tokio::test]
async fn whoever_does_not_read_keeps_no_place_for_ever() {
    // More than the kernel takes for it.
    const ANSWER: usize = 12 << 20;
    let arena = Arena::start(Terms {
        result_bytes: 16 << 20,
        memory_bytes: 64 << 20,
        ..terms()
    })
    .await;
    let wire = Wire::of(&arena);
    let client = arena.mallory(Declares::Nothing);
    let call = wire.request(&client.tool("hostile.large", json!({"bytes": ANSWER})));
    let attack = async {
        let stream = wire.reluctant(&call).await;
        let begun = patient("an answer to begin", stream.readable()).await;
        begun.expect("it is open");
        // Nothing says when the server gives up but the rest that does not come.
        tokio::time::sleep(RECEIVE + LATE).await;
        let mut text = Vec::new();
        let mut rest = stream.take(ANSWER as u64);
        // It ends early, by an end or by an error.
        let _ = patient("the rest of an answer", rest.read_to_end(&mut text)).await;
        text.len()
    };
    let came = arena.under("an answer that nobody takes", attack).await;
    assert!(
        came < ANSWER,
        "the whole answer was kept for {:?}",
        RECEIVE + LATE
    );
}

// Slow clients do not keep a server from stopping: after the drain time they are cut off.
#[tokio::test]
async fn a_server_stops_whoever_is_slow() {
    let mut server = Server::start(Options::probe().set("server.drain-ms", 500)).await;
    let wire = Wire {
        address: server.address(),
        token: String::new(),
    };
    let large = server.client().tool("large", json!({"bytes": 6 << 20}));
    let mut held = Vec::new();
    for way in ways(&wire) {
        for _ in 0..10 {
            held.push(wire.open(way.start.as_bytes()).await);
        }
    }
    for _ in 0..5 {
        let stream = wire.reluctant(&wire.request(&large)).await;
        let begun = patient("an answer to begin", stream.readable()).await;
        begun.expect("it is open");
        held.push(stream);
    }
    let begun = Instant::now();
    server.stop().await;
    println!(
        "stopped after {:?}, with {} slow connections",
        begun.elapsed(),
        held.len()
    );
    // None of them is open any more.
    for mut stream in held {
        let mut rest = Vec::new();
        let _ = patient("the end of a connection", stream.read_to_end(&mut rest)).await;
    }
}
