//! Where tasks are kept.
//!
//! Invariants: an answer of a store is durable before it is given; every change goes through the
//! one state machine, atomically; nothing lists tasks. A store knows no tools and no clients.

mod counts;
#[cfg(test)]
mod interleavings;
mod leases;
mod lock;
mod memory;
mod postgres;
mod shared;
mod sqlite;
#[cfg(test)]
mod suite;

pub use counts::{Move, Tally};
pub use lock::{LockError, lock_file};
pub use memory::MemoryStore;
pub use postgres::PostgresStore;
pub use shared::{News, Shared};
pub use sqlite::SqliteStore;

use crate::limits::{DATABASE_COUNT_PAUSE, TaskLimits};
use crate::task::{
    Change, Claim, Event, Failure, Millis, NewTask, NodeId, Refusal, Retention, Task, TaskId,
    Writes,
};
use async_trait::async_trait;
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Why a store did not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// It holds as many tasks as it may.
    #[error("Task limit reached")]
    LimitReached(Full),
    /// It cannot be used now; nothing was changed.
    #[error("the task store is not available: {0}")]
    Unavailable(String),
    /// It cannot be opened.
    #[error("{0}")]
    Open(String),
}

/// Which limit a new task would exceed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Full {
    /// The tenant's unfinished tasks.
    Unfinished,
    /// All of the tenant's tasks, finished ones included.
    Stored,
    /// All tasks of the store.
    Store,
}

/// Final tasks that are removed at most to make room for a new one.
const MAKE_ROOM: usize = 100;

/// What became of an event.
#[derive(Debug, PartialEq, Eq)]
pub enum Applied {
    /// The task is different now, durably.
    Changed,
    /// Something was kept, durably, that clients do not see.
    Quiet,
    /// There was nothing to do.
    Unchanged,
    /// The state machine refused it; the task is as it was.
    Refused(Refusal),
    /// There is no such task.
    Missing,
}

impl From<Change> for Applied {
    fn from(change: Change) -> Self {
        match change {
            Change::Changed => Self::Changed,
            Change::Quiet => Self::Quiet,
            Change::Unchanged => Self::Unchanged,
        }
    }
}

/// What one batch of a sweep did.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Swept {
    /// Tasks whose ttl, or whose attempt's wall time, was over.
    pub expired: Vec<TaskId>,
    /// Final tasks that were removed.
    pub removed: usize,
    /// There is more to do at this time.
    pub more: bool,
}

/// What is left to do when a server starts.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Unfinished {
    /// Tasks that are to run, and from when on.
    pub ready: Vec<(TaskId, Millis)>,
}

/// A task that a node holds now, to run it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Due {
    /// Which.
    pub id: TaskId,
    /// Its owner's tenant.
    pub tenant: String,
}

/// What comes next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Next {
    /// When the first task that nobody holds is to run.
    pub task: Option<Millis>,
    /// When the first lease of another node is over.
    pub lease: Option<Millis>,
}

/// What a store needs to know of the settings.
#[derive(Clone, Copy, Debug)]
pub struct StoreOptions {
    /// Tasks held at once.
    pub max_tasks: usize,
    /// How long final tasks are kept.
    pub retention: Retention,
    /// How long a count of all tasks is good, where one has to look at each.
    pub count_pause: Duration,
    /// For rehearsals: the point of a durable store's writes at which the process kills itself.
    pub die_at_write: Option<u32>,
}

impl Default for StoreOptions {
    /// What goes with the defaults of the settings.
    fn default() -> Self {
        Self::new(&TaskLimits::default())
    }
}

impl StoreOptions {
    /// What goes with these settings.
    #[must_use]
    pub fn new(limits: &TaskLimits) -> Self {
        Self {
            max_tasks: limits.max,
            retention: limits.retention(),
            count_pause: DATABASE_COUNT_PAUSE,
            die_at_write: None,
        }
    }
}

