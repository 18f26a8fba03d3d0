//! Tasks in one SQLite file: the embedded default.
//!
//! Invariants: one thread writes, and what it answers is on disk (WAL, `synchronous = FULL`). It
//! takes whatever operations wait into one transaction, so that many callers share one disk
//! flush, and one caller never waits for others. Readers have connections of their own.

use super::{Applied, Store, StoreError, StoreOptions, Swept, lock_file};
use crate::limits::{COMMIT_BATCH, SWEEP_BATCH};
use crate::protocol::raw;
use crate::task::{Change, Event, Job, Millis, Outcome, Task, TaskId, apply};
use async_trait::async_trait;
use parking_lot::Mutex;
use rusqlite::{Connection, OptionalExtension as _, Row, params};
use serde_json::value::RawValue;
use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread;
use tokio::sync::oneshot;

/// Version of the schema below, in SQLite's `user_version`.
const SCHEMA_VERSION: i64 = 1;

/// `head` is the task without its outcome, as JSON. `due_at` is when the sweep must look at it.
const SCHEMA: &str = "
CREATE TABLE tasks (
    id BLOB NOT NULL PRIMARY KEY,
    is_final INTEGER NOT NULL,
    due_at INTEGER,
    head TEXT NOT NULL,
    result TEXT,
    error TEXT
) STRICT;
CREATE INDEX tasks_due ON tasks (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX tasks_open ON tasks (id) WHERE is_final = 0;
CREATE TABLE jobs (
    id BLOB NOT NULL PRIMARY KEY,
    arguments TEXT NOT NULL
) STRICT;
PRAGMA user_version = 1;
";

/// The store `sqlite`.
pub struct SqliteStore {
    writer: Option<mpsc::Sender<Operation>>,
    thread: Option<thread::JoinHandle<()>>,
    path: PathBuf,
    /// Held until the writer is gone.
    _lock: File,
    readers: Mutex<Vec<Connection>>,
}

type Reply<T> = oneshot::Sender<Result<T, StoreError>>;

enum Operation {
    Create(TaskId, Box<Task>, Job, Reply<()>),
    Apply(TaskId, Event, Millis, Reply<Applied>),
    Sweep(Event, Millis, Reply<Swept>),
    Recover(Event, Millis, Reply<usize>),
}

impl SqliteStore {
    /// Opens or creates the file, and starts its writer.
    ///
    /// # Errors
    /// [`StoreError::Open`]: the file cannot be opened, is no database, or is from a later version.
    pub fn open(path: &Path, options: StoreOptions) -> Result<Self, StoreError> {
        let failed = |error: rusqlite::Error| {
            StoreError::Open(format!(
                "cannot open the task store {}: {error}",
                path.display()
            ))
        };
        // Arguments and results are nobody else's business; SQLite gives its other files the same
        // mode.
        let private = OpenOptions::new()
            .create(true)
            .append(true)
            .mode(0o600)
            .open(path);
        private.map_err(|error| {
            StoreError::Open(format!(
                "cannot open the task store {}: {error}",
                path.display()
            ))
        })?;
        let mut lock = path.to_owned().into_os_string();
        lock.push(".lock");
        let lock = lock_file(Path::new(&lock)).map_err(|error| {
            StoreError::Open(format!(
                "cannot open the task store {}: {error}",
                path.display()
            ))
        })?;
        let connection = Connection::open(path).map_err(failed)?;
        connection
            .execute_batch(
                "PRAGMA page_size = 8192; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
                 PRAGMA cache_size = -65536; PRAGMA wal_autocheckpoint = 2000;",
            )
            .map_err(failed)?;
        connection.set_prepared_statement_cache_capacity(32);
        let version: i64 = connection
            .query_row("PRAGMA user_version", [], |row| row.get(0))
            .map_err(failed)?;
        match version {
            0 => connection
                .execute_batch(&format!("BEGIN; {SCHEMA} COMMIT;"))
                .map_err(failed)?,
            SCHEMA_VERSION => {}
            other => {
                return Err(StoreError::Open(format!(
                    "the task store {} has version {other}, this program knows {SCHEMA_VERSION}: \
                     use a newer cofferdam, or another --data directory",
                    path.display()
                )));
            }
        }
        let count: i64 = connection
            .query_row("SELECT count(*) FROM tasks", [], |row| row.get(0))
            .map_err(failed)?;

        let (sender, receiver) = mpsc::channel();
        let count = usize::try_from(count).unwrap_or(0);
        let mut writer = Writer {
            connection,
            options,
            count,
        };
        let thread = thread::Builder::new()
            .name("task-store".to_owned())
            .spawn(move || writer.run(&receiver))
            .map_err(|error| StoreError::Open(format!("cannot start a thread: {error}")))?;
        Ok(Self {
            writer: Some(sender),
            thread: Some(thread),
            path: path.to_owned(),
            _lock: lock,
            readers: Mutex::default(),
        })
    }

    async fn write<T>(
        &self,
        operation: impl FnOnce(Reply<T>) -> Operation,
    ) -> Result<T, StoreError> {
        let (reply, answer) = oneshot::channel();
        let gone = || StoreError::Unavailable("its writer stopped".to_owned());
        let writer = self.writer.as_ref().ok_or_else(gone)?;
        writer.send(operation(reply)).map_err(|_| gone())?;
        answer.await.map_err(|_| gone())?
    }

    /// Reads on the calling thread: a row comes from the page cache in microseconds, sooner than
    /// another thread could be woken.
    fn read<T>(
        &self,
        read: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        let pooled = self.readers.lock().pop();
        let connection = match pooled {
            Some(connection) => connection,
            None => Connection::open(&self.path)
                .and_then(|connection| {
                    connection.execute_batch("PRAGMA query_only = ON;")?;
                    Ok(connection)
                })
                .map_err(unavailable)?,
        };
        let result = read(&connection).map_err(unavailable);
        self.readers.lock().push(connection);
        result
    }
}

impl Drop for SqliteStore {
    fn drop(&mut self) {
        // The writer finishes what it has, and ends when the channel closes.
        self.writer.take();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

#[async_trait]
impl Store for SqliteStore {
    async fn create(&self, id: TaskId, task: Task, job: Job) -> Result<(), StoreError> {
        self.write(|reply| Operation::Create(id, Box::new(task), job, reply))
            .await
    }

    async fn get(&self, id: TaskId) -> Result<Option<Task>, StoreError> {
        self.read(|connection| {
            connection
                .prepare_cached("SELECT head, result, error FROM tasks WHERE id = ?1")?
                .query_row([id.as_bytes().as_slice()], |row| {
                    let mut task = head(row, 0)?;
                    task.outcome = match (text(row, 1)?, text(row, 2)?) {
                        (Some(result), _) => Some(Outcome::Result(result)),
                        (None, Some(error)) => Some(Outcome::Error(error)),
                        (None, None) => None,
                    };
                    Ok(task)
                })
                .optional()
        })
    }

    async fn job(&self, id: TaskId) -> Result<Option<Job>, StoreError> {
        self.read(|connection| {
            connection
                .prepare_cached("SELECT arguments FROM jobs WHERE id = ?1")?
                .query_row([id.as_bytes().as_slice()], |row| text(row, 0))
                .optional()
                .map(|arguments| arguments.flatten().map(|arguments| Job { arguments }))
        })
    }

    async fn apply(&self, id: TaskId, event: Event, now: Millis) -> Result<Applied, StoreError> {
        self.write(|reply| Operation::Apply(id, event, now, reply))
            .await
    }

    async fn sweep(&self, expire: Event, now: Millis) -> Result<Swept, StoreError> {
        self.write(|reply| Operation::Sweep(expire, now, reply))
            .await
    }

    async fn recover(&self, lose: Event, now: Millis) -> Result<usize, StoreError> {
        self.write(|reply| Operation::Recover(lose, now, reply))
            .await
    }
}

/// The one that writes.
struct Writer {
    connection: Connection,
    options: StoreOptions,
    /// Rows in `tasks`.
    count: usize,
}

/// An answer that waits for its transaction to be on disk.
type Pending = Box<dyn FnOnce(Result<(), &str>) + Send>;

impl Writer {
    fn run(&mut self, operations: &mpsc::Receiver<Operation>) {
        while let Ok(first) = operations.recv() {
            let count = self.count;
            let mut pending = Vec::new();
            let committed = self.transaction(first, operations, &mut pending);
            if let Err(error) = &committed {
                self.count = count;
                tracing::error!(%error, "the task store could not write");
                // Nothing is left of the transaction; if there was none, there is nothing to undo.
                let _ = self.connection.execute_batch("ROLLBACK");
            }
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
            None => self.connection.execute_batch("COMMIT"),
        }
    }

    fn execute(
        &mut self,
        operation: Operation,
        failed: bool,
        pending: &mut Vec<Pending>,
    ) -> rusqlite::Result<()> {
        match operation {
            Operation::Create(id, task, job, reply) => {
                self.step(failed, pending, reply, |writer| {
                    writer.create(id, &task, &job)
                })
            }
            Operation::Apply(id, event, now, reply) => {
                self.step(failed, pending, reply, |writer| {
                    Ok(Ok(writer.apply(id, event, now)?))
                })
            }
            Operation::Sweep(expire, now, reply) => self.step(failed, pending, reply, |writer| {
                Ok(Ok(writer.sweep(&expire, now)?))
            }),
            Operation::Recover(lose, now, reply) => self.step(failed, pending, reply, |writer| {
                Ok(Ok(writer.recover(&lose, now)?))
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

    fn create(
        &mut self,
        id: TaskId,
        task: &Task,
        job: &Job,
    ) -> rusqlite::Result<Result<(), StoreError>> {
        if self.count >= self.options.max_tasks {
            let removed = self
                .connection
                .prepare_cached(
                    "DELETE FROM tasks WHERE id IN (SELECT id FROM tasks
                     WHERE due_at <= ?1 AND is_final = 1 ORDER BY due_at LIMIT 100)",
                )?
                .execute([task.created_at])?;
            self.count -= removed.min(self.count);
            if self.count >= self.options.max_tasks {
                return Ok(Err(StoreError::LimitReached));
            }
        }
        let due = task.due_at(self.options.retention);
        let mut insert = self.connection.prepare_cached(
            "INSERT INTO tasks (id, is_final, due_at, head) VALUES (?1, ?2, ?3, ?4)",
        )?;
        insert.execute(params![
            id.as_bytes().as_slice(),
            task.status.is_final(),
            due,
            raw(task).get()
        ])?;
        let mut insert = self
            .connection
            .prepare_cached("INSERT INTO jobs (id, arguments) VALUES (?1, ?2)")?;
        insert.execute(params![id.as_bytes().as_slice(), job.arguments.get()])?;
        drop(insert);
        self.count += 1;
        Ok(Ok(()))
    }

    fn apply(&self, id: TaskId, event: Event, now: Millis) -> rusqlite::Result<Applied> {
        let mut select = self
            .connection
            .prepare_cached("SELECT head FROM tasks WHERE id = ?1")?;
        let key = id.as_bytes().as_slice();
        let Some(mut task) = select.query_row([key], |row| head(row, 0)).optional()? else {
            return Ok(Applied::Missing);
        };
        match apply(&mut task, event, now) {
            Err(refusal) => return Ok(Applied::Refused(refusal)),
            Ok(Change::Unchanged) => return Ok(Applied::Unchanged),
            Ok(Change::Changed) => {}
        }
        let (result, error) = match &task.outcome {
            Some(Outcome::Result(result)) => (Some(result.get()), None),
            Some(Outcome::Error(error)) => (None, Some(error.get())),
            None => (None, None),
        };
        let is_final = task.status.is_final();
        let due = task.due_at(self.options.retention);
        self.connection
            .prepare_cached(
                "UPDATE tasks SET is_final = ?2, due_at = ?3, head = ?4, result = ?5, error = ?6
                 WHERE id = ?1",
            )?
            .execute(params![key, is_final, due, raw(&task).get(), result, error])?;
        if is_final {
            self.connection
                .prepare_cached("DELETE FROM jobs WHERE id = ?1")?
                .execute([key])?;
        }
        Ok(Applied::Changed)
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
                let mut delete = self
                    .connection
                    .prepare_cached("DELETE FROM tasks WHERE id = ?1")?;
                swept.removed += delete.execute([id.as_bytes().as_slice()])?;
            } else if self.apply(id, expire.clone(), now)? == Applied::Changed {
                swept.expired.push(id);
            }
        }
        self.count -= swept.removed.min(self.count);
        Ok(swept)
    }

    fn recover(&self, lose: &Event, now: Millis) -> rusqlite::Result<usize> {
        let open = self.ids("SELECT id, is_final FROM tasks WHERE is_final = 0", [])?;
        let mut lost = 0;
        for (id, _) in open {
            lost += usize::from(self.apply(id, lose.clone(), now)? == Applied::Changed);
        }
        Ok(lost)
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

fn unavailable(error: rusqlite::Error) -> StoreError {
    StoreError::Unavailable(error.to_string())
}

fn head(row: &Row<'_>, column: usize) -> rusqlite::Result<Task> {
    serde_json::from_str(row.get_ref(column)?.as_str()?).map_err(|error| corrupt(column, error))
}

fn text(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<Box<RawValue>>> {
    row.get::<_, Option<String>>(column)?
        .map(|text| RawValue::from_string(text).map_err(|error| corrupt(column, error)))
        .transpose()
}

fn corrupt(column: usize, error: serde_json::Error) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(column, rusqlite::types::Type::Text, Box::new(error))
}
