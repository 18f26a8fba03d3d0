//! Tasks in one SQLite file: the embedded default.
//!
//! Invariants: one thread writes, and what it answers is on disk (WAL, `synchronous = FULL`). It
//! takes whatever operations wait into one transaction, so that many callers share one disk
//! flush, and one caller never waits for others. Readers have connections of their own.

mod counted;
mod rows;
mod schema;
#[cfg(test)]
mod tests;
mod writer;

use super::{
    Applied, Due, Next, Store, StoreError, StoreOptions, Swept, Tally, Unfinished, lock_file,
};
use crate::task::{Claim, Event, Failure, Millis, NewTask, NodeId, Outcome, Task, TaskId, Writes};
use async_trait::async_trait;
use parking_lot::Mutex;
use rusqlite::{Connection, OptionalExtension as _};
use std::collections::HashSet;
use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc};
use std::thread;
use tokio::sync::oneshot;
use writer::{Operation, Reply, Writer};

/// The store `sqlite`.
pub struct SqliteStore {
    writer: Option<mpsc::Sender<Operation>>,
    thread: Option<thread::JoinHandle<()>>,
    path: PathBuf,
    /// Held until the writer is gone.
    _lock: File,
    readers: Mutex<Vec<Connection>>,
    /// Of what is on disk.
    tally: Arc<Mutex<Tally>>,
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
        // At the end of nearly every commit SQLite looks through all places of its page cache: one of 64
        // MiB, once full, costs four times as much as all else of a task. What is not in this one, the
        // system has in its own.
        connection
            .execute_batch(
                "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
                 PRAGMA cache_size = -8192; PRAGMA wal_autocheckpoint = 2000;",
            )
            .map_err(failed)?;
        connection.set_prepared_statement_cache_capacity(32);
        if let Some(version) = schema::migrate(&connection).map_err(failed)? {
            return Err(StoreError::Open(format!(
                "the task store {} has version {version}, this program knows {}: use a newer \
                 cofferdam, or another --data directory",
                path.display(),
                schema::VERSION
            )));
        }
        let counts = counted::read(&connection).map_err(failed)?;

        let (sender, receiver) = mpsc::channel();
        let tally = Arc::new(Mutex::new(counts.tally()));
        let mut writer = Writer::new(connection, options, counts, Arc::clone(&tally));
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
            tally,
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
            None => open_reader(&self.path).map_err(unavailable)?,
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
    async fn create(&self, id: TaskId, new: NewTask) -> Result<(), StoreError> {
        self.write(|reply| Operation::Create(id, Box::new(new), reply))
            .await
    }

    async fn get(&self, id: TaskId) -> Result<Option<Task>, StoreError> {
        self.read(|connection| {
            connection
                .prepare_cached("SELECT head, result, error FROM tasks WHERE id = ?1")?
                .query_row([id.as_bytes().as_slice()], |row| {
                    let mut task = rows::head(row, 0)?;
                    task.outcome = match (rows::text(row, 1)?, rows::text(row, 2)?) {
                        (Some(result), _) => Some(Outcome::Result(result)),
                        (None, Some(error)) => Some(Outcome::Error(error)),
                        (None, None) => None,
                    };
                    Ok(task)
                })
                .optional()
        })
    }

    async fn apply(
        &self,
        id: TaskId,
        event: Event,
        writes: Writes,
        now: Millis,
    ) -> Result<Applied, StoreError> {
        self.write(|reply| Operation::Apply(id, Box::new((event, writes)), now, reply))
            .await
    }

    async fn claim(
        &self,
        id: TaskId,
        node: Option<NodeId>,
        lost: Failure,
        now: Millis,
    ) -> Result<Option<Claim>, StoreError> {
        let claimed = self.write(|reply| Operation::Claim(id, node, lost, now, reply));
        let Some(task) = claimed.await? else {
            return Ok(None);
        };
        // What is read here belongs to the lease just taken: nobody else changes it meanwhile.
        self.read(|connection| {
            let id = [id.as_bytes().as_slice()];
            let number = connection
                .prepare_cached("SELECT number FROM tasks WHERE id = ?1")?
                .query_row(id, |row| row.get::<_, i64>(0))
                .optional()?;
            // The sweep may have been faster.
            let Some(number) = number else {
                return Ok(None);
            };
            let key = [number];
            let job = connection
                .prepare_cached("SELECT arguments, setup FROM jobs WHERE task = ?1")?
                .query_row(key, rows::job)
                .optional()?;
            let rows = connection
                .prepare_cached("SELECT entries FROM journal WHERE task = ?1 ORDER BY row")?
                .query_map(key, |row| row.get(0))?
                .collect::<rusqlite::Result<_>>()?;
            let records = connection
                .prepare_cached("SELECT key, value FROM records WHERE task = ?1")?
                .query_map(key, |row| Ok((row.get(0)?, row.get(1)?)))?
                .collect::<rusqlite::Result<_>>()?;
            Ok(Some(Claim {
                task: *task,
                job: job.flatten(),
                rows,
                records,
            }))
        })
    }

    async fn take_due(
        &self,
        node: NodeId,
        except: &[String],
        limit: usize,
        now: Millis,
    ) -> Result<Vec<Due>, StoreError> {
        let except = except.to_vec();
        self.write(|reply| Operation::TakeDue(node, except, limit, now, reply))
            .await
    }

    async fn next_due(&self, node: NodeId, except: &[String]) -> Result<Next, StoreError> {
        let except = except.to_vec();
        self.write(|reply| Operation::NextDue(node, except, reply))
            .await
    }

    async fn end_leases(&self, now: Millis) -> Result<(), StoreError> {
        self.write(|reply| Operation::EndLeases(now, reply)).await
    }

    async fn retire(&self, node: NodeId) -> Result<(), StoreError> {
        self.write(|reply| Operation::Retire(node, reply)).await
    }

    async fn renew(&self, node: NodeId, until: Millis) -> Result<bool, StoreError> {
        self.write(|reply| Operation::Renew(node, until, reply))
            .await
    }

    async fn release(&self, id: TaskId, node: NodeId) -> Result<(), StoreError> {
        self.write(|reply| Operation::Release(id, node, reply))
            .await
    }

    async fn sweep(&self, expire: Event, now: Millis) -> Result<Swept, StoreError> {
        self.write(|reply| Operation::Sweep(Box::new(expire), now, reply))
            .await
    }

    async fn unfinished(&self) -> Result<Unfinished, StoreError> {
        self.read(|connection| {
            let ready = connection
                .prepare("SELECT id, ready_at FROM tasks WHERE ready_at IS NOT NULL")?
                .query_map([], |row| Ok((TaskId::from_bytes(row.get(0)?), row.get(1)?)))?
                .collect::<rusqlite::Result<_>>()?;
            Ok(Unfinished { ready })
        })
    }

    async fn digests(&self) -> Result<HashSet<String>, StoreError> {
        self.read(counted::digests)
    }

    fn kind(&self) -> &'static str {
        "sqlite"
    }

    async fn tally(&self) -> Result<Tally, StoreError> {
        Ok(*self.tally.lock())
    }
}

fn open_reader(path: &Path) -> rusqlite::Result<Connection> {
    let connection = Connection::open(path)?;
    connection.execute_batch("PRAGMA query_only = ON;")?;
    Ok(connection)
}

fn unavailable(error: rusqlite::Error) -> StoreError {
    StoreError::Unavailable(error.to_string())
}
