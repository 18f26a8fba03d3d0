//! Tasks in a PostgreSQL database, which several nodes may use.
//!
//! Invariants: what is answered is committed. A change is decided by `task::apply` on what was read,
//! and written if nobody else changed the task since; else it is decided anew. The life of a short
//! task is three statements beside those of its readers, each a transaction of its own, which it shares
//! with the other tasks of the node that come at the same time. A task that nobody was told of does not
//! stay.

mod address;
mod clock;
mod many;
mod news;
mod pool;
mod rows;
mod schema;
mod shared;
mod statements;
mod sweep;
#[cfg(test)]
mod tests;
mod tls;
mod together;
mod work;

pub(in crate::store) use address::{check, is_url};

use super::{
    Applied, Due, Next, Shared, Store, StoreError, StoreOptions, Swept, Tally, Unfinished,
};
use crate::limits::DATABASE_TIME;
use crate::task::{Claim, Event, Failure, Millis, NewTask, NodeId, Task, TaskId, Writes, now};
use address::Address;
use async_trait::async_trait;
use clock::Clock;
use many::{Created, Creation, End, Ended};
use pool::{Fate, Fault, Pool, Values};
use statements as sql;
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;
use together::Together;
use tokio::sync::oneshot;
use work::Inner;

/// The store `postgres://…`.
pub struct PostgresStore {
    inner: Arc<Inner>,
    creations: Arc<Together<Creation, Created>>,
    ends: Together<End, Ended>,
}

impl PostgresStore {
    /// Connects to a database, and brings it to the present form.
    ///
    /// # Errors
    /// [`StoreError::Open`]: the URL is wrong, the database cannot be reached or used, or is of a later
    /// version.
    pub async fn open(url: &str, options: StoreOptions) -> Result<Self, StoreError> {
        Self::open_within(DATABASE_TIME, url, options).await
    }

    /// The same with another limit for each statement.
    async fn open_within(
        time: Duration,
        url: &str,
        options: StoreOptions,
    ) -> Result<Self, StoreError> {
        let wrong = |why| StoreError::Open(format!("cannot use the URL of the task store: {why}"));
        let address = Address::read(url, time).map_err(wrong)?;
        let pool = Pool::new(address, time).map_err(wrong)?;
        let place = pool.place();
        let failed = |why: &dyn std::fmt::Display| {
            StoreError::Open(format!("cannot use the task store, {place}: {why}"))
        };
        let clock = Clock::default();
        let encoding = async {
            let connection = pool.get().await?;
            let asked = now();
            let row = connection.row(sql::ABOUT, &[]).await?;
            let row = row.ok_or_else(|| Fault::corrupt("its settings", "there are none"))?;
            clock.compare(asked, row.try_get(1)?);
            Ok::<_, Fault>(row.try_get::<_, String>(0)?)
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
        let inner = Arc::new(Inner::new(pool, clock, options));
        let (creates, ends) = (Arc::clone(&inner), Arc::clone(&inner));
        Ok(Self {
            inner,
            creations: Arc::new(Together::new(move |all| {
                let inner = Arc::clone(&creates);
                async move { inner.create_all(all).await }
            })),
            ends: Together::new(move |all| {
                let inner = Arc::clone(&ends);
                async move { inner.end_all(all).await }
            }),
        })
    }

    /// One for tests: however busy the machine is, no statement is too slow.
    #[cfg(test)]
    pub(in crate::store) async fn open_patiently(
        url: &str,
        options: StoreOptions,
    ) -> Result<Self, StoreError> {
        Self::open_within(Duration::from_secs(60), url, options).await
    }

    async fn attempt<T, F>(&self, work: impl FnMut() -> F) -> Result<T, StoreError>
    where
        F: Future<Output = Result<T, Fault>>,
    {
        Ok(self.inner.pool.attempt(work).await?)
    }
}

fn stopped() -> StoreError {
    StoreError::Unavailable("the server stops".to_owned())
}

#[async_trait]
impl Store for PostgresStore {
    async fn create(&self, id: TaskId, new: NewTask) -> Result<(), StoreError> {
        let (inner, creations) = (Arc::clone(&self.inner), Arc::clone(&self.creations));
        let (reply, answer) = oneshot::channel();
        // Goes on if the caller does not wait any more: only so it is known what became of the task.
        tokio::spawn(async move {
            let bytes = new.size();
            let created = match creations.ask((id, Box::new(new)), bytes).await {
                None => return,
                Some(Ok(created)) => created,
                Some(Err((id, new))) => inner.pool.attempt(|| inner.create(id, &new)).await,
            };
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
        match answer.await.map_err(|_| stopped())?? {
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
        if let Event::Complete { result, .. } = &event {
            let bytes = result.get().len();
            return match self.ends.ask((id, event, now), bytes).await {
                None => Err(stopped()),
                Some(Ok(ended)) => Ok(ended?),
                Some(Err((id, event, now))) => {
                    self.attempt(|| self.inner.apply(id, &event, &writes, now))
                        .await
                }
            };
        }
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
        except: &[String],
        limit: usize,
        now: Millis,
    ) -> Result<Vec<Due>, StoreError> {
        self.attempt(|| self.inner.take_due(node, except, limit, now))
            .await
    }

    async fn next_due(&self, node: NodeId, except: &[String]) -> Result<Next, StoreError> {
        self.attempt(|| self.inner.next_due(node, except)).await
    }

    async fn end_leases(&self, now: Millis) -> Result<(), StoreError> {
        let end = async || {
            let connection = self.inner.pool.get().await?;
            let now = self.inner.clock.theirs(now);
            connection.query(sql::END_LEASES, &[&now]).await.map(drop)
        };
        self.attempt(end).await
    }

    async fn retire(&self, node: NodeId) -> Result<(), StoreError> {
        let retire = async || {
            let connection = self.inner.pool.get().await?;
            let node = node.as_bytes().as_slice();
            connection.query(sql::RETIRE, &[&node]).await.map(drop)
        };
        self.attempt(retire).await
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
            if connection.row(sql::SWEEP_DUE, &[&now]).await?.is_none() {
                return Ok((Swept::default(), 0));
            }
            sweep::sweep(&connection, &self.inner, &expire, now).await
        };
        let (swept, ended) = self.attempt(sweep).await?;
        self.inner.swept(swept.removed, ended);
        Ok(swept)
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

    fn kind(&self) -> &'static str {
        "postgres"
    }

    async fn tally(&self) -> Result<Tally, StoreError> {
        self.attempt(|| self.inner.tally()).await
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

    fn shared(&self) -> Option<Arc<dyn Shared>> {
        Some(Arc::clone(&self.inner) as _)
    }
}
