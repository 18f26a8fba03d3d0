//! What clients and running handlers ask of tasks.
//!
//! Invariants: a client sees its own tasks only, and a foreign id answers like a missing one; a
//! change is told to runs and listeners after the store has it, never before.

use super::id::TaskId;
use super::listeners::Listeners;
use super::record::{Job, Millis, Principal, Task};
use super::state::{Event, Refusal};
use crate::limits::{INPUT_BYTES, TaskLimits};
use crate::protocol::{RpcError, check_answer, raw};
use crate::store::{Applied, Store, StoreError};
use parking_lot::Mutex;
use serde_json::{Map, Value};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// Why a client's request about a task failed.
#[derive(Debug, thiserror::Error)]
pub enum TaskError {
    /// No such task, or not this caller's.
    #[error("Failed to retrieve task: Task not found")]
    NotFound,
    /// It was this caller's, and its time is over.
    #[error("Failed to retrieve task: Task has expired")]
    Expired,
    /// An answer does not fit its request. Nothing was taken.
    #[error("inputResponses[{0:?}]: {1}")]
    BadAnswer(String, String),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<TaskError> for RpcError {
    fn from(error: TaskError) -> Self {
        match error {
            TaskError::Store(error) => error.into(),
            other => Self::invalid_params(other.to_string()),
        }
    }
}

impl From<StoreError> for RpcError {
    fn from(error: StoreError) -> Self {
        Self::internal(error.to_string())
    }
}

/// How a running handler is reached.
#[derive(Clone)]
struct Run {
    cancel: CancellationToken,
    answered: Arc<Notify>,
}

/// The tasks of a server.
pub struct Tasks {
    store: Arc<dyn Store>,
    limits: TaskLimits,
    listeners: Arc<Listeners>,
    runs: Mutex<HashMap<TaskId, Run>>,
}

impl Tasks {
    /// Tasks in a store.
    #[must_use]
    pub fn new(store: Arc<dyn Store>, limits: TaskLimits) -> Arc<Self> {
        Arc::new(Self {
            store,
            limits,
            listeners: Arc::default(),
            runs: Mutex::default(),
        })
    }

    /// The settings of tasks.
    #[must_use]
    pub fn limits(&self) -> &TaskLimits {
        &self.limits
    }

    /// Who hears of changes.
    #[must_use]
    pub fn listeners(&self) -> &Arc<Listeners> {
        &self.listeners
    }

    /// A caller's task.
    ///
    /// # Errors
    /// [`TaskError`].
    pub async fn get(&self, caller: &Principal, id: TaskId) -> Result<Task, TaskError> {
        let task = self.owned(caller, id).await?;
        if task.status.is_final() || task.deadline().is_none_or(|deadline| now() < deadline) {
            return Ok(task);
        }
        self.expire(id).await?;
        self.owned(caller, id).await
    }

    async fn owned(&self, caller: &Principal, id: TaskId) -> Result<Task, TaskError> {
        let task = self.store.get(id).await?.ok_or(TaskError::NotFound)?;
        if task.owner != *caller {
            return Err(TaskError::NotFound);
        }
        let over = task
            .due_at(self.limits.retention())
            .is_some_and(|due| due <= now());
        if task.status.is_final() && over {
            Err(TaskError::Expired)
        } else {
            Ok(task)
        }
    }

    /// Takes a caller's answers. Keys that are not open are passed over; one malformed answer to an
    /// open key refuses them all.
    ///
    /// # Errors
    /// [`TaskError`].
    pub async fn update(
        &self,
        caller: &Principal,
        id: TaskId,
        responses: Map<String, Value>,
    ) -> Result<(), TaskError> {
        let task = self.get(caller, id).await?;
        let mut answers = Vec::new();
        for (key, response) in responses {
            if let Some(request) = task.inputs.open.get(&key) {
                check_answer(request, &response)
                    .map_err(|error| TaskError::BadAnswer(key.clone(), error.to_string()))?;
                answers.push((key, response));
            }
        }
        let size = |value: &Value| value.to_string().len();
        let old: usize = task.inputs.answered.values().map(size).sum();
        let new: usize = answers.iter().map(|(_, answer)| size(answer)).sum();
        if let Some((key, _)) = answers.first()
            && old + new > INPUT_BYTES
        {
            let limit = format!("the answers of a task may have {INPUT_BYTES} bytes together");
            return Err(TaskError::BadAnswer(key.clone(), limit));
        }
        if answers.is_empty() {
            return Ok(());
        }
        if self
            .store
            .apply(id, Event::Answer { responses: answers }, now())
            .await?
            == Applied::Changed
        {
            let run = self.runs.lock().get(&id).cloned();
            if let Some(run) = run {
                run.answered.notify_one();
            }
            self.listeners.publish(id);
        }
        Ok(())
    }

