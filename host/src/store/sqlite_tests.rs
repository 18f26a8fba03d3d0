//! What only a store in a file must hold: restarts, other processes, other files.

use super::suite::{OPTIONS, ask, complete, create, store_seen};
use super::{SqliteStore, Store};
use crate::task::example_task;
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
    store.apply(running, ask(&["a"]), 2_000).await.unwrap();
    store.apply(finished, complete(), 2_000).await.unwrap();
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
    assert!(store.job(running).await.unwrap().is_some());
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
