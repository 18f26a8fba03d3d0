//! What only a store in a file must hold: restarts, other processes, other files.

use super::super::suite::{OPTIONS, apply, ask, complete, create, expire, store_seen};
use super::super::{SqliteStore, Store};
use crate::protocol::{RpcError, raw};
use crate::task::{TaskId, example_task};
use std::path::Path;
use std::sync::Arc;

#[tokio::test]
async fn a_file_keeps_its_tasks_over_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tasks.sqlite");
    let open = || -> Arc<dyn Store> { Arc::new(SqliteStore::open(&path, OPTIONS).unwrap()) };
    let store = open();
    let (running, finished) = (
        create(&store, example_task(None)).await,
        create(&store, example_task(None)).await,
    );
    apply(&store, running, ask(&["a"]), 2_000).await.unwrap();
    apply(&store, finished, complete(), 2_000).await.unwrap();
    let before = (
        store_seen(&store, running).await,
        store_seen(&store, finished).await,
    );
    drop(store);
    let store = open();
    assert_eq!(
        (
            store_seen(&store, running).await,
            store_seen(&store, finished).await
        ),
        before
    );
    apply(&store, running, crate::task::Event::Cancel, 2_000)
        .await
        .unwrap();
}

/// What the file keeps of its counts, and what they are.
fn counts(path: &Path) -> (Vec<String>, Vec<String>) {
    let connection = rusqlite::Connection::open(path).unwrap();
    let lines = |sql: &str| -> Vec<String> {
        let mut select = connection.prepare(sql).unwrap();
        let lines = select.query_map([], |row| row.get(0)).unwrap();
        lines.collect::<rusqlite::Result<_>>().unwrap()
    };
    (
        lines("SELECT concat_ws(' ', tenant, digest, status, number) FROM counts ORDER BY 1"),
        lines(
            "SELECT concat_ws(' ', tenant, head ->> '$.digest', head ->> '$.status', count(*))
             FROM tasks GROUP BY tenant, head ->> '$.digest', head ->> '$.status' ORDER BY 1",
        ),
    )
}

#[tokio::test]
async fn the_counts_in_the_file_are_those_of_its_tasks() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tasks.sqlite");
    let store: Arc<dyn Store> = Arc::new(SqliteStore::open(&path, OPTIONS).unwrap());
    let check = |number: usize| {
        let (kept, counted) = counts(&path);
        assert_eq!(kept, counted);
        assert_eq!(kept.len(), number, "{kept:?}");
    };
    check(0);
    let mut other = example_task(None);
    other.digest = "another".to_owned();
    let first = create(&store, example_task(None)).await;
    let second = create(&store, other).await;
    check(2);
    apply(&store, first, ask(&["a"]), 2_000).await.unwrap();
    check(2);
    apply(&store, second, complete(), 2_000).await.unwrap();
    check(2);
    assert_eq!(
        store.digests().await.unwrap(),
        [example_task(None).digest].into()
    );
    let swept = store.sweep(expire(), 10_000).await.unwrap();
    assert_eq!(swept.removed, 1);
    check(1);
}

#[test]
fn a_file_serves_one_process_and_one_user() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tasks.sqlite");
    let store = SqliteStore::open(&path, OPTIONS).unwrap();
    let error = SqliteStore::open(&path, OPTIONS).err().unwrap().to_string();
    assert!(error.contains("another server uses it"), "{error}");
    drop(store);
    assert!(SqliteStore::open(&path, OPTIONS).is_ok());
    let mode = std::os::unix::fs::MetadataExt::mode(&std::fs::metadata(&path).unwrap());
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn a_file_of_another_kind_or_version_is_refused_with_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tasks.sqlite");
    std::fs::write(
        &path,
        "this is no database, but long enough to look like one ".repeat(100),
    )
    .unwrap();
    let error = SqliteStore::open(&path, OPTIONS).err().unwrap().to_string();
    assert!(error.contains("tasks.sqlite"), "{error}");

    std::fs::remove_file(&path).unwrap();
    let later = rusqlite::Connection::open(&path).unwrap();
    later.execute_batch("PRAGMA user_version = 99").unwrap();
    drop(later);
    let error = SqliteStore::open(&path, OPTIONS).err().unwrap().to_string();
    assert!(
        error.contains("version 99") && error.contains("--data"),
        "{error}"
    );
}

/// A file as version 1 wrote it: its running task has nothing to be replayed from.
#[tokio::test]
async fn a_file_of_the_first_version_is_brought_up_to_date() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tasks.sqlite");
    let old = rusqlite::Connection::open(&path).unwrap();
    old.execute_batch(super::schema::STEPS[0]).unwrap();
    old.execute_batch("PRAGMA user_version = 1").unwrap();
    let id = TaskId::random();
    let mut head = serde_json::json!(example_task(None));
    let later = [
        "served_as",
        "max_attempts",
        "attempt_started_at",
        "wall_ms",
        "lease",
        "idle_runs",
        "wait",
    ];
    for field in later {
        head.as_object_mut().unwrap().remove(field).unwrap();
    }
    head["inputs"] = serde_json::json!({ "open": {}, "answered": { "a": { "roots": [] } } });
    old.execute(
        "INSERT INTO tasks (id, is_final, head) VALUES (?1, 0, ?2)",
        rusqlite::params![id.as_bytes().as_slice(), head.to_string()],
    )
    .unwrap();
    old.execute(
        "INSERT INTO jobs (id, arguments) VALUES (?1, '{}')",
        [id.as_bytes().as_slice()],
    )
    .unwrap();
    drop(old);
    let store = SqliteStore::open(&path, OPTIONS).unwrap();
    assert_eq!(store.unfinished().await.unwrap().ready, [(id, 0)]);
    let lost = RpcError::internal("lost").into();
    let (kept, counted) = counts(&path);
    assert_eq!((kept.len(), kept), (1, counted));
    let claim = store.claim(id, None, lost, 2_000).await.unwrap().unwrap();
    assert!(claim.job.is_none());
    assert_eq!(raw(&claim.task.inputs.answered).get(), "{}");
}