    /// Cancels a caller's task: at once for everyone who looks, and its run is told. A final task
    /// stays as it is.
    ///
    /// # Errors
    /// [`TaskError`].
    pub async fn cancel(&self, caller: &Principal, id: TaskId) -> Result<(), TaskError> {
        self.get(caller, id).await?;
        self.end(id, Event::Cancel).await?;
        Ok(())
    }

    /// Fails a task if its ttl is over.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn expire(&self, id: TaskId) -> Result<(), StoreError> {
        self.end(id, expiry()).await
    }

    /// Applies an event that ends a task from outside its run.
    async fn end(&self, id: TaskId, event: Event) -> Result<(), StoreError> {
        if self.store.apply(id, event, now()).await? == Applied::Changed {
            self.ended(id);
        }
        Ok(())
    }

    fn ended(&self, id: TaskId) {
        let run = self.runs.lock().get(&id).cloned();
        if let Some(run) = run {
            run.cancel.cancel();
        }
        self.listeners.publish(id);
    }

    /// Creates a task for a call that runs, durably.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn create(
        &self,
        task: Task,
        job: Job,
        cancel: CancellationToken,
    ) -> Result<TaskId, StoreError> {
        let id = TaskId::random();
        // Known before it can be asked for, so that no cancel can miss the run.
        self.runs.lock().insert(
            id,
            Run {
                cancel,
                answered: Arc::default(),
            },
        );
        let created = self.store.create(id, task, job).await;
        if created.is_err() {
            self.runs.lock().remove(&id);
        }
        created.map(|()| id)
    }

    /// What a run says of its task. An end is said again until the store takes it.
    ///
    /// # Errors
    /// A refusal of the state machine, or the store's failure.
    pub async fn report(&self, id: TaskId, event: Event) -> Result<(), ReportError> {
        let ends = matches!(event, Event::Complete { .. } | Event::Fail { .. });
        let mut pause = Duration::from_millis(50);
        let applied = loop {
            match self.store.apply(id, event.clone(), now()).await {
                Err(error) if ends && pause < Duration::from_secs(10) => {
                    tracing::warn!(%error, "a task's end is not stored yet");
                    tokio::time::sleep(pause).await;
                    pause *= 2;
                }
                other => break other?,
            }
        };
        match applied {
            Applied::Changed => self.listeners.publish(id),
            Applied::Unchanged => {}
            Applied::Refused(refusal) => return Err(ReportError::Refused(refusal)),
            Applied::Missing => return Err(ReportError::Refused(Refusal::Final)),
        }
        Ok(())
    }

    /// The task as its run sees it.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn peek(&self, id: TaskId) -> Result<Option<Task>, StoreError> {
        self.store.get(id).await
    }

    /// Resolves when answers may have come for a task that runs here.
    pub async fn answered(&self, id: TaskId) {
        let run = self.runs.lock().get(&id).cloned();
        match run {
            Some(run) => run.answered.notified().await,
            None => std::future::pending().await,
        }
    }

    /// The run of a task is over.
    pub fn run_over(&self, id: TaskId) {
        self.runs.lock().remove(&id);
    }

    /// The server stops: fails the tasks that still run, and tells their runs.
    pub async fn stop_runs(&self) {
        let ids: Vec<TaskId> = self.runs.lock().keys().copied().collect();
        for id in ids {
            if let Err(error) = self.end(id, loss()).await {
                // The next start finds it and fails it.
                tracing::warn!(%error, "could not fail a task that the stop interrupts");
            }
        }
    }

    /// Handles all that time has done to tasks. Gives how many were failed and how many removed.
    ///
    /// # Errors
    /// [`StoreError`]; what was done before stays done.
    pub async fn sweep(&self) -> Result<(usize, usize), StoreError> {
        let (mut expired, mut removed) = (0, 0);
        loop {
            let swept = self.store.sweep(expiry(), now()).await?;
            expired += swept.expired.len();
            removed += swept.removed;
            swept.expired.iter().for_each(|id| self.ended(*id));
            if !swept.more {
                return Ok((expired, removed));
            }
        }
    }

    /// Fails the tasks whose runs an earlier server took with it. Gives how many.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn recover(&self) -> Result<usize, StoreError> {
        self.store.recover(loss(), now()).await
    }
}

/// Why a run's report was not taken.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// By the state machine.
    #[error(transparent)]
    Refused(Refusal),
    /// By the store.
    #[error(transparent)]
    Store(#[from] StoreError),
}

fn expiry() -> Event {
    let message = "The task did not end within its ttl";
    Event::Expire {
        error: raw(&RpcError::internal(message)),
        message: message.to_owned(),
    }
}

fn loss() -> Event {
    let message = "The server stopped while the task was running";
    Event::Lose {
        error: raw(&RpcError::internal(message)),
        message: message.to_owned(),
    }
}

/// The present time.
pub(crate) fn now() -> Millis {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    Millis::try_from(since.as_millis()).unwrap_or(Millis::MAX)
}
