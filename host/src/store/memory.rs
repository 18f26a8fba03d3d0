//! Tasks in this process's memory: for tests, and for servers whose tasks may die with them.

use super::counts::{Counts, Step};
use super::leases::Leases;
use super::{
    Applied, Due, Full, MAKE_ROOM, Next, Store, StoreError, StoreOptions, Swept, Tally, Unfinished,
};
use crate::limits::SWEEP_BATCH;
use crate::task::{
    Claim, Event, Failure, Job, Millis, NewTask, NodeId, Task, TaskId, Writes, apply,
};
use async_trait::async_trait;
use parking_lot::Mutex;
use std::collections::{BTreeSet, HashMap, HashSet};

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
    /// Exactly the tasks that are to run and that nobody holds, soonest first.
    ready: BTreeSet<(Millis, TaskId)>,
    leases: Leases,
    counts: Counts,
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

impl Inner {
    /// Removes a final task.
    fn remove(&mut self, due: Millis, id: TaskId) {
        self.due.remove(&(due, id));
        let Some(Held { task, .. }) = self.tasks.remove(&id) else {
            return;
        };
        self.counts
            .take(&task.owner.tenant, Step::Removed(task.status));
    }

    /// Notes who holds a task that is to run at this time.
    fn hold(&mut self, id: TaskId, ready: Option<Millis>, node: Option<NodeId>) {
        self.leases.hold(id, node);
        let Some(place) = ready.map(|time| (time, id)) else {
            return;
        };
        if self.leases.holder(id).is_some() {
            self.ready.remove(&place);
        } else {
            self.ready.insert(place);
        }
    }

    /// Gives up what nodes held whose leases are over.
    fn end_leases(&mut self, now: Millis) {
        let freed = self.leases.end(now);
        self.free(freed);
    }

    /// Nobody holds these any more.
    fn free(&mut self, freed: Vec<TaskId>) {
        for id in freed {
            let ready = self.tasks.get(&id).and_then(|held| held.task.ready_at());
            self.ready.extend(ready.map(|time| (time, id)));
        }
    }

    /// Its component is not among some.
    fn is_for(&self, id: TaskId, except: &[String]) -> bool {
        let held = self.tasks.get(&id);
        held.is_some_and(|held| !except.contains(&held.task.digest))
    }
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

    /// Removes a final task that is due, if there is one at this time among the first.
    fn remove_due(inner: &mut Inner, now: Millis) -> bool {
        let is_final = |id| {
            let held = inner.tasks.get(id);
            held.is_some_and(|held| held.task.status.is_final())
        };
        let due = inner.due.iter().take_while(|(due, _)| *due <= now);
        let removable = due.take(MAKE_ROOM).find(|(_, id)| is_final(id));
        let Some((due, id)) = removable.copied() else {
            return false;
        };
        inner.remove(due, id);
        true
    }

