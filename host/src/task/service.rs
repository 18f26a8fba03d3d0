//! What clients and running handlers ask of tasks.
//!
//! Invariants: a client sees its own tasks only, and a foreign id answers like a missing one; a
//! change is told to runs and listeners after the store has it, never before; an unfinished task is
//! run, waits for its client, or stands in the queue of wakes: of the node that left it there, or, if
//! that is gone, of one that finds it in the store (see `node`).

use super::id::TaskId;
use super::listeners::Listeners;
use super::node::{Node, NodeOptions};
use super::notify::{Notifications, Notifier};
use super::record::{Claim, Fence, Millis, NewTask, Principal, Task, Writes};
use super::runs::{Runs, Signals};
use super::state::{Event, Failure, Refusal};
use crate::limits::{IDLE_RUNS, INPUT_BYTES, STORE_RETRY, TaskLimits};
use crate::protocol::{RpcError, check_answer};
use crate::store::{Applied, Store, StoreError, Tally, Unfinished};
use serde_json::{Map, Value};
use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::sync::mpsc;
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
        let told = Self::internal(error.to_string());
        match error {
            StoreError::Unavailable(_) => told.retry_after(STORE_RETRY),
            StoreError::LimitReached(_) | StoreError::Open(_) => told,
        }
    }
}

/// The tasks of a server.
pub struct Tasks {
    pub(super) store: Arc<dyn Store>,
    limits: TaskLimits,
    pub(super) listeners: Arc<Listeners>,
    notifications: Notifications,
    pub(super) runs: Runs,
    /// In a store that others may use.
    pub(super) node: Option<Node>,
    wakes: mpsc::UnboundedSender<Wake>,
}

/// A task that is to run, and from when on.
pub type Wake = (Millis, TaskId);

