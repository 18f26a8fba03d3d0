//! The one thread that writes.
//!
//! Invariant: it takes whatever operations wait into one transaction, and answers them when that is
//! on disk; what a failed transaction held is refused as a whole.

use super::super::counts::{Counts, Step};
use super::super::leases::Leases;
use super::super::{Applied, Due, Full, MAKE_ROOM, Next, StoreError, StoreOptions, Swept, Tally};
use super::counted::Changes;
use super::rows;
use crate::journal::kill_this_process;
use crate::limits::{COMMIT_BATCH, SWEEP_BATCH};
use crate::protocol::raw;
use crate::task::{
    Change, Event, Failure, Millis, NewTask, NodeId, Outcome, Task, TaskId, Writes, apply,
};
use parking_lot::Mutex;
use rusqlite::{Connection, OptionalExtension as _, Row, params};
use std::sync::{Arc, mpsc};
use tokio::sync::oneshot;

pub(super) type Reply<T> = oneshot::Sender<Result<T, StoreError>>;

/// What the writer does.
pub(super) enum Operation {
    Create(TaskId, Box<NewTask>, Reply<()>),
    Apply(TaskId, Box<(Event, Writes)>, Millis, Reply<Applied>),
    Claim(
        TaskId,
        Option<NodeId>,
        Failure,
        Millis,
        Reply<Option<Box<Task>>>,
    ),
    TakeDue(NodeId, Vec<String>, usize, Millis, Reply<Vec<Due>>),
    NextDue(NodeId, Vec<String>, Reply<Next>),
    EndLeases(Millis, Reply<()>),
    Retire(NodeId, Reply<()>),
    Renew(NodeId, Millis, Reply<bool>),
    Release(TaskId, NodeId, Reply<()>),
    Sweep(Box<Event>, Millis, Reply<Swept>),
}

/// The one that writes.
pub(super) struct Writer {
    connection: Connection,
    options: StoreOptions,
    /// Of the rows in `tasks`.
    counts: Counts,
    leases: Leases,
    /// What the present transaction did to them.
    undo: Vec<Undo>,
    /// What it does to the counts in the file.
    changes: Changes,
    /// What others see of the counts: those of what is on disk.
    tally: Arc<Mutex<Tally>>,
}

/// How something that is kept in memory is undone.
enum Undo {
    Count(String, Step),
    Hold(TaskId, Option<NodeId>),
}

/// An answer that waits for its transaction to be on disk.
type Pending = Box<dyn FnOnce(Result<(), &str>) + Send>;

impl Writer {
    pub(super) fn new(
        connection: Connection,
        options: StoreOptions,
        counts: Counts,
        tally: Arc<Mutex<Tally>>,
    ) -> Self {
        Self {
            connection,
            options,
            counts,
            leases: Leases::default(),
            undo: Vec::new(),
            changes: Changes::default(),
            tally,
        }
    }

    pub(super) fn run(&mut self, operations: &mpsc::Receiver<Operation>) {
        while let Ok(first) = operations.recv() {
            let mut pending = Vec::new();
            self.undo.clear();
            self.changes.clear();
            let committed = self.transaction(first, operations, &mut pending);
            self.may_die();
            if let Err(error) = &committed {
                for undo in std::mem::take(&mut self.undo).into_iter().rev() {
                    match undo {
                        Undo::Count(tenant, step) => self.counts.undo(&tenant, step),
                        Undo::Hold(id, node) => drop(self.leases.hold(id, node)),
                    }
                }
                tracing::error!(%error, "the task store could not write");
                // Nothing is left of the transaction; if there was none, there is nothing to undo.
                let _ = self.connection.execute_batch("ROLLBACK");
            }
            *self.tally.lock() = self.counts.tally();
            let error = committed.err().map(|error| error.to_string());
            for answer in pending {
                answer(error.as_deref().map_or(Ok(()), Err));
            }
        }
    }

    fn transaction(
        &mut self,
        first: Operation,
        operations: &mpsc::Receiver<Operation>,
        pending: &mut Vec<Pending>,
    ) -> rusqlite::Result<()> {
        let begun = self.connection.execute_batch("BEGIN IMMEDIATE");
        let mut failure = begun.err();
        let mut next = Some(first);
        while let Some(operation) = next {
            // After a failure the rest of the batch is only answered.
            if let Err(error) = self.execute(operation, failure.is_some(), pending) {
                failure = Some(error);
            }
            next = if pending.len() < COMMIT_BATCH {
                operations.try_recv().ok()
            } else {
                None
            };
        }
        match failure {
            Some(error) => Err(error),
            None => {
                self.may_die();
                self.changes.write(&self.connection)?;
                self.connection.execute_batch("COMMIT")
            }
        }
    }

