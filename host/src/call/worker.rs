//! Runs of tasks that no request waits for: what was parked, what is to be tried again, what an
//! earlier server left.
//!
//! Invariants: a task runs once at a time, under a lease of its own; it runs with the version of the
//! component, the arguments, the limits and the journal that it started with; waiting costs a
//! line in a timetable, or nothing.

use super::drive::Driver;
use super::events::Events;
use super::ready::Ready;
use super::sealer::Sealer;
use super::session::{CallTimes, Session, SessionOptions, journal_of};
use super::target::Target;
use crate::catalog::{LiveCatalog, Tool, VersionError};
use crate::journal::Origin;
use crate::metrics::CallCounters;
use crate::protocol::RpcError;
use crate::store::StoreError;
use crate::task::{Claim, Event, Millis, Signals, TaskId, Tasks, Wake, Writes, now};
use crate::tenants::{Tenant, Tenants};
use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;

/// What runs tasks.
pub struct Worker {
    /// The tasks.
    pub tasks: Arc<Tasks>,
    /// Components by their digests.
    pub catalog: Arc<LiveCatalog>,
    /// What lets them run.
    pub driver: Driver,
    /// Times of calls.
    pub times: CallTimes,
    /// What their owners may.
    pub tenants: Arc<Tenants>,
    /// Where their clocks come from.
    pub origin: Origin,
    /// For sessions, which have one.
    pub sealer: Arc<Sealer>,
}

/// A pause after a failure of the store, milliseconds.
const PAUSE: Millis = 1_000;
/// Longest sleep between two looks at the clock, which may be set.
const LOOK: Duration = Duration::from_secs(60);

impl Worker {
    /// Runs what is queued, each when its time has come, until the server stops.
    pub async fn run(self, mut queue: mpsc::UnboundedReceiver<Wake>) {
        let worker = Arc::new(self);
        let (done, mut over) = mpsc::unbounded_channel();
        let mut later = Timetable::default();
        let mut ready = Ready::new();
        loop {
            let time = now();
            while let Some(id) = later.take_due(time) {
                match worker.look(id).await {
                    Ok(None) => {}
                    Ok(Some((tenant, wanted))) => {
                        if let Some(wanted) = ready.add(&tenant, wanted) {
                            worker.start(wanted, Arc::clone(&tenant.name), &done);
                        }
                    }
                    Err(error) => {
                        tracing::warn!(%error, "a task cannot be read; trying again soon");
                        later.add((time + PAUSE, id));
                    }
                }
            }
            let next = later.first().map_or(LOOK, |at| {
                let left = u64::try_from(at.saturating_sub(now())).unwrap_or(0);
                Duration::from_millis(left).min(LOOK)
            });
            tokio::select! {
                biased;
                () = worker.driver.stopping.cancelled() => return,
                Some(tenant) = over.recv() => {
                    if let Some(wanted) = ready.done(&tenant) {
                        worker.start(wanted, tenant, &done);
                    }
                }
                wake = queue.recv() => match wake {
                    Some(wake) => later.add(wake),
                    None => return,
                },
                () = tokio::time::sleep(next) => {}
            }
        }
    }

    /// What the owner of a task may, and what is to run; `None` if the task does not go on.
    async fn look(&self, id: TaskId) -> Result<Option<(Arc<Tenant>, Wanted)>, StoreError> {
        let task = self.tasks.peek(id).await?;
        let task = task.filter(|task| !task.status.is_final());
        Ok(task.map(|task| {
            let wanted = Wanted {
                id,
                digest: task.digest,
                tool: task.tool,
                served_as: task.served_as,
                source: task.source,
            };
            (self.tenants.of_task(&task.owner.tenant), wanted)
        }))
    }

    fn start(
        self: &Arc<Self>,
        wanted: Wanted,
        tenant: Arc<str>,
        done: &mpsc::UnboundedSender<Arc<str>>,
    ) {
        let (worker, done) = (Arc::clone(self), done.clone());
        self.driver.tracker.spawn(async move {
            worker.run_one(wanted).await;
            // Nobody listens when the server stops.
            let _ = done.send(tenant);
        });
    }

    async fn run_one(&self, wanted: Wanted) {
        let id = wanted.id;
        // Another node may be able to what this one is not.
        if self.tasks.is_shared()
            && let Err(error) = self.version(&wanted).await
        {
            let why = error.to_string();
            self.tasks.leave_to_others(id, &wanted.digest, &why).await;
            return;
        }
        let signals = Signals::default();
        let claim = match self.tasks.claim(id, signals.clone()).await {
            Ok(Some(claim)) => claim,
            Ok(None) => return,
            Err(error) => {
                tracing::warn!(%error, "a task could not be taken; trying again soon");
                return;
            }
        };
        let fence = claim.task.fence();
        match self.session(&wanted, claim, signals).await {
            Ok(session) => self.driver.run_task(session).await,
            Err(error) => {
                tracing::warn!("a task cannot go on: {}", error.message);
                let fail = Event::Fail {
                    fence,
                    failure: error.into(),
                    retry: false,
                };
                if let Err(error) = self.tasks.report(id, fail, Writes::default()).await {
                    tracing::error!(%error, "a task's failure could not be stored");
                }
                self.tasks.run_over(id).await;
            }
        }
    }

