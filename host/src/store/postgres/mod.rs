//! Tasks in a PostgreSQL database, which several nodes may use.
//!
//! Invariants: what is answered is committed. A change is decided by `task::apply` on what was read,
//! and written if nobody else changed the task since; else it is decided anew. The life of a short
//! task is three statements beside those of its readers, each a transaction of its own. A task that
//! nobody was told of does not stay.

mod address;
mod pool;
mod rows;
mod schema;
mod statements;
mod sweep;
#[cfg(test)]
mod tests;
mod tls;

pub(in crate::store) use address::{check, is_url};

use super::{Applied, Due, Full, Store, StoreError, StoreOptions, Swept, Unfinished};
use crate::limits::DATABASE_TRIES;
use crate::task::{
    Change, Claim, Event, Failure, Millis, NewTask, NodeId, Task, TaskId, Writes, apply,
};
use address::Address;
use async_trait::async_trait;
use pool::{Fate, Fault, Pool, Values};
use rows::{Beside, Columns};
use statements as sql;
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::oneshot;

/// The store `postgres://…`.
pub struct PostgresStore {
    inner: Arc<Inner>,
}

struct Inner {
    pool: Pool,
    options: StoreOptions,
}

/// A task that was read to be changed.
struct Found {
    number: i64,
    version: i64,
    task: Task,
    /// The node that asks may claim it.
    is_free: bool,
}

impl PostgresStore {
    /// Connects to a database, and brings it to the present form.
    ///
    /// # Errors
    /// [`StoreError::Open`]: the URL is wrong, the database cannot be reached or used, or is of a later
    /// version.
    pub async fn open(url: &str, options: StoreOptions) -> Result<Self, StoreError> {
        let wrong = |why| StoreError::Open(format!("cannot use the URL of the task store: {why}"));
        let pool = Pool::new(Address::read(url).map_err(wrong)?).map_err(wrong)?;
        let place = pool.place();
        let failed = |why: &dyn std::fmt::Display| {
            StoreError::Open(format!("cannot use the task store, {place}: {why}"))
        };
        let encoding = async {
            let connection = pool.get().await?;
            let row = connection.row("SHOW server_encoding", &[]).await?;
            let encoding = row.map(|row| row.try_get::<_, String>(0)).transpose()?;
            Ok::<_, Fault>(encoding.unwrap_or_default())
        };
        let encoding = encoding.await.map_err(|fault| failed(&fault))?;
        if encoding != "UTF8" {
            let why = format!("its encoding is {encoding}; make one with `createdb -E UTF8`");
            return Err(failed(&why));
        }
        match pool.attempt(|| schema::migrate(&pool)).await {
            Ok(None) => {}
            Ok(Some(version)) => {
                let known = schema::VERSION;
                return Err(failed(&format!(
                    "it has version {version}, this program knows {known}: use a newer cofferdam, or \
                     another database"
                )));
            }
            Err(fault) => return Err(failed(&fault)),
        }
        let inner = Arc::new(Inner { pool, options });
        Ok(Self { inner })
    }

    async fn attempt<T, F>(&self, work: impl FnMut() -> F) -> Result<T, StoreError>
    where
        F: Future<Output = Result<T, Fault>>,
    {
        Ok(self.inner.pool.attempt(work).await?)
    }
}

impl Inner {
    /// Creates a task, or says which limit is in the way.
    async fn create(&self, id: TaskId, new: &NewTask) -> Result<Option<Full>, Fault> {
        let connection = self.pool.get().await?;
        let mut has_room = false;
        for _ in 0..DATABASE_TRIES {
            if self.insert(&connection, id, new).await? {
                return Ok(None);
            }
            let tenant = new.task.owner.tenant.as_bytes();
            let counts = connection.row(sql::COUNTS, &[&tenant]).await?;
            let counts = counts.ok_or_else(|| Fault::corrupt("the table total", "it is empty"))?;
            let below =
                |column, most| Ok::<_, Fault>(counts.try_get::<_, i64>(column)? < limit(most));
            let full = if !below(0, new.most)? {
                return Ok(Some(Full::Unfinished));
            } else if !below(1, new.most_stored)? {
                Full::Stored
            } else if !below(2, self.options.max_tasks)? {
                Full::Store
            } else {
                // Something ended in between.
                continue;
            };
            if has_room {
                return Ok(Some(full));
            }
            sweep::make_room(&connection, new.task.created_at).await?;
            has_room = true;
        }
        Err(Fault::crowded())
    }

