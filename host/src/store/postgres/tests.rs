//! What only a database must hold: many nodes, and a line that breaks.

use super::super::suite::{
    OPTIONS, apply, ask, complete, create, expire, failure, new, postgres_server, row,
};
use super::super::{Full, PostgresStore, Store, StoreError, StoreOptions};
use super::schema;
use crate::task::{Event, NewTask, NodeId, TaskId, Writes, example_task};
use cofferdam_postgres::{Postgres, USER};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinSet, spawn_blocking};

async fn open(url: &str, options: StoreOptions) -> Arc<dyn Store> {
    Arc::new(PostgresStore::open(url, options).await.unwrap())
}

async fn refusal(url: &str) -> String {
    let opened = PostgresStore::open(url, OPTIONS).await;
    opened.err().unwrap().to_string()
}

/// A query's answer, from a database with this URL.
fn ask_database(server: &Postgres, url: &str, query: &str) -> String {
    let path = url.split('?').next().unwrap();
    server.sql(path.rsplit('/').next().unwrap(), query)
}

fn of(tenant: &str, most: usize) -> NewTask {
    let mut task = example_task(Some(500));
    task.owner.tenant = tenant.to_owned();
    NewTask {
        most,
        ..new(task, row(0, false, b"start"))
    }
}

fn is_unavailable<T>(result: &Result<T, StoreError>) -> bool {
    matches!(result, Err(StoreError::Unavailable(_)))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn limits_hold_exactly_over_all_nodes() {
    let url = postgres_server().database();
    let options = StoreOptions {
        max_tasks: 25,
        ..OPTIONS
    };
    let nodes = [open(&url, options).await, open(&url, options).await];
    let create_many = async |tenants: [&'static str; 2]| {
        let mut creations = JoinSet::new();
        for index in 0..80 {
            let store = Arc::clone(&nodes[index % 2]);
            let new = of(tenants[index / 2 % 2], 10);
            creations.spawn(async move {
                match store.create(TaskId::random(), new).await {
                    Ok(()) => None,
                    Err(StoreError::LimitReached(full)) => Some(full),
                    Err(error) => panic!("{error}"),
                }
            });
        }
        let all = creations.join_all().await;
        let count = |what| all.iter().filter(|full| **full == what).count();
        [None, Some(Full::Unfinished), Some(Full::Store)].map(count)
    };
    assert_eq!(create_many(["a", "b"]).await, [20, 60, 0]);
    assert_eq!(create_many(["c", "c"]).await, [5, 0, 75]);
}

/// Who waits for whom in a circle waits here until its statement is too slow, which the test does
/// not forgive.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn nodes_at_the_same_tasks_never_lock_each_other_out() {
    let url = postgres_server().database();
    let patient = format!("{url}&options=-c%20deadlock_timeout=60s");
    let mut nodes = JoinSet::new();
    for number in 0..4 {
        let store = open(&patient, OPTIONS).await;
        nodes.spawn(async move {
            let mut work = JoinSet::new();
            for worker in 0..6 {
                let store = Arc::clone(&store);
                work.spawn(async move { live(&*store, number * 6 + worker).await });
            }
            work.join_all().await;
        });
    }
    nodes.join_all().await;
    let counts = "
        SELECT (SELECT tasks FROM total) - (SELECT count(*) FROM tasks),
            (SELECT count(*) FROM tenants WHERE tasks > 0) - (SELECT count(DISTINCT tenant) FROM tasks),
            (SELECT count(*) FROM tenants t, LATERAL (
                SELECT count(*) FILTER (WHERE NOT is_final) AS unfinished, count(*) AS all
                FROM tasks WHERE tasks.tenant = t.tenant
            ) AS are WHERE t.unfinished <> are.unfinished OR t.tasks <> are.all),
            (SELECT count(*) FROM journal WHERE task NOT IN (SELECT number FROM tasks WHERE NOT is_final))";
    let server = postgres_server();
    assert_eq!(ask_database(server, &url, counts), "0|0|0|0");
}