impl Tasks {
    /// Tasks in a store, and the queue of those that are to run. `node` is what this process is in a
    /// store that others may use; `notifiers` hear of every change that is made here.
    #[must_use]
    pub fn new(
        store: Arc<dyn Store>,
        limits: TaskLimits,
        node: Option<NodeOptions>,
        notifiers: Vec<Arc<dyn Notifier>>,
    ) -> (Arc<Self>, mpsc::UnboundedReceiver<Wake>) {
        let (wakes, queue) = mpsc::unbounded_channel();
        let tasks = Arc::new(Self {
            store,
            limits,
            listeners: Arc::default(),
            notifications: Notifications::new(notifiers),
            runs: Runs::default(),
            node: node.map(Node::new),
            wakes,
        });
        (tasks, queue)
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

    /// Tells notifiers what changes, until the server stops.
    pub async fn notify(&self, stopping: CancellationToken) {
        self.notifications.tell(&*self.store, stopping).await;
    }

    /// A task changed here.
    fn changed(&self, id: TaskId) {
        self.listeners.publish(id);
        self.notifications.note(id);
    }

    /// A caller's task.
    ///
    /// # Errors
    /// [`TaskError`].
    pub async fn get(&self, caller: &Principal, id: TaskId) -> Result<Task, TaskError> {
        let task = self.owned(caller, id).await?;
        if task.status.is_final() || now() < task.ends_at() {
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
        let old: usize = task
            .inputs
            .answered
            .values()
            .map(|it| size(&it.answer))
            .sum();
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
        if self.apply(id, Event::Answer { responses: answers }).await? == Applied::Changed {
            match self.runs.get(id) {
                Some(run) => run.answered.notify_one(),
                None => self.settle(id).await,
            }
            self.changed(id);
        }
        Ok(())
    }

    async fn apply(&self, id: TaskId, event: Event) -> Result<Applied, StoreError> {
        self.store.apply(id, event, Writes::default(), now()).await
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

    /// Ends a task if its ttl is over, or its attempt if that has had its wall time.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn expire(&self, id: TaskId) -> Result<(), StoreError> {
        self.end(id, expiry()).await
    }

    /// Applies an event that ends a task, or its attempt, from outside its run.
    async fn end(&self, id: TaskId, event: Event) -> Result<(), StoreError> {
        if self.apply(id, event).await? == Applied::Changed {
            self.ended(id).await;
        }
        Ok(())
    }

    async fn ended(&self, id: TaskId) {
        match self.runs.get(id) {
            Some(run) => run.signals.cancel.cancel(),
            None => self.settle(id).await,
        }
        self.changed(id);
    }

    /// Creates a task for a call that runs with this fence, durably. If the future is dropped before it
    /// is done, the task is cancelled, as nobody was told of it.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn create(
        self: &Arc<Self>,
        mut new: NewTask,
        signals: Signals,
        fence: Fence,
    ) -> Result<TaskId, StoreError> {
        let id = TaskId::random();
        new.node = self.hold().await?;
        // Known before it can be asked for, so that no cancel can miss the run.
        self.runs.register(id, signals, Some(fence));
        let mut nobody = Unknown(Some((Arc::clone(self), id)));
        let created = self.store.create(id, new).await;
        nobody.0 = None;
        match created {
            Ok(()) => self.notifications.note(id),
            Err(_) => drop(self.runs.remove(id)),
        }
        created.map(|()| id)
    }

    /// Takes a task for a run, if it is ready and does not run here or elsewhere already.
    /// [`Tasks::run_over`] is to be called after the run.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn claim(&self, id: TaskId, signals: Signals) -> Result<Option<Claim>, StoreError> {
        // Before it is a run, which would be lost if the lease is a new one.
        let node = self.hold().await;
        if !self.runs.register(id, signals, None) {
            return Ok(None);
        }
        let claim = match node {
            Ok(node) => self.store.claim(id, node, lost(), now()).await,
            Err(error) => Err(error),
        };
        if let Some(node) = &self.node {
            node.begun(id);
        }
        match &claim {
            Ok(Some(claim)) => {
                let fence = claim.task.fence();
                self.runs.note(id, |run| run.fence = Some(fence));
            }
            Ok(None) => {
                self.runs.remove(id);
                // If it is ready all the same, another node has it.
                let next = self.next_look(id).await;
                next.filter(|next| *next > now())
                    .inspect(|next| self.wake(*next, id));
                self.changed(id);
            }
            Err(_) => {
                self.runs.remove(id);
                self.settle(id).await;
            }
        }
        claim
    }

    /// What a run says of its task, with what it keeps beside. An end is said again until the store
    /// takes it.
    ///
    /// # Errors
    /// A refusal of the state machine, or the store's failure.
    pub async fn report(
        &self,
        id: TaskId,
        event: Event,
        writes: Writes,
    ) -> Result<(), ReportError> {
        let ends = matches!(event, Event::Complete { .. } | Event::Fail { .. });
        let completes = matches!(event, Event::Complete { .. });
        let mut pause = Duration::from_millis(50);
        let applied = loop {
            let apply = self.store.apply(id, event.clone(), writes.clone(), now());
            match apply.await {
                Err(error) if ends && pause < Duration::from_secs(10) => {
                    tracing::warn!(%error, "a task's end is not stored yet");
                    tokio::time::sleep(pause).await;
                    pause *= 2;
                }
                other => break other?,
            }
        };
        match applied {
            Applied::Changed => {
                self.runs.note(id, |run| run.has_ended |= completes);
                self.changed(id);
            }
            Applied::Quiet | Applied::Unchanged => {}
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
        match self.runs.get(id) {
            Some(run) => run.answered.notified().await,
            None => std::future::pending().await,
        }
    }

    /// The run of a task is over, whether or not the task is.
    pub async fn run_over(&self, id: TaskId) {
        let has_ended = self.runs.get(id).is_some_and(|run| run.has_ended);
        if let Some(node) = &self.node {
            if !has_ended {
                // Before another run can begin here, which holds it again; and before it is looked at:
                // answers that come to another node later find it free.
                self.release(node, id).await;
            }
            node.has_room();
        }
        self.runs.remove(id);
        if !has_ended {
            self.settle(id).await;
        }
    }

    /// Queues a task that does not run here for when it should be looked at next: to run, or to end.
    async fn settle(&self, id: TaskId) {
        if let Some(next) = self.next_look(id).await {
            self.wake(next, id);
        }
    }

    /// When a task should be looked at next, if ever. One whose time is over ends with this.
    async fn next_look(&self, id: TaskId) -> Option<Millis> {
        let mut task = self.store.get(id).await;
        let over = |task: &Task| !task.status.is_final() && task.ends_at() <= now();
        if matches!(&task, Ok(Some(task)) if over(task)) {
            task = match self.apply(id, expiry()).await {
                Ok(_) => self.store.get(id).await,
                Err(error) => Err(error),
            };
            self.changed(id);
        }
        match task {
            Ok(task) => {
                let task = task.filter(|task| !task.status.is_final())?;
                let end = task.ends_at();
                let next = task.ready_at().map_or(end, |ready| ready.min(end));
                (next < Millis::MAX).then_some(next)
            }
            Err(error) => {
                tracing::warn!(%error, "a task's state cannot be read; looking again soon");
                Some(now() + LOOK_AGAIN)
            }
        }
    }

    pub(super) fn wake(&self, time: Millis, id: TaskId) {
        // Without a receiver the server stops, and the next start finds the task.
        let _ = self.wakes.send((time, id));
    }

    /// How many tasks there are in each state.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn tally(&self) -> Result<Tally, StoreError> {
        self.store.tally().await
    }