    async fn insert(
        &self,
        connection: &pool::Connection,
        id: TaskId,
        new: &NewTask,
    ) -> Result<bool, Fault> {
        let NewTask {
            task, job, writes, ..
        } = new;
        let columns = Columns::of(task, self.options.retention);
        let beside = Beside::of(writes, false);
        let setup = crate::protocol::raw(&job.setup);
        let values: Values<'_> = &[
            &id.as_bytes().as_slice(),
            &task.owner.tenant.as_bytes(),
            &task.digest,
            &columns.is_final,
            &columns.due_at,
            &columns.ready_at,
            &new.node.as_ref().map(|node| node.as_bytes().as_slice()),
            &columns.head,
            &job.arguments.get(),
            &setup.get(),
            &beside.row,
            &beside.entries,
            &beside.keys,
            &beside.values,
            &limit(self.options.max_tasks),
            &limit(new.most),
            &limit(new.most_stored),
        ];
        Ok(connection.row(sql::CREATE, values).await?.is_some())
    }

    /// Removes a task that may have come to be, and that nobody was told of, as soon as the database
    /// lets us.
    async fn forget(&self, id: TaskId) {
        let mut pause = Duration::from_millis(50);
        loop {
            let forget = async || sweep::forget(&self.pool.get().await?, id).await;
            if forget().await.is_ok() {
                return;
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(Duration::from_secs(5));
        }
    }

    async fn find(
        &self,
        connection: &pool::Connection,
        id: TaskId,
        node: Option<NodeId>,
        now: Millis,
    ) -> Result<Option<Found>, Fault> {
        let node = node.as_ref().map(|node| node.as_bytes().as_slice());
        let values: Values<'_> = &[&id.as_bytes().as_slice(), &node, &now];
        let Some(row) = connection.row(sql::READ, values).await? else {
            return Ok(None);
        };
        Ok(Some(Found {
            number: row.try_get(0)?,
            version: row.try_get(1)?,
            task: rows::head(&row, 2)?,
            is_free: row.try_get(3)?,
        }))
    }

    /// Writes a change, unless the task has changed since it was found.
    async fn write(
        &self,
        connection: &pool::Connection,
        found: &Found,
        attempt: u32,
        writes: &Writes,
    ) -> Result<bool, Fault> {
        let Found {
            number,
            version,
            task,
            ..
        } = found;
        let columns = Columns::of(task, self.options.retention);
        let row = if columns.is_final {
            let values: Values<'_> = &[
                number,
                version,
                &columns.due_at,
                &columns.head,
                &columns.result,
                &columns.error,
            ];
            connection.row(sql::END, values).await?
        } else {
            let is_over = task.attempt != attempt;
            let beside = Beside::of(writes, is_over);
            let values: Values<'_> = &[
                number,
                version,
                &columns.due_at,
                &columns.ready_at,
                &columns.head,
                &is_over,
                &beside.last,
                &beside.row,
                &beside.entries,
                &beside.keys,
                &beside.values,
            ];
            connection.row(sql::CHANGE, values).await?
        };
        Ok(row.is_some())
    }

    async fn apply(
        &self,
        id: TaskId,
        event: &Event,
        writes: &Writes,
        now: Millis,
    ) -> Result<Applied, Fault> {
        let connection = self.pool.get().await?;
        for _ in 0..DATABASE_TRIES {
            let Some(mut found) = self.find(&connection, id, None, now).await? else {
                return Ok(Applied::Missing);
            };
            let attempt = found.task.attempt;
            let change = match apply(&mut found.task, event.clone(), now) {
                Err(refusal) => return Ok(Applied::Refused(refusal)),
                Ok(Change::Unchanged) => return Ok(Applied::Unchanged),
                Ok(change) => change,
            };
            if self.write(&connection, &found, attempt, writes).await? {
                return Ok(change.into());
            }
        }
        Err(Fault::crowded())
    }

    async fn claim(
        &self,
        id: TaskId,
        node: Option<NodeId>,
        lost: &Failure,
        now: Millis,
    ) -> Result<Option<Claim>, Fault> {
        let connection = self.pool.get().await?;
        for _ in 0..DATABASE_TRIES {
            let found = self.find(&connection, id, node, now).await?;
            let Some(mut found) = found.filter(|found| found.is_free) else {
                return Ok(None);
            };
            let attempt = found.task.attempt;
            let claim = Event::Claim { lost: lost.clone() };
            match apply(&mut found.task, claim, now) {
                Err(_) | Ok(Change::Unchanged) => return Ok(None),
                Ok(Change::Changed) => {
                    let nothing = Writes::default();
                    if self.write(&connection, &found, attempt, &nothing).await? {
                        return Ok(None);
                    }
                }
                Ok(Change::Quiet) => {
                    if let Some(claim) = self.take(&connection, found, node).await? {
                        return Ok(Some(claim));
                    }
                }
            }
        }
        Err(Fault::crowded())
    }

    /// Writes a claim, unless the task has changed since it was found.
    async fn take(
        &self,
        connection: &pool::Connection,
        found: Found,
        node: Option<NodeId>,
    ) -> Result<Option<Claim>, Fault> {
        let Found {
            number,
            version,
            task,
            ..
        } = found;
        let columns = Columns::of(&task, self.options.retention);
        let node = node.as_ref().map(|node| node.as_bytes().as_slice());
        let values: Values<'_> = &[&number, &version, &columns.due_at, &columns.head, &node];
        let Some(row) = connection.row(sql::CLAIM, values).await? else {
            return Ok(None);
        };
        let keys: Vec<Vec<u8>> = row.try_get(3)?;
        let values: Vec<Vec<u8>> = row.try_get(4)?;
        let key = |key| String::from_utf8(key).map_err(|error| Fault::corrupt("a key", error));
        let records = keys.into_iter().zip(values);
        Ok(Some(Claim {
            task,
            job: rows::job(&row)?,
            rows: row.try_get(2)?,
            records: records
                .map(|(name, value)| Ok((key(name)?, value)))
                .collect::<Result<_, Fault>>()?,
        }))
    }

    async fn take_due(&self, node: NodeId, most: usize, now: Millis) -> Result<Vec<Due>, Fault> {
        let connection = self.pool.get().await?;
        connection.execute(sql::END_LEASES, &[&now]).await?;
        let node = node.as_bytes().as_slice();
        let values: Values<'_> = &[&node, &now, &limit(most)];
        let mut taken = Vec::new();
        for row in connection.query(sql::TAKE_DUE, values).await? {
            let (id, tenant) = (rows::id(&row, 1)?, rows::tenant(&row, 2)?);
            taken.push((row.try_get::<_, Millis>(0)?, Due { id, tenant }));
        }
        taken.sort_by_key(|(ready, _)| *ready);
        Ok(taken.into_iter().map(|(_, due)| due).collect())
    }

    async fn renew(&self, node: NodeId, until: Millis) -> Result<bool, Fault> {
        let connection = self.pool.get().await?;
        let values: Values<'_> = &[&node.as_bytes().as_slice(), &until];
        let is_known = connection.execute(sql::RENEW, values).await? > 0;
        if !is_known {
            connection.execute(sql::NEW_LEASE, values).await?;
        }
        Ok(is_known)
    }
}

