//! Whatever is done to one of the two addresses, the other answers, and so does it itself.

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use cofferdam_tests::{Declares, Options, Request, Server, patient, raw};
use serde_json::json;
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;

use crate::{status, status_when};

/// Connections that begin a request and do not go on.
async fn slow(address: SocketAddr, number: usize) -> Vec<TcpStream> {
    let mut all = Vec::with_capacity(number);
    for _ in 0..number {
        let mut stream = TcpStream::connect(address).await.expect("a connection");
        stream.write_all(b"GET /status HT").await.expect("written");
        all.push(stream);
    }
    all
}

fn is_open(stream: &TcpStream) -> bool {
    let mut byte = [0];
    matches!(stream.try_read(&mut byte), Err(error) if error.kind() == ErrorKind::WouldBlock)
}

/// How long it takes until the first of many connections that say nothing are closed.
async fn given_way(server: &Server) -> Duration {
    let start = Instant::now();
    let slow = slow(server.admin(), 400).await;
    status(server).await;
    let given_way = async {
        while slow.iter().filter(|stream| is_open(stream)).count() > 256 {
            tokio::task::yield_now().await;
        }
    };
    patient("the first connections to be closed", given_way).await;
    start.elapsed()
}

#[tokio::test]
async fn connections_that_say_nothing_give_way() {
    let server = Server::start(Options::probe().admin()).await;
    let mut times = Vec::new();
    // Before their time is over, unless the machine is very busy.
    while !times.iter().any(|time| *time < Duration::from_secs(5)) {
        assert!(times.len() < 4, "they were waited for: {times:?}");
        times.push(given_way(&server).await);
    }
    server.client().result("echo", json!({"text": "x"})).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_asks_is_answered_while_others_come_in_floods() {
    let server = Server::start(Options::probe().admin()).await;
    let address = server.admin();
    let came = Arc::new(AtomicUsize::new(0));
    let flood = |came: Arc<AtomicUsize>| async move {
        let mut held = Vec::new();
        loop {
            if let Ok(mut stream) = TcpStream::connect(address).await {
                // It may have given way already.
                let _ = stream.write_all(b"GET /status HT").await;
                held.push(stream);
                came.fetch_add(1, Ordering::Relaxed);
            }
            if held.len() == 50 {
                held.clear();
            }
        }
    };
    let floods: Vec<_> = (0..4)
        .map(|_| tokio::spawn(flood(Arc::clone(&came))))
        .collect();
    // A flood may push out who asks, but not for long.
    let request = b"GET /status HTTP/1.1\r\nHost: localhost\r\n\r\n";
    while came.load(Ordering::Relaxed) < 1_000 {
        let answered = async { while !raw(address, request).await.starts_with("HTTP/1.1 200 ") {} };
        patient("an answer in a flood", answered).await;
        server.client().result("echo", json!({"text": "x"})).await;
    }
    for flood in floods {
        flood.abort();
    }
}

#[tokio::test]
async fn those_that_say_nothing_are_closed_in_time() {
    let server = Server::start(Options::probe().admin()).await;
    let closed = raw(server.admin(), b"GET /status HT").await;
    assert!(closed.is_empty() || closed.contains(" 408 "), "{closed}");
    let large = format!(
        "GET /status HTTP/1.1\r\nHost: localhost\r\nA: {}\r\n\r\n",
        "a".repeat(9_000)
    );
    let large = raw(server.admin(), large.as_bytes()).await;
    assert!(large.starts_with("HTTP/1.1 431 "), "{large}");
    // One request, then the connection ends, whatever the client says.
    let two = "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n".repeat(2);
    let two = raw(server.admin(), two.as_bytes()).await;
    assert_eq!(two.matches("HTTP/1.1").count(), 1, "{two}");
}

#[tokio::test]
async fn the_address_answers_while_the_server_is_full() {
    let options = Options::probe()
        .set("sandbox.instances", 2)
        .set("sandbox.cpu-ms", 3_600_000)
        .set("server.max-connections", 10)
        .admin();
    let server = Server::start(options).await;
    let client = server.client().declaring(Declares::Nothing);
    let calls: Vec<_> = (0..10)
        .map(|_| {
            let call = client.tool("finish", json!({"how": "spin"}));
            tokio::spawn(async move { call.answer().await })
        })
        .collect();
    let busy = status_when(&server, "all instances and the queue in use", |status| {
        status["instances"]["running"] == 2 && status["instances"]["waiting"] == 8
    });
    busy.await;
    // No caller gets in any more.
    let mut shut_out = slow(server.address(), 1).await;
    for path in ["/health", "/status", "/metrics"] {
        let response = Request::new("GET", path).send(server.admin()).await;
        assert_eq!(response.status, 200);
        assert!(!response.bytes().await.is_empty());
    }
    assert!(shut_out.pop().is_some_and(|stream| is_open(&stream)));
    for call in calls {
        call.abort();
    }
}
