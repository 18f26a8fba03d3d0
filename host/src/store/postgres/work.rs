//! What is done to tasks over one connection.
//!
//! Invariant: what is written was decided on the version that is overwritten; if that is gone, it is
//! decided anew.

use super::clock::Clock;
use super::pool::{Connection, Fault, Pool, Values};
use super::rows::{self, Beside, Columns};
use super::statements as sql;
use super::sweep;
use crate::limits::DATABASE_TRIES;
use crate::store::counts::Step;
use crate::store::{Applied, Due, Full, Next, StoreOptions, Tally};
use crate::task::{
    Change, Claim, Event, Failure, Millis, NewTask, NodeId, Status, Task, TaskId, Writes, apply,
    now,
};
use parking_lot::Mutex;
use std::time::{Duration, Instant};
use tokio::sync::Mutex as AsyncMutex;
use tokio_postgres::Row;

/// A database, and what is to be known of the settings.
pub(super) struct Inner {
    pub(super) pool: Pool,
    pub(super) clock: Clock,
    pub(super) options: StoreOptions,
    /// Begins what this node tells others, so that it does not hear itself.
    pub(super) sender: String,
    /// What this node moved.
    pub(super) moved: Mutex<Tally>,
    /// How many tasks there were in each state, and when.
    pub(super) states: AsyncMutex<Option<States>>,
}

/// How many tasks there were in each state.
pub(super) struct States {
    when: Instant,
    each: Vec<(Status, usize)>,
}

/// A task that was read to be changed.
pub(super) struct Found {
    pub(super) number: i64,
    pub(super) version: i64,
    pub(super) task: Task,
}

impl Found {
    /// Of `number, version, head` from a column on.
    pub(super) fn of(row: &Row, column: usize) -> Result<Self, Fault> {
        Ok(Self {
            number: row.try_get(column)?,
            version: row.try_get(column + 1)?,
            task: rows::head(row, column + 2)?,
        })
    }
}

impl Inner {
    pub(super) fn new(pool: Pool, clock: Clock, options: StoreOptions) -> Self {
        Self {
            pool,
            clock,
            options,
            sender: format!("{:016x} ", rand::random::<u64>()),
            moved: Mutex::default(),
            states: AsyncMutex::default(),
        }
    }

    pub(super) fn moved(&self, step: Step) {
        self.moved.lock().moved_here(step);
    }

    /// Tasks were removed, and ended because their time was over.
    pub(super) fn swept(&self, removed: usize, ended: usize) {
        let (from, to) = (Status::Working, Status::Failed);
        for step in [
            (removed, Step::Removed(to)),
            (ended, Step::Moved { from, to }),
        ] {
            (0..step.0).for_each(|_| self.moved(step.1));
        }
    }

    /// Counts the tasks in each state, unless that was done just now: it looks at all of them.
    pub(super) async fn tally(&self) -> Result<Tally, Fault> {
        let mut states = self.states.lock().await;
        let counted = match states.take() {
            Some(counted) if counted.when.elapsed() < self.options.count_pause => counted,
            _ => {
                let connection = self.pool.get().await?;
                let rows = connection.query(sql::STATES, &[]).await?;
                States {
                    each: rows.iter().map(rows::state).collect::<Result<_, Fault>>()?,
                    when: Instant::now(),
                }
            }
        };
        let tally = self.moved.lock().with_states(counted.each.iter().copied());
        *states = Some(counted);
        Ok(tally)
    }