/// A task store.
///
/// Several nodes may use one. A node has a lease, which it renews ([`Store::renew`]), and *holds* tasks
/// under it: those that it makes, takes when they are due, or claims. It holds a task until it
/// releases it, until the task or its attempt ends, or until its lease is ended: by itself
/// ([`Store::retire`]) or, when its time is over, by another node. A node without a lease holds
/// nothing. Holding keeps two nodes from running the same; what makes it harmless if they do is the
/// fence of each claim ([`Event::Claim`]).
#[async_trait]
pub trait Store: Send + Sync + 'static {
    /// Keeps a new task, its job and the beginning of its journal, all or nothing.
    ///
    /// # Errors
    /// [`StoreError::LimitReached`]: the tenant has as many unfinished tasks, or tasks, as it may, or
    /// the store is full, after removing what is due for removal at `task.created_at`;
    /// [`StoreError::Unavailable`].
    async fn create(&self, id: TaskId, new: NewTask) -> Result<(), StoreError>;

    /// The task as it is, with its outcome.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`].
    async fn get(&self, id: TaskId) -> Result<Option<Task>, StoreError>;

    /// Applies an event with the state machine, and keeps the writes unless it is refused, in one
    /// step. A final task's job, journal and records go; the journal of an attempt goes with it.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`].
    async fn apply(
        &self,
        id: TaskId,
        event: Event,
        writes: Writes,
        now: Millis,
    ) -> Result<Applied, StoreError>;

    /// Takes a task for a run, if it is ready ([`Event::Claim`]); from then on the node that is named
    /// holds it, or nobody. `None` if it is not ready, is not there, another node holds it whose lease
    /// is not over, or it failed because of `lost`.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`].
    async fn claim(
        &self,
        id: TaskId,
        node: Option<NodeId>,
        lost: Failure,
        now: Millis,
    ) -> Result<Option<Claim>, StoreError>;

    /// Makes a node hold tasks that are to run at `now` and that nobody holds: those that wait longest,
    /// at most so many, and none of a component whose digest is among `except`. Each is to be claimed
    /// when its run begins, or released. None if the node itself has no lease.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`].
    async fn take_due(
        &self,
        node: NodeId,
        except: &[String],
        limit: usize,
        now: Millis,
    ) -> Result<Vec<Due>, StoreError>;

    /// When it is worth to look again, if nothing happens meanwhile. Tasks of `except` do not count.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`].
    async fn next_due(&self, node: NodeId, except: &[String]) -> Result<Next, StoreError>;

    /// Sets until when the node's lease lasts, for all that it holds. False if it had none: it is new,
    /// or others took it for dead, and what it still runs may be theirs.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`].
    async fn renew(&self, node: NodeId, until: Millis) -> Result<bool, StoreError>;

    /// Ends leases whose time is over at `now`: nobody holds what was held under them.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`].
    async fn end_leases(&self, now: Millis) -> Result<(), StoreError>;

    /// Ends a node's lease: it runs nothing any more.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`].
    async fn retire(&self, node: NodeId) -> Result<(), StoreError>;

    /// The node does not run the task any more; whoever takes it may.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`].
    async fn release(&self, id: TaskId, node: NodeId) -> Result<(), StoreError>;

    /// Handles one batch of what is due: applies `expire` to unfinished tasks whose time is over,
    /// removes final tasks whose time has come.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`].
    async fn sweep(&self, expire: Event, now: Millis) -> Result<Swept, StoreError>;

    /// What is left to do. For a server that starts and knows that nothing else runs these tasks.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`].
    async fn unfinished(&self) -> Result<Unfinished, StoreError>;

    /// Digests of the components that unfinished tasks run.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`].
    async fn digests(&self) -> Result<HashSet<String>, StoreError>;

    /// How many tasks there are, and how often this node moved one: what was answered is counted. A
    /// store of many nodes may tell what there were a few seconds ago.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`].
    async fn tally(&self) -> Result<Tally, StoreError>;

    /// What it is, in a word that an operator knows: of its place nothing is said.
    fn kind(&self) -> &'static str;

    /// What nodes share beside tasks; none if no other process can use the store.
    fn shared(&self) -> Option<Arc<dyn Shared>> {
        None
    }
}

/// Checks the name of a store, without opening it.
///
/// # Errors
/// What is wrong with it. A password that is in it is not repeated.
pub fn check(name: &str) -> Result<(), String> {
    if postgres::is_url(name) {
        return postgres::check(name)
            .map_err(|why| format!("the URL of the store is wrong: {why}"));
    }
    match name.split_once(':') {
        None if name == "sqlite" => Ok(()),
        Some(("sqlite", path)) if !path.is_empty() => Ok(()),
        Some(("memory", "")) => Ok(()),
        _ => {
            let name = name.split_once("//").map_or(name, |(scheme, _)| scheme);
            Err(format!(
                "{name:?} is no store; use sqlite, sqlite:PATH, memory: or \
                 postgres://USER:PASSWORD@HOST/DATABASE"
            ))
        }
    }
}

/// Opens the store that an operator named: `sqlite` (in the data directory), `sqlite:PATH`,
/// `memory:` or the URL of a PostgreSQL database.
///
/// # Errors
/// [`StoreError::Open`], saying what to do.
pub async fn open(
    name: &str,
    data: &Path,
    options: StoreOptions,
) -> Result<Arc<dyn Store>, StoreError> {
    check(name).map_err(|why| StoreError::Open(format!("--store: {why}")))?;
    if postgres::is_url(name) {
        return Ok(Arc::new(PostgresStore::open(name, options).await?));
    }
    Ok(match name.split_once(':') {
        Some(("sqlite", path)) => Arc::new(SqliteStore::open(&PathBuf::from(path), options)?),
        Some(_) => Arc::new(MemoryStore::new(options)),
        None => Arc::new(SqliteStore::open(&data.join("cofferdam.sqlite"), options)?),
    })
}