    fn change(
        &self,
        inner: &mut Inner,
        id: TaskId,
        event: Event,
        writes: Writes,
        now: Millis,
    ) -> Applied {
        let Inner {
            tasks,
            counts,
            due,
            ready,
            leases,
        } = inner;
        let Some(Held { task, work }) = tasks.get_mut(&id) else {
            return Applied::Missing;
        };
        let due_before = task.due_at(self.options.retention);
        let (attempt, from, ready_before) = (task.attempt, task.status, task.ready_at());
        let change = match apply(task, event, now) {
            Err(refusal) => return Applied::Refused(refusal),
            Ok(change) => change,
        };
        let to = task.status;
        if from != to {
            counts.take(&task.owner.tenant, Step::Moved { from, to });
        }
        if to.is_final() {
            *work = None;
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
        let run_ends = task.status.is_final() || task.attempt != attempt;
        let freed = run_ends && leases.hold(id, None).is_some();
        let ready_now = task.ready_at();
        if leases.holder(id).is_none() && (freed || ready_before != ready_now) {
            ready_before.map(|time| ready.remove(&(time, id)));
            ready.extend(ready_now.map(|time| (time, id)));
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
                inner.remove(time, id);
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
        let mut inner = self.inner.lock();
        let now = new.task.created_at;
        let mut room = MAKE_ROOM;
        while let Some(full) = inner.counts.full(&new, self.options.max_tasks) {
            if full == Full::Unfinished || room == 0 || !Self::remove_due(&mut inner, now) {
                return Err(StoreError::LimitReached(full));
            }
            room -= 1;
        }
        let NewTask {
            task,
            job,
            writes,
            node,
            ..
        } = new;
        inner.hold(id, task.ready_at(), node);
        task.due_at(self.options.retention)
            .map(|due| inner.due.insert((due, id)));
        let mut work = Work {
            job,
            rows: Vec::new(),
            records: HashMap::new(),
        };
        work.keep(writes);
        let work = Some(Box::new(work));
        inner
            .counts
            .take(&task.owner.tenant, Step::Created(task.status));
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
        node: Option<NodeId>,
        lost: Failure,
        now: Millis,
    ) -> Result<Option<Claim>, StoreError> {
        let mut inner = self.inner.lock();
        if !inner.leases.may_claim(id, node, now) {
            return Ok(None);
        }
        let claim = Event::Claim { lost };
        if self.change(&mut inner, id, claim, Writes::default(), now) != Applied::Quiet {
            return Ok(None);
        }
        // A claim leaves it ready.
        inner.hold(id, Some(0), node);
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

    async fn take_due(
        &self,
        node: NodeId,
        except: &[String],
        limit: usize,
        now: Millis,
    ) -> Result<Vec<Due>, StoreError> {
        let mut inner = self.inner.lock();
        if inner.leases.known(Some(node)).is_none() {
            return Ok(Vec::new());
        }
        let due = inner.ready.iter().take_while(|(time, _)| *time <= now);
        let due = due.filter(|(_, id)| inner.is_for(*id, except)).take(limit);
        let due: Vec<_> = due.copied().collect();
        let mut taken = Vec::new();
        for (time, id) in due {
            inner.hold(id, Some(time), Some(node));
            let owner = inner.tasks.get(&id).map(|held| &held.task.owner);
            let tenant = owner.map(|owner| owner.tenant.clone());
            taken.extend(tenant.map(|tenant| Due { id, tenant }));
        }
        Ok(taken)
    }

    async fn next_due(&self, node: NodeId, except: &[String]) -> Result<Next, StoreError> {
        let inner = self.inner.lock();
        let mut ready = inner.ready.iter();
        let ready = ready.find(|(_, id)| inner.is_for(*id, except));
        Ok(Next {
            task: ready.map(|(time, _)| *time),
            lease: inner.leases.next_end(node),
        })
    }

    async fn end_leases(&self, now: Millis) -> Result<(), StoreError> {
        self.inner.lock().end_leases(now);
        Ok(())
    }

    async fn retire(&self, node: NodeId) -> Result<(), StoreError> {
        let mut inner = self.inner.lock();
        let freed = inner.leases.retire(node);
        inner.free(freed);
        Ok(())
    }

    async fn renew(&self, node: NodeId, until: Millis) -> Result<bool, StoreError> {
        Ok(self.inner.lock().leases.renew(node, until))
    }

    async fn release(&self, id: TaskId, node: NodeId) -> Result<(), StoreError> {
        let mut inner = self.inner.lock();
        if inner.leases.holder(id) == Some(node) {
            let ready = inner.tasks.get(&id).and_then(|held| held.task.ready_at());
            inner.hold(id, ready, None);
        }
        Ok(())
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
            unfinished
                .ready
                .extend(task.ready_at().map(|time| (*id, time)));
        }
        Ok(unfinished)
    }

    async fn digests(&self) -> Result<HashSet<String>, StoreError> {
        let inner = self.inner.lock();
        let tasks = inner.tasks.values().map(|held| &held.task);
        let unfinished = tasks.filter(|task| !task.status.is_final());
        Ok(unfinished.map(|task| task.digest.clone()).collect())
    }

    fn kind(&self) -> &'static str {
        "memory"
    }

    async fn tally(&self) -> Result<Tally, StoreError> {
        Ok(self.inner.lock().counts.tally())
    }
}