    /// A point at which a rehearsal may end the process.
    fn may_die(&mut self) {
        if let Some(left) = &mut self.options.die_at_write {
            match left.checked_sub(1) {
                Some(fewer) => *left = fewer,
                None => kill_this_process(),
            }
        }
    }

    fn execute(
        &mut self,
        operation: Operation,
        failed: bool,
        pending: &mut Vec<Pending>,
    ) -> rusqlite::Result<()> {
        match operation {
            Operation::Create(id, new, reply) => {
                self.step(failed, pending, reply, |writer| writer.create(id, &new))
            }
            Operation::Apply(id, change, now, reply) => {
                self.step(failed, pending, reply, |writer| {
                    let (event, writes) = *change;
                    let (applied, _) = writer.apply(id, event, &writes, now)?;
                    Ok(Ok(applied))
                })
            }
            Operation::Claim(id, node, lost, now, reply) => {
                self.step(failed, pending, reply, |writer| {
                    Ok(Ok(writer.claim(id, node, lost, now)?))
                })
            }
            Operation::TakeDue(node, except, limit, now, reply) => {
                self.step(failed, pending, reply, |writer| {
                    Ok(Ok(writer.take_due(node, &except, limit, now)?))
                })
            }
            Operation::NextDue(node, except, reply) => {
                self.step(failed, pending, reply, |writer| {
                    Ok(Ok(writer.next_due(node, &except)?))
                })
            }
            // Leases end, whatever becomes of this transaction.
            Operation::EndLeases(now, reply) => self.step(failed, pending, reply, |writer| {
                writer.leases.end(now);
                Ok(Ok(()))
            }),
            Operation::Retire(node, reply) => self.step(failed, pending, reply, |writer| {
                writer.leases.retire(node);
                Ok(Ok(()))
            }),
            Operation::Renew(node, until, reply) => self.step(failed, pending, reply, |writer| {
                Ok(Ok(writer.leases.renew(node, until)))
            }),
            Operation::Release(id, node, reply) => self.step(failed, pending, reply, |writer| {
                if writer.leases.holder(id) == Some(node) {
                    writer.hold(id, None);
                }
                Ok(Ok(()))
            }),
            Operation::Sweep(expire, now, reply) => self.step(failed, pending, reply, |writer| {
                Ok(Ok(writer.sweep(&expire, now)?))
            }),
        }
    }

