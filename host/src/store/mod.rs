//! Where tasks are kept.
//!
//! Invariants: an answer of a store is durable before it is given; every change goes through the
//! one state machine, atomically; nothing lists tasks. A store knows no tools and no clients.

mod lock;
mod memory;
mod sqlite;
#[cfg(test)]
mod sqlite_tests;
#[cfg(test)]
mod suite;

pub use lock::{LockError, lock_file};
pub use memory::MemoryStore;
pub use sqlite::SqliteStore;

use crate::task::{Event, Job, Millis, Refusal, Retention, Task, TaskId};
use async_trait::async_trait;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Why a store did not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// It holds as many tasks as it may.
    #[error("Task limit reached")]
    LimitReached,
    /// It cannot be used now; nothing was changed.
    #[error("the task store is not available: {0}")]
    Unavailable(String),
    /// It cannot be opened.
    #[error("{0}")]
    Open(String),
}

/// What became of an event.
#[derive(Debug, PartialEq, Eq)]
pub enum Applied {
    /// The task is different now, durably.
    Changed,
    /// There was nothing to do.
    Unchanged,
    /// The state machine refused it; the task is as it was.
    Refused(Refusal),
    /// There is no such task.
    Missing,
}

/// What one batch of a sweep did.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Swept {
    /// Tasks that were failed because their ttl was over.
    pub expired: Vec<TaskId>,
    /// Final tasks that were removed.
    pub removed: usize,
    /// There is more to do at this time.
    pub more: bool,
}

/// What a store needs to know of the settings.
#[derive(Clone, Copy, Debug)]
pub struct StoreOptions {
    /// Tasks held at once.
    pub max_tasks: usize,
    /// How long final tasks are kept.
    pub retention: Retention,
}

/// A task store.
#[async_trait]
pub trait Store: Send + Sync + 'static {
    /// Keeps a new task and its job, both or neither.
    ///
    /// # Errors
    /// [`StoreError::LimitReached`], after removing what is due for removal at `task.created_at`;
    /// [`StoreError::Unavailable`].
    async fn create(&self, id: TaskId, task: Task, job: Job) -> Result<(), StoreError>;

    /// The task as it is, with its outcome.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`].
    async fn get(&self, id: TaskId) -> Result<Option<Task>, StoreError>;

    /// The job of a task that is not final.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`].
    async fn job(&self, id: TaskId) -> Result<Option<Job>, StoreError>;

    /// Applies an event with the state machine, atomically. A final task's job is dropped.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`].
    async fn apply(&self, id: TaskId, event: Event, now: Millis) -> Result<Applied, StoreError>;

    /// Handles one batch of what is due: applies `expire` to tasks whose ttl is over, removes final
    /// tasks whose time has come.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`].
    async fn sweep(&self, expire: Event, now: Millis) -> Result<Swept, StoreError>;

    /// Applies `lose` to every task that is not final, and says how many there were. For a server
    /// that starts and knows that nothing else runs these tasks.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`].
    async fn recover(&self, lose: Event, now: Millis) -> Result<usize, StoreError>;
}

/// Opens the store that an operator named: `sqlite` (in the data directory), `sqlite:PATH` or
/// `memory:`.
///
/// # Errors
/// [`StoreError::Open`], saying what to do.
pub fn open(name: &str, data: &Path, options: StoreOptions) -> Result<Arc<dyn Store>, StoreError> {
    match name.split_once(':') {
        None if name == "sqlite" => Ok(Arc::new(SqliteStore::open(
            &data.join("cofferdam.sqlite"),
            options,
        )?)),
        Some(("sqlite", path)) if !path.is_empty() => {
            Ok(Arc::new(SqliteStore::open(&PathBuf::from(path), options)?))
        }
        Some(("memory", "")) => Ok(Arc::new(MemoryStore::new(options))),
        _ => Err(StoreError::Open(format!(
            "--store {name}: unknown store; use sqlite, sqlite:PATH or memory:"
        ))),
    }
}
