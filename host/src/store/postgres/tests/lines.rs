//! A line to the database that fails, and tasks that nobody was told of.

use super::*;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU8, Ordering};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// What becomes of what the server says.
const PASSED: u8 = 0;
const SWALLOWED: u8 = 1;
/// The line breaks, too.
const CUT: u8 = 2;

/// A line to the server that can fail.
struct Line {
    address: SocketAddr,
    answers: Arc<AtomicU8>,
}

impl Line {
    async fn to(server: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let answers = Arc::new(AtomicU8::new(PASSED));
        let now = Arc::clone(&answers);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let server = TcpStream::connect(server).await.unwrap();
                tokio::spawn(pass(client, server, Arc::clone(&now)));
            }
        });
        Self { address, answers }
    }

    /// A database's URL by way of it.
    fn url(&self, direct: &str, server: SocketAddr) -> String {
        direct.replace(&format!("@{server}/"), &format!("@{}/", self.address))
    }

    fn answers_are(&self, fate: u8) {
        self.answers.store(fate, Ordering::SeqCst);
    }
}

async fn pass(client: TcpStream, server: TcpStream, answers: Arc<AtomicU8>) {
    let (mut from_client, mut to_client) = client.into_split();
    let (mut from_server, mut to_server) = server.into_split();
    tokio::spawn(async move { tokio::io::copy(&mut from_client, &mut to_server).await });
    let mut buffer = vec![0; 1 << 16];
    while let Ok(length @ 1..) = from_server.read(&mut buffer).await {
        match answers.load(Ordering::SeqCst) {
            PASSED if to_client.write_all(&buffer[..length]).await.is_err() => return,
            CUT => return,
            _ => {}
        }
    }
}

#[tokio::test]
async fn a_line_that_says_nothing_more_is_given_up() {
    let server = Postgres::on_tcp();
    let line = Line::to(server.address()).await;
    let store = open_as_served(&line.url(&server.database(), server.address())).await;
    let id = create(&store, example_task(None)).await;
    // Two lines are there, so that none is to be made below.
    let (one, two) = tokio::join!(store.get(id), store.get(id));
    assert!(one.unwrap().is_some() && two.unwrap().is_some());
    line.answers_are(SWALLOWED);
    assert!(is_unavailable(&store.get(id).await));
    assert!(is_unavailable(&store.sweep(expire(), 2_000).await));
    line.answers_are(PASSED);
    // Neither is used again: not the one that may still be asked, nor that in a transaction.
    assert!(store.get(id).await.unwrap().is_some());
    store.sweep(expire(), 2_000).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_task_whose_creation_was_not_confirmed_does_not_stay() {
    let server = Postgres::on_tcp();
    let direct = server.database();
    let line = Line::to(server.address()).await;
    let store = open(&line.url(&direct, server.address()), OPTIONS).await;
    // Its statements are prepared now.
    create(&store, example_task(None)).await;
    line.answers_are(CUT);
    let created = store.create(TaskId::random(), of("a", 9)).await;
    assert!(is_unavailable(&created));
    let count =
        "SELECT count(*), (SELECT sum(tasks) FROM tenants), (SELECT tasks FROM total) FROM tasks";
    assert_eq!(
        ask_database(&server, &direct, count),
        "2|2|2",
        "it was made"
    );
    line.answers_are(PASSED);
    while ask_database(&server, &direct, count) != "1|1|1" {
        tokio::task::yield_now().await;
    }
    assert_eq!(
        ask_database(&server, &direct, "SELECT count(*) FROM journal"),
        "0"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_task_that_nobody_waits_for_any_more_does_not_stay() {
    let server = postgres_server();
    let url = server.database();
    let store = open(&url, OPTIONS).await;
    let lock = url.clone();
    let locker = spawn_blocking(move || {
        ask_database(server, &lock, "BEGIN; LOCK TABLE total; SELECT pg_sleep(2)")
    });
    let waiting = "SELECT count(*) FROM pg_locks WHERE relation = 'total'::regclass AND ";
    while ask_database(server, &url, &format!("{waiting} granted")) == "0" {}
    let creator = tokio::spawn({
        let store = Arc::clone(&store);
        async move { store.create(TaskId::random(), of("a", 9)).await }
    });
    while ask_database(server, &url, &format!("{waiting} NOT granted")) == "0" {}
    creator.abort();
    assert!(creator.await.unwrap_err().is_cancelled());
    locker.await.unwrap();
    // Its number was given out, and nothing is there.
    let made = "SELECT last_value, is_called FROM tasks_number_seq";
    while ask_database(server, &url, made) != "1|t" {}
    while ask_database(server, &url, "SELECT count(*) FROM tasks") != "0" {}
    assert_eq!(ask_database(server, &url, "SELECT tasks FROM total"), "0");
}
