//! One suite for every store.
//!
//! `tasks` is what clients see and time does, `runs` what a run keeps and who may go on with a task,
//! `leases` which node holds a task, `agreement` that the stores do the same in every order. Here are the stores, and what tests make
//! tasks and events of.

mod agreement;
mod leases;
mod runs;
mod tasks;

use super::{
    Applied, Due, Full, MemoryStore, Move, PostgresStore, SqliteStore, Store, StoreError,
    StoreOptions,
};
use crate::journal::{Seed, Segment};
use crate::limits::SWEEP_BATCH;
use crate::limits::{RunLimits, SandboxLimits, TaskLimits};
use crate::protocol::raw;
use crate::task::{
    Event, Failure, Fence, Job, Millis, NewTask, NodeId, Outcome, Refusal, Retention, Setup,
    Status, Task, TaskId, Wait, Writes, example_task,
};
use cofferdam_postgres::Postgres;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};
use std::sync::{Arc, LazyLock};
use std::time::Duration;
use tempfile::TempDir;
use tokio::runtime::Handle;
use tokio::task::block_in_place;

pub(in crate::store) const OPTIONS: StoreOptions = StoreOptions {
    max_tasks: 100_000,
    retention: Retention {
        without_ttl_ms: 1_000,
        at_least_ms: 100,
    },
    count_pause: Duration::ZERO,
    die_at_write: None,
};

/// A store, and the folder it lives in.
pub(in crate::store) struct Fixture {
    pub(in crate::store) store: Arc<dyn Store>,
    _folder: Option<TempDir>,
}

pub(in crate::store) fn memory(options: StoreOptions) -> Fixture {
    Fixture {
        store: Arc::new(MemoryStore::new(options)),
        _folder: None,
    }
}

pub(in crate::store) fn sqlite(options: StoreOptions) -> Fixture {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(&folder.path().join("tasks.sqlite"), options).unwrap();
    Fixture {
        store: Arc::new(store),
        _folder: Some(folder),
    }
}

/// The server of this process, which ends with it.
pub(in crate::store) fn postgres_server() -> &'static Postgres {
    static SERVER: LazyLock<Postgres> = LazyLock::new(Postgres::start);
    &SERVER
}

/// A database of its own. To be called where a runtime with threads is at hand.
pub(in crate::store) fn postgres(options: StoreOptions) -> Fixture {
    let url = postgres_server().database();
    let opened = PostgresStore::open_patiently(&url, options);
    let store = block_in_place(|| Handle::current().block_on(opened));
    Fixture {
        store: Arc::new(store.unwrap()),
        _folder: None,
    }
}

/// Runs each named test against each store.
macro_rules! suite {
    ($($test:ident),* $(,)?) => {
        mod in_memory {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
            async fn $test() { super::$test($crate::store::suite::memory).await; })*
        }
        mod in_sqlite {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
            async fn $test() { super::$test($crate::store::suite::sqlite).await; })*
        }
        mod in_postgres {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
            async fn $test() { super::$test($crate::store::suite::postgres).await; })*
        }
    };
}

use suite;

/// The run that made a task.
pub(in crate::store) const FIRST: Fence = Fence {
    attempt: 1,
    lease: 0,
};

pub(in crate::store) fn job() -> Job {
    Job {
        arguments: raw(&json!({ "a": "ä\n" })),
        setup: Setup {
            seed: Seed::from_bytes([9; 32]),
            started: 5,
            limits: RunLimits::new(&SandboxLimits::default(), &TaskLimits::default()),
            detached_after: Some(3),
        },
    }
}

pub(in crate::store) fn new(task: Task, writes: Writes) -> NewTask {
    NewTask {
        task,
        job: job(),
        writes,
        node: None,
        most: usize::MAX,
        most_stored: usize::MAX,
    }
}

/// A row of a journal.
pub(in crate::store) fn row(row: u32, replaces: bool, entries: &[u8]) -> Writes {
    Writes {
        segment: Some(Segment {
            row,
            replaces,
            entries: entries.to_vec(),
        }),
        records: Vec::new(),
    }
}

pub(in crate::store) fn failure(message: &str) -> Failure {
    Failure {
        error: raw(&json!({ "code": -32603, "message": message })),
        message: message.to_owned(),
    }
}

/// An event that keeps nothing beside itself.
pub(in crate::store) async fn apply(
    store: &Arc<dyn Store>,
    id: TaskId,
    event: Event,
    now: Millis,
) -> Result<Applied, StoreError> {
    store.apply(id, event, Writes::default(), now).await
}

pub(in crate::store) async fn create(store: &Arc<dyn Store>, task: Task) -> TaskId {
    let id = TaskId::random();
    store
        .create(id, new(task, Writes::default()))
        .await
        .unwrap();
    id
}

pub(in crate::store) fn complete() -> Event {
    Event::Complete {
        fence: FIRST,
        result: raw(&json!({ "content": [] })),
    }
}

pub(in crate::store) fn expire() -> Event {
    Event::Expire {
        ttl: failure("expired"),
        wall: failure("too long"),
    }
}

pub(in crate::store) fn ask(keys: &[&str]) -> Event {
    let request = |key: &&str| ((*key).to_owned(), json!({ "method": "roots/list" }));
    Event::AskInput {
        fence: FIRST,
        requests: keys.iter().map(request).collect(),
    }
}

pub(in crate::store) fn answer(keys: &[&str]) -> Event {
    let answer = |key: &&str| ((*key).to_owned(), json!({ "roots": [] }));
    Event::Answer {
        responses: keys.iter().map(answer).collect(),
    }
}

/// Everything a reader can see.
pub(in crate::store) fn seen(task: &Task) -> Value {
    let outcome = match &task.outcome {
        Some(Outcome::Result(result)) => json!({ "result": result }),
        Some(Outcome::Error(error)) => json!({ "error": error }),
        None => Value::Null,
    };
    json!([task, outcome])
}

pub(in crate::store) async fn store_seen(store: &Arc<dyn Store>, id: TaskId) -> Value {
    seen(&store.get(id).await.unwrap().unwrap())
}

pub(in crate::store) fn keep(fence: Fence) -> Event {
    Event::Keep { fence }
}
