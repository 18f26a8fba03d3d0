//! What only a database must hold: `nodes` is that many may use it, `faults` that it may refuse or be
//! gone, `lines` that its answers may be.

mod faults;
mod lines;
mod nodes;

use super::super::suite::{
    FIRST, OPTIONS, apply, ask, complete, create, expire, failure, keep, new, postgres_server, row,
};
use super::super::{Full, PostgresStore, Store, StoreError, StoreOptions};
use super::schema;
use crate::limits::DATABASE_RETRIES;
use crate::task::{Event, NewTask, NodeId, TaskId, Writes, example_task};
use cofferdam_postgres::{Postgres, USER};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::net::TcpListener;
use tokio::task::{JoinSet, spawn_blocking};

async fn open(url: &str, options: StoreOptions) -> Arc<dyn Store> {
    let opened = PostgresStore::open_patiently(url, options).await;
    Arc::new(opened.unwrap())
}

/// With the limits of a server.
async fn open_as_served(url: &str) -> Arc<dyn Store> {
    Arc::new(PostgresStore::open(url, OPTIONS).await.unwrap())
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
    let due = store.take_due(node, &[], 1, 2_000).await.unwrap();
    assert_eq!(due[0].tenant, task.owner.tenant);
    let claim = store.claim(id, Some(node), failure("lost"), 2_000).await;
    let claim = claim.unwrap().unwrap();
    assert_eq!(claim.task.message, task.message);
    assert_eq!(claim.records, [("k\0".to_owned(), vec![0])]);
}