#[async_trait]
impl Store for PostgresStore {
    async fn create(&self, id: TaskId, new: NewTask) -> Result<(), StoreError> {
        let inner = Arc::clone(&self.inner);
        let (reply, answer) = oneshot::channel();
        // Goes on if the caller does not wait any more: only so it is known what became of the task.
        tokio::spawn(async move {
            let created = inner.pool.attempt(|| inner.create(id, &new)).await;
            let may_be = match &created {
                Ok(full) => full.is_none(),
                Err(fault) => fault.fate == Fate::Unknown,
            };
            let is_told = matches!(created, Ok(None));
            let is_heard = reply.send(created).is_ok();
            if may_be && !(is_told && is_heard) {
                inner.forget(id).await;
            }
        });
        let stopped = |_| StoreError::Unavailable("the server stops".to_owned());
        match answer.await.map_err(stopped)?? {
            None => Ok(()),
            Some(full) => Err(StoreError::LimitReached(full)),
        }
    }

    async fn get(&self, id: TaskId) -> Result<Option<Task>, StoreError> {
        let get = async || {
            let connection = self.inner.pool.get().await?;
            let key = id.as_bytes().as_slice();
            let Some(row) = connection.row(sql::GET, &[&key]).await? else {
                return Ok(None);
            };
            let mut task = rows::head(&row, 0)?;
            task.outcome = rows::outcome(&row, 1)?;
            Ok(Some(task))
        };
        self.attempt(get).await
    }