    async fn version(&self, wanted: &Wanted) -> Result<Arc<Tool>, VersionError> {
        let Wanted {
            digest,
            tool,
            served_as,
            source,
            ..
        } = wanted;
        self.catalog.version(digest, tool, served_as, source).await
    }

    async fn session(
        &self,
        wanted: &Wanted,
        mut claim: Claim,
        signals: Signals,
    ) -> Result<Arc<Session>, RpcError> {
        let job = claim.job.take().ok_or_else(|| {
            RpcError::internal(
                "The task was started by an earlier version of the server, which kept nothing to \
                 run it again from",
            )
        })?;
        let memory = job.setup.limits.memory_bytes;
        if memory > self.driver.runtime.memory_bytes() {
            return Err(RpcError::internal(format!(
                "The task was started with {memory} bytes of memory, and the server has only {} \
                 for an instance now (limit sandbox.memory-bytes)",
                self.driver.runtime.memory_bytes()
            )));
        }
        let tool = self.version(wanted).await;
        let tool = tool.map_err(|error| RpcError::internal(error.to_string()))?;
        if !tool.component.grants.replays() && !claim.rows.is_empty() {
            return Err(RpcError::internal(
                "The server stopped while the task was running, and the tool may reach directories, \
                 whose content no journal keeps: it cannot be run again to where it was",
            ));
        }
        let journal = journal_of(&mut claim, &job, &self.origin)
            .map_err(|fault| RpcError::internal(fault.to_string()))?;
        let task = &claim.task;
        let metrics = &self.driver.metrics;
        let tenant = self.tenants.of_task(&task.owner.tenant);
        let options = SessionOptions {
            counters: CallCounters::new(metrics.tool(&tool.name), Arc::clone(tenant.metrics())),
            metrics: Arc::clone(metrics),
            target: Target::Tool(tool),
            tasks: Some(Arc::clone(&self.tasks)),
            owner: task.owner.clone(),
            tenant,
            features: task.features,
            client: task.features,
            arguments: job.arguments,
            setup: job.setup,
            events: Arc::new(Events::new(false)),
            progress_token: None,
            log_level: None,
            sealer: Arc::clone(&self.sealer),
            answered: Default::default(),
            offered: Default::default(),
            times: self.times,
            origin: self.origin.clone(),
            trace: task.trace.clone(),
        };
        Ok(Session::of_task(options, journal, wanted.id, task, signals))
    }
}

/// A task that is to run, and what of: that never changes.
struct Wanted {
    id: TaskId,
    digest: String,
    tool: String,
    served_as: String,
    source: String,
}

/// When each task is to be looked at next. Of two times for one task the sooner counts.
#[derive(Default)]
struct Timetable {
    by_time: BTreeSet<(Millis, TaskId)>,
    by_task: HashMap<TaskId, Millis>,
}

impl Timetable {
    fn add(&mut self, (time, id): Wake) {
        match self.by_task.entry(id) {
            Entry::Occupied(entry) if *entry.get() <= time => return,
            Entry::Occupied(mut entry) => {
                self.by_time.remove(&(*entry.get(), id));
                entry.insert(time);
            }
            Entry::Vacant(entry) => {
                entry.insert(time);
            }
        }
        self.by_time.insert((time, id));
    }

    fn first(&self) -> Option<Millis> {
        self.by_time.first().map(|(time, _)| *time)
    }

    fn take_due(&mut self, now: Millis) -> Option<TaskId> {
        let (time, id) = *self.by_time.first().filter(|(time, _)| *time <= now)?;
        self.by_time.remove(&(time, id));
        self.by_task.remove(&id);
        Some(id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_stands_in_the_timetable_once_at_its_soonest_time() {
        let mut table = Timetable::default();
        let (a, b) = (TaskId::random(), TaskId::random());
        for wake in [(50, a), (20, b), (30, a), (40, a)] {
            table.add(wake);
        }
        assert_eq!(table.by_time.len(), 2);
        assert_eq!(table.take_due(19), None);
        assert_eq!(table.first(), Some(20));
        assert_eq!(table.take_due(30), Some(b));
        assert_eq!(table.take_due(30), Some(a));
        assert_eq!((table.first(), table.by_task.len()), (None, 0));
    }
}