    /// Creates a task, or says which limit is in the way.
    pub(super) async fn create(&self, id: TaskId, new: &NewTask) -> Result<Option<Full>, Fault> {
        let connection = self.pool.get().await?;
        let mut has_room = false;
        for _ in 0..DATABASE_TRIES {
            if self.insert(&connection, id, new).await? {
                self.moved(Step::Created(new.task.status));
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

    pub(super) async fn insert(
        &self,
        connection: &Connection,
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
    pub(super) async fn forget(&self, id: TaskId) {
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

    /// A task, and whether the node may claim it.
    async fn find(
        &self,
        connection: &Connection,
        id: TaskId,
        node: Option<NodeId>,
        now: Millis,
    ) -> Result<Option<(Found, bool)>, Fault> {
        let node = node.as_ref().map(|node| node.as_bytes().as_slice());
        let now = self.clock.theirs(now);
        let values: Values<'_> = &[&id.as_bytes().as_slice(), &node, &now];
        let Some(row) = connection.row(sql::READ, values).await? else {
            return Ok(None);
        };
        Ok(Some((Found::of(&row, 0)?, row.try_get(3)?)))
    }

    /// Writes a change, unless the task has changed since it was found.
    async fn write(
        &self,
        connection: &Connection,
        found: &Found,
        attempt: u32,
        change: Change,
        writes: &Writes,
    ) -> Result<bool, Fault> {
        let Found {
            number,
            version,
            task,
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
                &self.sender,
            ];
            connection.row(sql::END, values).await?
        } else {
            let is_over = task.attempt != attempt;
            let beside = Beside::of(writes, is_over);
            let sender = (change == Change::Changed).then_some(&self.sender);
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
                &sender,
            ];
            connection.row(sql::CHANGE, values).await?
        };
        Ok(row.is_some())
    }

    pub(super) async fn apply(
        &self,
        id: TaskId,
        event: &Event,
        writes: &Writes,
        now: Millis,
    ) -> Result<Applied, Fault> {
        let connection = self.pool.get().await?;
        for _ in 0..DATABASE_TRIES {
            let Some((mut found, _)) = self.find(&connection, id, None, now).await? else {
                return Ok(Applied::Missing);
            };
            let (attempt, from) = (found.task.attempt, found.task.status);
            let change = match apply(&mut found.task, event.clone(), now) {
                Err(refusal) => return Ok(Applied::Refused(refusal)),
                Ok(Change::Unchanged) => return Ok(Applied::Unchanged),
                Ok(change) => change,
            };
            let written = self.write(&connection, &found, attempt, change, writes);
            if written.await? {
                let to = found.task.status;
                if from != to {
                    self.moved(Step::Moved { from, to });
                }
                return Ok(change.into());
            }
        }
        Err(Fault::crowded())
    }

    pub(super) async fn claim(
        &self,
        id: TaskId,
        node: Option<NodeId>,
        lost: &Failure,
        now: Millis,
    ) -> Result<Option<Claim>, Fault> {
        let connection = self.pool.get().await?;
        for _ in 0..DATABASE_TRIES {
            let found = self.find(&connection, id, node, now).await?;
            let Some((mut found, true)) = found else {
                return Ok(None);
            };
            let attempt = found.task.attempt;
            let claim = Event::Claim { lost: lost.clone() };
            match apply(&mut found.task, claim, now) {
                Err(_) | Ok(Change::Unchanged) => return Ok(None),
                Ok(change @ Change::Changed) => {
                    let nothing = Writes::default();
                    let written = self.write(&connection, &found, attempt, change, &nothing);
                    if written.await? {
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
        connection: &Connection,
        found: Found,
        node: Option<NodeId>,
    ) -> Result<Option<Claim>, Fault> {
        let Found {
            number,
            version,
            task,
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

    pub(super) async fn take_due(
        &self,
        node: NodeId,
        except: &[String],
        most: usize,
        now: Millis,
    ) -> Result<Vec<Due>, Fault> {
        let connection = self.pool.get().await?;
        let node = node.as_bytes().as_slice();
        let values: Values<'_> = &[&node, &now, &limit(most), &except];
        let mut taken = Vec::new();
        for row in connection.query(sql::TAKE_DUE, values).await? {
            let (id, tenant) = (rows::id(&row, 1)?, rows::tenant(&row, 2)?);
            taken.push((row.try_get::<_, Millis>(0)?, Due { id, tenant }));
        }
        taken.sort_by_key(|(ready, _)| *ready);
        Ok(taken.into_iter().map(|(_, due)| due).collect())
    }

    pub(super) async fn next_due(&self, node: NodeId, except: &[String]) -> Result<Next, Fault> {
        let connection = self.pool.get().await?;
        let values: Values<'_> = &[&node.as_bytes().as_slice(), &except];
        let Some(row) = connection.row(sql::NEXT_DUE, values).await? else {
            return Ok(Next::default());
        };
        let lease: Option<Millis> = row.try_get(1)?;
        Ok(Next {
            task: row.try_get(0)?,
            lease: lease.map(|until| self.clock.ours(until)),
        })
    }

    pub(super) async fn renew(&self, node: NodeId, until: Millis) -> Result<bool, Fault> {
        let connection = self.pool.get().await?;
        let until = self.clock.theirs(until);
        let values: Values<'_> = &[&node.as_bytes().as_slice(), &until];
        let asked = now();
        let Some(row) = connection.row(sql::RENEW, values).await? else {
            connection.execute(sql::NEW_LEASE, values).await?;
            return Ok(false);
        };
        self.clock.compare(asked, row.try_get(0)?);
        Ok(true)
    }
}

/// A limit as the database's number.
pub(super) fn limit(most: usize) -> i64 {
    i64::try_from(most).unwrap_or(i64::MAX)
}