/// Does all that there is to be done to tasks, whoever's they are, with leases that are soon over.
async fn live(store: &dyn Store, seed: i64) {
    let node = NodeId::random();
    for round in 0..12 {
        let now = 1_000 + round * 60 + seed;
        store.renew(node, now + 90).await.unwrap();
        for tenant in ["a", "b", "c"] {
            let task = NewTask {
                node: (round % 2 == 0).then_some(node),
                ..of(tenant, usize::MAX)
            };
            store.create(TaskId::random(), task).await.unwrap();
        }
        for due in store.take_due(node, 4, now).await.unwrap() {
            let claim = store.claim(due.id, Some(node), failure("lost"), now).await;
            let Some(claim) = claim.unwrap() else {
                continue;
            };
            let fence = claim.task.fence();
            let keep = Event::Keep { fence };
            let writes = row(1, true, b"more");
            store.apply(due.id, keep, writes, now).await.unwrap();
            let event = match seed % 3 {
                0 => Event::Cancel,
                1 => Event::Sleep {
                    fence,
                    until: now + 50,
                },
                _ => complete(),
            };
            let nothing = Writes::default();
            store.apply(due.id, event, nothing, now).await.unwrap();
            store.release(due.id, node).await.unwrap();
        }
        if seed % 4 == 0 {
            store.sweep(expire(), now).await.unwrap();
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn racing_nodes_make_the_tables_once() {
    let url = postgres_server().database();
    let mut nodes = JoinSet::new();
    for _ in 0..6 {
        let url = url.clone();
        nodes.spawn(async move { open(&url, OPTIONS).await });
    }
    let nodes = nodes.join_all().await;
    let id = create(&nodes[0], example_task(None)).await;
    for store in &nodes {
        assert!(store.get(id).await.unwrap().is_some());
    }
    let version = ask_database(postgres_server(), &url, "SELECT version FROM cofferdam");
    assert_eq!(version, schema::VERSION.to_string());
}

#[tokio::test]
async fn a_database_of_a_later_version_is_left_alone() {
    let server = postgres_server();
    let url = server.database();
    let later =
        "CREATE TABLE cofferdam (version integer NOT NULL); INSERT INTO cofferdam VALUES (99)";
    ask_database(server, &url, later);
    let error = refusal(&url).await;
    assert!(
        error.contains("version 99") && error.contains("another database"),
        "{error}"
    );
    let tables = "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'";
    assert_eq!(ask_database(server, &url, tables), "1");
}

#[tokio::test]
async fn what_cannot_be_used_is_named_without_the_password() {
    let server = Postgres::on_tcp();
    let (user, password) = USER;
    let address = server.address();
    let ascii = "CREATE DATABASE ascii ENCODING 'SQL_ASCII' TEMPLATE template0";
    server.sql("postgres", ascii);
    server.sql("postgres", "CREATE ROLE guest LOGIN PASSWORD 'secret-word'");
    let cases = [
        (
            format!("{user}:wrong-secret@{address}/postgres"),
            "PGPASSWORD",
        ),
        (format!("{user}:{password}@{address}/nowhere"), "createdb"),
        (format!("{user}:{password}@{address}/ascii"), "UTF8"),
        (format!("guest:{password}@{address}/postgres"), "owner"),
        (
            format!("{user}:{password}@{address}/postgres?sslmode=require"),
            "TLS",
        ),
        (
            format!("{user}:{password}@127.0.0.1:1/postgres"),
            "127.0.0.1:1",
        ),
    ];
    for (rest, hint) in cases {
        let error = refusal(&format!("postgres://{rest}")).await;
        assert!(error.contains(hint), "{rest}: {error}");
        assert!(!error.contains("secret"), "{error}");
    }
}

#[tokio::test]
async fn a_database_that_says_nothing_is_not_waited_for() {
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("postgres://u:p@{}/d", silent.local_addr().unwrap());
    let start = Instant::now();
    let error = refusal(&url).await;
    assert!(error.contains("cannot connect"), "{error}");
    assert!(start.elapsed() < Duration::from_secs(30));
}

#[tokio::test]
async fn a_database_that_is_back_is_used_again() {
    let mut server = Postgres::start();
    let url = server.database();
    let store = open(&url, OPTIONS).await;
    let id = create(&store, example_task(None)).await;
    server.stop();
    assert!(is_unavailable(&store.get(id).await));
    let created = store.create(TaskId::random(), of("a", 9)).await;
    let told = created.unwrap_err().to_string();
    assert!(told.contains("cannot be reached"), "{told}");
    assert!(!told.contains("tasks0"), "clients learn no more: {told}");
    server.start_again();
    assert!(store.get(id).await.unwrap().is_some());
    apply(&store, id, ask(&["a"]), 2_000).await.unwrap();
    assert_eq!(ask_database(&server, &url, "SELECT tasks FROM total"), "1");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_statement_that_waits_too_long_is_given_up_and_undone() {
    let server = Arc::new(Postgres::start());
    let url = server.database();
    let store = open(&url, OPTIONS).await;
    let id = create(&store, example_task(None)).await;
    let (held, locker) = (Arc::clone(&server), url.clone());
    let lock = "BEGIN; LOCK TABLE tasks; SELECT pg_sleep(8)";
    let locker = spawn_blocking(move || ask_database(&held, &locker, lock));
    let is_locked = "SELECT count(*) FROM pg_locks WHERE mode = 'AccessExclusiveLock' AND granted";
    while ask_database(&server, &url, is_locked) == "0" {}
    assert!(is_unavailable(&apply(&store, id, complete(), 2_000).await));
    locker.await.unwrap();
    apply(&store, id, complete(), 3_000).await.unwrap();
    let task = store.get(id).await.unwrap().unwrap();
    assert_eq!(task.updated_at, 3_000, "it was not done before");
}

/// A line to the server that can be made to swallow what the server says, and then breaks.
struct Line {
    address: std::net::SocketAddr,
    swallows: Arc<AtomicBool>,
}

impl Line {
    async fn to(server: std::net::SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let swallows = Arc::new(AtomicBool::new(false));
        let swallow = Arc::clone(&swallows);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let server = TcpStream::connect(server).await.unwrap();
                tokio::spawn(pass(client, server, Arc::clone(&swallow)));
            }
        });
        Self { address, swallows }
    }
}

async fn pass(client: TcpStream, server: TcpStream, swallows: Arc<AtomicBool>) {
    let (mut from_client, mut to_client) = client.into_split();
    let (mut from_server, mut to_server) = server.into_split();
    tokio::spawn(async move { tokio::io::copy(&mut from_client, &mut to_server).await });
    let mut buffer = vec![0; 1 << 16];
    while let Ok(length @ 1..) = from_server.read(&mut buffer).await {
        if swallows.load(Ordering::SeqCst) {
            return;
        }
        if to_client.write_all(&buffer[..length]).await.is_err() {
            return;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_task_whose_creation_was_not_confirmed_does_not_stay() {
    let server = Postgres::on_tcp();
    let direct = server.database();
    let line = Line::to(server.address()).await;
    let there = |address: std::net::SocketAddr| format!("@{address}/");
    let url = direct.replace(&there(server.address()), &there(line.address));
    let store = open(&url, OPTIONS).await;
    // Its statements are prepared now.
    create(&store, example_task(None)).await;
    line.swallows.store(true, Ordering::SeqCst);
    let created = store.create(TaskId::random(), of("a", 9)).await;
    assert!(is_unavailable(&created));
    let count =
        "SELECT count(*), (SELECT sum(tasks) FROM tenants), (SELECT tasks FROM total) FROM tasks";
    assert_eq!(
        ask_database(&server, &direct, count),
        "2|2|2",
        "it was made"
    );
    line.swallows.store(false, Ordering::SeqCst);
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

#[tokio::test]
async fn callers_may_name_things_as_they_like() {
    let url = postgres_server().database();
    let store = open(&url, OPTIONS).await;
    let mut task = example_task(None);
    task.owner.tenant = "a\0b".to_owned();
    task.message = Some("\0".to_owned());
    let id = TaskId::random();
    let writes = Writes {
        records: vec![("k\0".to_owned(), vec![0])],
        ..Writes::default()
    };
    store.create(id, new(task.clone(), writes)).await.unwrap();
    let node = NodeId::random();
    store.renew(node, 9_000).await.unwrap();
    let due = store.take_due(node, 1, 2_000).await.unwrap();
    assert_eq!(due[0].tenant, task.owner.tenant);
    let claim = store.claim(id, Some(node), failure("lost"), 2_000).await;
    let claim = claim.unwrap().unwrap();
    assert_eq!(claim.task.message, task.message);
    assert_eq!(claim.records, [("k\0".to_owned(), vec![0])]);
}
