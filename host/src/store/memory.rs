//! Tasks in this process's memory: for tests, and for servers whose tasks may die with them.

use super::{Applied, Store, StoreError, StoreOptions, Swept};
use crate::limits::SWEEP_BATCH;
use crate::task::{Change, Event, Job, Millis, Task, TaskId, apply};
use async_trait::async_trait;
use parking_lot::Mutex;
use std::collections::{BTreeSet, HashMap};

/// The store `memory:`.
pub struct MemoryStore {
    options: StoreOptions,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    tasks: HashMap<TaskId, (Task, Option<Job>)>,
    /// Exactly the tasks that have a due time, soonest first.
    due: BTreeSet<(Millis, TaskId)>,
}

impl MemoryStore {
    /// An empty store.
    #[must_use]
    pub fn new(options: StoreOptions) -> Self {
        Self {
            options,
            inner: Mutex::default(),
        }
    }

    fn change(&self, inner: &mut Inner, id: TaskId, event: Event, now: Millis) -> Applied {
        let Some((task, job)) = inner.tasks.get_mut(&id) else {
            return Applied::Missing;
        };
        let due_before = task.due_at(self.options.retention);
        match apply(task, event, now) {
            Err(refusal) => Applied::Refused(refusal),
            Ok(Change::Unchanged) => Applied::Unchanged,
            Ok(Change::Changed) => {
                if task.status.is_final() {
                    *job = None;
                }
                let due_now = task.due_at(self.options.retention);
                if due_before != due_now {
                    due_before.map(|due| inner.due.remove(&(due, id)));
                    due_now.map(|due| inner.due.insert((due, id)));
                }
                Applied::Changed
            }
        }
    }

    fn sweep_batch(&self, inner: &mut Inner, expire: &Event, now: Millis) -> Swept {
        let due: Vec<_> = inner
            .due
            .range(..(now.saturating_add(1), TaskId::from_bytes([0; 32])))
            .take(SWEEP_BATCH)
            .copied()
            .collect();
        let mut swept = Swept {
            more: due.len() == SWEEP_BATCH,
            ..Swept::default()
        };
        for (time, id) in due {
            if inner
                .tasks
                .get(&id)
                .is_some_and(|(task, _)| task.status.is_final())
            {
                inner.tasks.remove(&id);
                inner.due.remove(&(time, id));
                swept.removed += 1;
            } else if self.change(inner, id, expire.clone(), now) == Applied::Changed {
                swept.expired.push(id);
            }
        }
        swept
    }
}

#[async_trait]
impl Store for MemoryStore {
    async fn create(&self, id: TaskId, task: Task, job: Job) -> Result<(), StoreError> {
        let mut inner = self.inner.lock();
        if inner.tasks.len() >= self.options.max_tasks {
            let now = task.created_at;
            let removable = |inner: &Inner| {
                let (due, id) = *inner.due.first().filter(|(due, _)| *due <= now)?;
                inner
                    .tasks
                    .get(&id)?
                    .0
                    .status
                    .is_final()
                    .then_some((due, id))
            };
            let (due, dead) = removable(&inner).ok_or(StoreError::LimitReached)?;
            inner.due.remove(&(due, dead));
            inner.tasks.remove(&dead);
        }
        task.due_at(self.options.retention)
            .map(|due| inner.due.insert((due, id)));
        inner.tasks.insert(id, (task, Some(job)));
        Ok(())
    }

    async fn get(&self, id: TaskId) -> Result<Option<Task>, StoreError> {
        Ok(self
            .inner
            .lock()
            .tasks
            .get(&id)
            .map(|(task, _)| task.clone()))
    }

    async fn job(&self, id: TaskId) -> Result<Option<Job>, StoreError> {
        Ok(self
            .inner
            .lock()
            .tasks
            .get(&id)
            .and_then(|(_, job)| job.clone()))
    }

    async fn apply(&self, id: TaskId, event: Event, now: Millis) -> Result<Applied, StoreError> {
        Ok(self.change(&mut self.inner.lock(), id, event, now))
    }

    async fn sweep(&self, expire: Event, now: Millis) -> Result<Swept, StoreError> {
        Ok(self.sweep_batch(&mut self.inner.lock(), &expire, now))
    }

    async fn recover(&self, lose: Event, now: Millis) -> Result<usize, StoreError> {
        let mut inner = self.inner.lock();
        let open: Vec<_> = inner
            .tasks
            .iter()
            .filter(|(_, (task, _))| !task.status.is_final())
            .map(|(id, _)| *id)
            .collect();
        let changed = open
            .iter()
            .filter(|id| self.change(&mut inner, **id, lose.clone(), now) == Applied::Changed);
        Ok(changed.count())
    }
}
