//! Tasks in this process's memory: for tests, and for servers whose tasks may die with them.

use super::{Applied, Store, StoreError, StoreOptions, Swept, Unfinished};
use crate::limits::SWEEP_BATCH;
use crate::task::{Claim, Event, Failure, Job, Millis, NewTask, Task, TaskId, Writes, apply};
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
    tasks: HashMap<TaskId, Held>,
    /// Exactly the tasks that have a due time, soonest first.
    due: BTreeSet<(Millis, TaskId)>,
    /// Unfinished tasks, by tenant.
    open: HashMap<String, usize>,
}

struct Held {
    task: Task,
    /// What its runs need, until it is final.
    work: Option<Box<Work>>,
}

struct Work {
    job: Job,
    rows: Vec<Vec<u8>>,
    records: HashMap<String, Vec<u8>>,
}

impl Work {
    fn keep(&mut self, writes: Writes) {
        if let Some(segment) = writes.segment {
            self.rows.truncate(segment.row as usize);
            self.rows.push(segment.entries);
        }
        self.records.extend(writes.records);
    }
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

    fn change(
        &self,
        inner: &mut Inner,
        id: TaskId,
        event: Event,
        writes: Writes,
        now: Millis,
    ) -> Applied {
        let Inner { tasks, open, due } = inner;
        let Some(Held { task, work }) = tasks.get_mut(&id) else {
            return Applied::Missing;
        };
        let due_before = task.due_at(self.options.retention);
        let attempt = task.attempt;
        let change = match apply(task, event, now) {
            Err(refusal) => return Applied::Refused(refusal),
            Ok(change) => change,
        };
        if task.status.is_final() {
            if work.take().is_some()
                && let Some(count) = open.get_mut(&task.owner.tenant)
            {
                *count -= 1;
                if *count == 0 {
                    open.remove(&task.owner.tenant);
                }
            }
        } else if let Some(work) = work {
            if task.attempt != attempt {
                work.rows.clear();
            }
            work.keep(writes);
        }
        let due_now = task.due_at(self.options.retention);
        if due_before != due_now {
            due_before.map(|time| due.remove(&(time, id)));
            due_now.map(|time| due.insert((time, id)));
        }
        change.into()
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
                .is_some_and(|held| held.task.status.is_final())
            {
                inner.tasks.remove(&id);
                inner.due.remove(&(time, id));
                swept.removed += 1;
            } else if self.change(inner, id, expire.clone(), Writes::default(), now)
                == Applied::Changed
            {
                swept.expired.push(id);
            }
        }
        swept
    }
}

#[async_trait]
impl Store for MemoryStore {
    async fn create(&self, id: TaskId, new: NewTask) -> Result<(), StoreError> {
        let NewTask {
            task,
            job,
            writes,
            most,
        } = new;
        let mut inner = self.inner.lock();
        let tenant = &task.owner.tenant;
        if inner.open.get(tenant).is_some_and(|open| *open >= most) {
            return Err(StoreError::LimitReached);
        }
        if inner.tasks.len() >= self.options.max_tasks {
            let now = task.created_at;
            let removable = |inner: &Inner| {
                let (due, id) = *inner.due.first().filter(|(due, _)| *due <= now)?;
                let is_final = inner.tasks.get(&id)?.task.status.is_final();
                is_final.then_some((due, id))
            };
            let (due, dead) = removable(&inner).ok_or(StoreError::LimitReached)?;
            inner.due.remove(&(due, dead));
            inner.tasks.remove(&dead);
        }
        task.due_at(self.options.retention)
            .map(|due| inner.due.insert((due, id)));
        let mut work = Work {
            job,
            rows: Vec::new(),
            records: HashMap::new(),
        };
        work.keep(writes);
        let work = Some(Box::new(work));
        *inner.open.entry(task.owner.tenant.clone()).or_default() += 1;
        inner.tasks.insert(id, Held { task, work });
        Ok(())
    }

    async fn get(&self, id: TaskId) -> Result<Option<Task>, StoreError> {
        let inner = self.inner.lock();
        Ok(inner.tasks.get(&id).map(|held| held.task.clone()))
    }

    async fn apply(
        &self,
        id: TaskId,
        event: Event,
        writes: Writes,
        now: Millis,
    ) -> Result<Applied, StoreError> {
        Ok(self.change(&mut self.inner.lock(), id, event, writes, now))
    }

    async fn claim(
        &self,
        id: TaskId,
        lost: Failure,
        now: Millis,
    ) -> Result<Option<Claim>, StoreError> {
        let mut inner = self.inner.lock();
        let claim = Event::Claim { lost };
        if self.change(&mut inner, id, claim, Writes::default(), now) != Applied::Quiet {
            return Ok(None);
        }
        let claim = |held: &Held| {
            let work = held.work.as_ref()?;
            let records = work.records.iter();
            Some(Claim {
                task: held.task.clone(),
                job: Some(work.job.clone()),
                rows: work.rows.clone(),
                records: records
                    .map(|(key, value)| (key.clone(), value.clone()))
                    .collect(),
            })
        };
        Ok(inner.tasks.get(&id).and_then(claim))
    }

    async fn sweep(&self, expire: Event, now: Millis) -> Result<Swept, StoreError> {
        Ok(self.sweep_batch(&mut self.inner.lock(), &expire, now))
    }

    async fn unfinished(&self) -> Result<Unfinished, StoreError> {
        let mut unfinished = Unfinished::default();
        for (id, Held { task, .. }) in &self.inner.lock().tasks {
            if task.status.is_final() {
                continue;
            }
            unfinished.digests.insert(task.digest.clone());
            unfinished
                .ready
                .extend(task.ready_at().map(|time| (*id, time)));
        }
        Ok(unfinished)
    }
}