    async fn apply(
        &self,
        id: TaskId,
        event: Event,
        writes: Writes,
        now: Millis,
    ) -> Result<Applied, StoreError> {
        self.attempt(|| self.inner.apply(id, &event, &writes, now))
            .await
    }

    async fn claim(
        &self,
        id: TaskId,
        node: Option<NodeId>,
        lost: Failure,
        now: Millis,
    ) -> Result<Option<Claim>, StoreError> {
        self.attempt(|| self.inner.claim(id, node, &lost, now))
            .await
    }

    async fn take_due(
        &self,
        node: NodeId,
        limit: usize,
        now: Millis,
    ) -> Result<Vec<Due>, StoreError> {
        self.attempt(|| self.inner.take_due(node, limit, now)).await
    }

    async fn next_due(&self, node: NodeId) -> Result<Option<Millis>, StoreError> {
        let next = async || {
            let connection = self.inner.pool.get().await?;
            let node = node.as_bytes().as_slice();
            let row = connection.row(sql::NEXT_DUE, &[&node]).await?;
            Ok(row.map(|row| row.try_get(0)).transpose()?.flatten())
        };
        self.attempt(next).await
    }

    async fn renew(&self, node: NodeId, until: Millis) -> Result<bool, StoreError> {
        self.attempt(|| self.inner.renew(node, until)).await
    }

    async fn release(&self, id: TaskId, node: NodeId) -> Result<(), StoreError> {
        let release = async || {
            let connection = self.inner.pool.get().await?;
            let values: Values<'_> = &[&id.as_bytes().as_slice(), &node.as_bytes().as_slice()];
            connection.execute(sql::RELEASE, values).await.map(drop)
        };
        self.attempt(release).await
    }

    async fn sweep(&self, expire: Event, now: Millis) -> Result<Swept, StoreError> {
        let sweep = async || {
            let connection = self.inner.pool.get().await?;
            let retention = self.inner.options.retention;
            sweep::sweep(&connection, retention, &expire, now).await
        };
        self.attempt(sweep).await
    }

    async fn unfinished(&self) -> Result<Unfinished, StoreError> {
        let unfinished = async || {
            let connection = self.inner.pool.get().await?;
            let rows = connection.query(sql::UNFINISHED, &[]).await?;
            let ready = rows
                .iter()
                .map(|row| Ok((rows::id(row, 0)?, row.try_get(1)?)));
            let ready = ready.collect::<Result<_, Fault>>()?;
            Ok(Unfinished { ready })
        };
        self.attempt(unfinished).await
    }

    async fn digests(&self) -> Result<HashSet<String>, StoreError> {
        let digests = async || {
            let connection = self.inner.pool.get().await?;
            let rows = connection.query(sql::DIGESTS, &[]).await?;
            let digests = rows.iter().map(|row| Ok(row.try_get(0)?));
            digests.collect::<Result<_, Fault>>()
        };
        self.attempt(digests).await
    }
}

/// A limit as the database's number.
fn limit(most: usize) -> i64 {
    i64::try_from(most).unwrap_or(i64::MAX)
}