    /// Runs one operation, and keeps its answer until the transaction's fate is known.
    fn step<T: Send + 'static>(
        &mut self,
        failed: bool,
        pending: &mut Vec<Pending>,
        reply: Reply<T>,
        work: impl FnOnce(&mut Self) -> rusqlite::Result<Result<T, StoreError>>,
    ) -> rusqlite::Result<()> {
        let (answer, result) = match if failed {
            Ok(None)
        } else {
            work(self).map(Some)
        } {
            Ok(answer) => (answer, Ok(())),
            Err(error) => (None, Err(error)),
        };
        pending.push(Box::new(move |fate| {
            let answer = match (fate, answer) {
                (Ok(()), Some(answer)) => answer,
                (Err(error), _) => Err(StoreError::Unavailable(error.to_owned())),
                (Ok(()), None) => Err(StoreError::Unavailable("it did not run".to_owned())),
            };
            let _ = reply.send(answer);
        }));
        result
    }

    fn count(&mut self, tenant: String, digest: &str, step: Step) {
        self.changes.add(&tenant, digest, step);
        self.counts.take(&tenant, step);
        self.undo.push(Undo::Count(tenant, step));
    }

    fn hold(&mut self, id: TaskId, node: Option<NodeId>) {
        let before = self.leases.hold(id, node);
        if before != node {
            self.undo.push(Undo::Hold(id, before));
        }
    }

    fn claim(
        &mut self,
        id: TaskId,
        node: Option<NodeId>,
        lost: Failure,
        now: Millis,
    ) -> rusqlite::Result<Option<Box<Task>>> {
        if !self.leases.may_claim(id, node, now) {
            return Ok(None);
        }
        let claim = Event::Claim { lost };
        match self.apply(id, claim, &Writes::default(), now)? {
            (Applied::Quiet, task) => {
                self.hold(id, node);
                Ok(task)
            }
            _ => Ok(None),
        }
    }

    fn take_due(
        &mut self,
        node: NodeId,
        except: &[String],
        limit: usize,
        now: Millis,
    ) -> rusqlite::Result<Vec<Due>> {
        let mut taken = Vec::new();
        if self.leases.known(Some(node)).is_none() {
            return Ok(taken);
        }
        let mut select = self.connection.prepare_cached(
            "SELECT id, head ->> '$.digest', tenant FROM tasks WHERE ready_at <= ?1
             ORDER BY ready_at",
        )?;
        let mut rows = select.query([now])?;
        while taken.len() < limit
            && let Some(row) = rows.next()?
        {
            if let Some(id) = self.free(row, except)? {
                let tenant = row.get(2)?;
                taken.push(Due { id, tenant });
            }
        }
        drop(rows);
        drop(select);
        for due in &taken {
            self.hold(due.id, Some(node));
        }
        Ok(taken)
    }

    /// The task of a row `id, digest`, if nobody holds it and its component is not among some.
    fn free(&self, row: &Row<'_>, except: &[String]) -> rusqlite::Result<Option<TaskId>> {
        let (id, digest) = (TaskId::from_bytes(row.get(0)?), row.get(1)?);
        let is_free = self.leases.holder(id).is_none() && !except.contains(&digest);
        Ok(is_free.then_some(id))
    }

    fn next_due(&self, node: NodeId, except: &[String]) -> rusqlite::Result<Next> {
        let mut select = self.connection.prepare_cached(
            "SELECT id, head ->> '$.digest', ready_at FROM tasks WHERE ready_at IS NOT NULL
             ORDER BY ready_at",
        )?;
        let mut rows = select.query([])?;
        let mut task = None;
        while task.is_none()
            && let Some(row) = rows.next()?
        {
            if self.free(row, except)?.is_some() {
                task = Some(row.get(2)?);
            }
        }
        let lease = self.leases.next_end(node);
        Ok(Next { task, lease })
    }

    fn create(&mut self, id: TaskId, new: &NewTask) -> rusqlite::Result<Result<(), StoreError>> {
        let NewTask {
            task,
            job,
            writes,
            node,
            ..
        } = new;
        let most = self.options.max_tasks;
        match self.counts.full(new, most) {
            None => {}
            Some(Full::Unfinished) => return Ok(Err(StoreError::LimitReached(Full::Unfinished))),
            Some(Full::Stored | Full::Store) => {
                self.make_room(task.created_at)?;
                if let Some(full) = self.counts.full(new, most) {
                    return Ok(Err(StoreError::LimitReached(full)));
                }
            }
        }
        let due = task.due_at(self.options.retention);
        let (is_final, ready) = (task.status.is_final(), task.ready_at());
        self.connection
            .prepare_cached(
                "INSERT INTO tasks (id, is_final, due_at, ready_at, tenant, head)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            )?
            .execute(params![
                id.as_bytes().as_slice(),
                is_final,
                due,
                ready,
                task.owner.tenant,
                raw(task).get()
            ])?;
        let number = self.connection.last_insert_rowid();
        self.connection
            .prepare_cached("INSERT INTO jobs (task, arguments, setup) VALUES (?1, ?2, ?3)")?
            .execute(params![number, job.arguments.get(), raw(&job.setup).get()])?;
        self.keep(number, writes)?;
        if node.is_some() {
            self.hold(id, *node);
        }
        let tenant = task.owner.tenant.clone();
        self.count(tenant, &task.digest, Step::Created(task.status));
        Ok(Ok(()))
    }

    /// Removes some final tasks that are due.
    fn make_room(&mut self, now: Millis) -> rusqlite::Result<()> {
        let mut delete = self.connection.prepare_cached(
            "DELETE FROM tasks WHERE number IN (SELECT number FROM tasks
             WHERE due_at <= ?1 AND is_final = 1 ORDER BY due_at LIMIT ?2)
             RETURNING tenant, head ->> '$.digest', head ->> '$.status'",
        )?;
        let removed = delete.query_map(params![now, MAKE_ROOM as i64], removed)?;
        let removed: Vec<_> = removed.collect::<rusqlite::Result<_>>()?;
        drop(delete);
        for (tenant, digest, step) in removed {
            self.count(tenant, &digest, step);
        }
        Ok(())
    }

    fn keep(&self, task: i64, writes: &Writes) -> rusqlite::Result<()> {
        if let Some(segment) = &writes.segment {
            if segment.replaces {
                self.connection
                    .prepare_cached("DELETE FROM journal WHERE task = ?1 AND row >= ?2")?
                    .execute(params![task, segment.row])?;
            }
            self.connection
                .prepare_cached("INSERT INTO journal (task, row, entries) VALUES (?1, ?2, ?3)")?
                .execute(params![task, segment.row, segment.entries])?;
        }
        for (name, value) in &writes.records {
            self.connection
                .prepare_cached(
                    "INSERT OR REPLACE INTO records (task, key, value) VALUES (?1, ?2, ?3)",
                )?
                .execute(params![task, name, value])?;
        }
        Ok(())
    }

    /// Removes a task's rows from some tables.
    fn forget(&self, task: i64, statements: &[&str]) -> rusqlite::Result<()> {
        for statement in statements {
            self.connection.prepare_cached(statement)?.execute([task])?;
        }
        Ok(())
    }

    /// What became of the event, and the task as it is after a change.
    fn apply(
        &mut self,
        id: TaskId,
        event: Event,
        writes: &Writes,
        now: Millis,
    ) -> rusqlite::Result<(Applied, Option<Box<Task>>)> {
        let mut select = self
            .connection
            .prepare_cached("SELECT number, head FROM tasks WHERE id = ?1")?;
        let key = [id.as_bytes().as_slice()];
        let found = select.query_row(key, |row| Ok((row.get(0)?, rows::head(row, 1)?)));
        let found = found.optional()?;
        drop(select);
        let Some((number, mut task)) = found else {
            return Ok((Applied::Missing, None));
        };
        let (attempt, from) = (task.attempt, task.status);
        let change = match apply(&mut task, event, now) {
            Err(refusal) => return Ok((Applied::Refused(refusal), None)),
            Ok(Change::Unchanged) => return Ok((Applied::Unchanged, None)),
            Ok(change) => change,
        };
        let (result, error) = match &task.outcome {
            Some(Outcome::Result(result)) => (Some(result.get()), None),
            Some(Outcome::Error(error)) => (None, Some(error.get())),
            None => (None, None),
        };
        let is_final = task.status.is_final();
        let (due, ready) = (task.due_at(self.options.retention), task.ready_at());
        self.connection
            .prepare_cached(
                "UPDATE tasks SET is_final = ?2, due_at = ?3, ready_at = ?4, head = ?5,
                 result = ?6, error = ?7 WHERE number = ?1",
            )?
            .execute(params![
                number,
                is_final,
                due,
                ready,
                raw(&task).get(),
                result,
                error
            ])?;
        const JOURNAL: &str = "DELETE FROM journal WHERE task = ?1";
        const RECORDS: &str = "DELETE FROM records WHERE task = ?1";
        const JOB: &str = "DELETE FROM jobs WHERE task = ?1";
        if is_final || task.attempt != attempt {
            self.hold(id, None);
        }
        if is_final {
            self.forget(number, &[JOB, JOURNAL, RECORDS])?;
        } else {
            if task.attempt != attempt {
                self.forget(number, &[JOURNAL])?;
            }
            self.keep(number, writes)?;
        }
        let to = task.status;
        if from != to {
            let tenant = task.owner.tenant.clone();
            self.count(tenant, &task.digest, Step::Moved { from, to });
        }
        Ok((change.into(), Some(Box::new(task))))
    }

    fn sweep(&mut self, expire: &Event, now: Millis) -> rusqlite::Result<Swept> {
        let due = self.ids(
            "SELECT id, is_final FROM tasks WHERE due_at <= ?1 ORDER BY due_at LIMIT ?2",
            params![now, SWEEP_BATCH as i64],
        )?;
        let mut swept = Swept {
            more: due.len() == SWEEP_BATCH,
            ..Swept::default()
        };
        for (id, is_final) in due {
            if is_final {
                let deleted = self
                    .connection
                    .prepare_cached(
                        "DELETE FROM tasks WHERE id = ?1
                         RETURNING tenant, head ->> '$.digest', head ->> '$.status'",
                    )?
                    .query_row([id.as_bytes().as_slice()], removed)
                    .optional()?;
                if let Some((tenant, digest, step)) = deleted {
                    self.count(tenant, &digest, step);
                    swept.removed += 1;
                }
            } else if self.apply(id, expire.clone(), &Writes::default(), now)?.0 == Applied::Changed
            {
                swept.expired.push(id);
            }
        }
        Ok(swept)
    }

    fn ids(
        &self,
        sql: &str,
        parameters: impl rusqlite::Params,
    ) -> rusqlite::Result<Vec<(TaskId, bool)>> {
        self.connection
            .prepare_cached(sql)?
            .query_map(parameters, |row| {
                Ok((TaskId::from_bytes(row.get(0)?), row.get(1)?))
            })?
            .collect()
    }
}

/// `tenant, digest, status` of a task that was removed.
fn removed(row: &Row<'_>) -> rusqlite::Result<(String, String, Step)> {
    Ok((
        row.get(0)?,
        row.get(1)?,
        Step::Removed(rows::status(row, 2)?),
    ))
}