    /// What they are kept in.
    #[must_use]
    pub fn store_kind(&self) -> &'static str {
        self.store.kind()
    }

    /// Tasks that run here now.
    #[must_use]
    pub fn running(&self) -> usize {
        self.runs.len()
    }

    /// Handles all that time has done to tasks. Gives how many ended and how many were removed.
    ///
    /// # Errors
    /// [`StoreError`]; what was done before stays done.
    pub async fn sweep(&self) -> Result<(usize, usize), StoreError> {
        let (mut expired, mut removed) = (0, 0);
        loop {
            let swept = self.store.sweep(expiry(), now()).await?;
            expired += swept.expired.len();
            removed += swept.removed;
            for id in &swept.expired {
                self.ended(*id).await;
            }
            if !swept.more {
                return Ok((expired, removed));
            }
        }
    }

    /// Queues what an earlier server left unfinished, and tells it. In a store that others may use that
    /// is nothing: it is taken when it is due.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn resume(&self) -> Result<Unfinished, StoreError> {
        if self.is_shared() {
            return Ok(Unfinished::default());
        }
        let unfinished = self.store.unfinished().await?;
        for (id, time) in &unfinished.ready {
            self.wake(*time, *id);
        }
        Ok(unfinished)
    }

    /// Digests of the components that unfinished tasks run.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn digests(&self) -> Result<HashSet<String>, StoreError> {
        self.store.digests().await
    }
}

/// A pause after a failure of the store, milliseconds.
const LOOK_AGAIN: Millis = 1_000;

/// A task that is being created, and that nobody was told of yet.
struct Unknown(Option<(Arc<Tasks>, TaskId)>);

impl Drop for Unknown {
    fn drop(&mut self) {
        let Some((tasks, id)) = self.0.take() else {
            return;
        };
        tasks.runs.remove(id);
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                if let Err(error) = tasks.end(id, Event::Cancel).await {
                    tracing::warn!(%error, "could not cancel a task that nobody knows");
                }
            });
        }
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
    Event::Expire {
        ttl: RpcError::internal("The task did not end within its ttl").into(),
        wall: RpcError::internal(
            "The task's attempt took too long, counted from its start and waiting included (limit \
             sandbox.task-wall-ms)",
        )
        .into(),
    }
}

fn lost() -> Failure {
    let message = format!(
        "The server stopped {IDLE_RUNS} times while the task ran, and nothing was kept in between"
    );
    RpcError::internal(message).into()
}

/// The present time.
pub(crate) fn now() -> Millis {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    Millis::try_from(since.as_millis()).unwrap_or(Millis::MAX)
}
