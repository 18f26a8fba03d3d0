//! Many tasks created, or ended, by one statement.
//!
//! Invariant: each comes to what it would have come to alone. What the one statement cannot decide (a
//! task for which room is to be made, one that changed meanwhile) is given back, to be done alone; so is
//! each, if the database refuses one of them.

use super::pool::{Fault, Values};
use super::rows::{self, Beside, Columns};
use super::statements as sql;
use super::work::{Found, Inner, limit};
use crate::store::counts::Step;
use crate::store::{Applied, Full};
use crate::task::{Change, Event, Millis, NewTask, TaskId, Writes, apply};
use std::collections::{BTreeMap, HashMap};

/// Of a creation, what is asked.
pub(super) type Creation = (TaskId, Box<NewTask>);
/// Of an end, what is asked.
pub(super) type End = (TaskId, Event, Millis);
/// Of a creation: which limit is in the way, if one is.
pub(super) type Created = Result<Option<Full>, Fault>;
/// What became of an end.
pub(super) type Ended = Result<Applied, Fault>;

impl Inner {
    /// Creates tasks.
    pub(super) async fn create_all(&self, all: Vec<Creation>) -> Vec<Result<Created, Creation>> {
        let created = match self.pool.attempt(|| self.insert_all(&all)).await {
            Ok(created) => created,
            Err(fault) if all.len() == 1 || fault.is_of_all() => {
                return all.iter().map(|_| Ok(Err(fault.clone()))).collect();
            }
            Err(_) => HashMap::new(),
        };
        let mut answers = Vec::with_capacity(all.len());
        for (id, new) in all {
            answers.push(match created.get(&id) {
                Some(full) => {
                    if full.is_none() {
                        self.moved(Step::Created(new.task.status));
                    }
                    Ok(Ok(*full))
                }
                None => Err((id, new)),
            });
        }
        answers
    }

    /// Creates those that certainly have room; none, if the store may have too little. Gives those, and
    /// those of tenants that have as many unfinished tasks as they may.
    async fn insert_all(&self, all: &[Creation]) -> Result<HashMap<TaskId, Option<Full>>, Fault> {
        if let [(id, new)] = all {
            let connection = self.pool.get().await?;
            let made = self.insert(&connection, *id, new).await?;
            return Ok(made.then_some((*id, None)).into_iter().collect());
        }
        let mut new = Rows::default();
        let mut tenants: BTreeMap<&[u8], (i64, i64, i64)> = BTreeMap::new();
        for (id, new_task) in all {
            let NewTask {
                task,
                most,
                most_stored,
                ..
            } = &**new_task;
            let tenant = task.owner.tenant.as_bytes();
            let (most, stored) = (limit(*most), limit(*most_stored));
            let asked = tenants.entry(tenant).or_insert((0, most, stored));
            asked.0 += 1;
            asked.1 = asked.1.min(most);
            asked.2 = asked.2.min(stored);
            new.add(id, new_task, Columns::of(task, self.options.retention));
        }
        let mut asked = (vec![], vec![], vec![], vec![]);
        for (tenant, (number, most, stored)) in tenants {
            asked.0.push(tenant);
            asked.1.push(number);
            asked.2.push(most);
            asked.3.push(stored);
        }
        // One process is one node.
        let node = all.iter().find_map(|(_, new)| new.node);
        let node = node.as_ref().map(|node| node.as_bytes().as_slice());
        let (number, most) = (limit(all.len()), limit(self.options.max_tasks));
        let values: Values<'_> = &[
            &node,
            &number,
            &most,
            &asked.0,
            &asked.1,
            &asked.2,
            &asked.3,
            &new.ids,
            &new.tenants,
            &new.digests,
            &new.is_final,
            &new.due_at,
            &new.ready_at,
            &new.heads,
            &new.arguments,
            &new.setups,
            &new.rows,
            &new.entries,
            &new.record_ids,
            &new.keys,
            &new.values,
        ];
        let connection = self.pool.get().await?;
        let mut created = HashMap::new();
        for row in connection.query(sql::CREATE_ALL, values).await? {
            let (made, full): (bool, bool) = (row.try_get(1)?, row.try_get(2)?);
            if made || full {
                let full = (!made).then_some(Full::Unfinished);
                created.insert(rows::id(&row, 0)?, full);
            }
        }
        Ok(created)
    }

    /// Ends tasks.
    pub(super) async fn end_all(&self, all: Vec<End>) -> Vec<Result<Ended, End>> {
        let mut ended = match self.pool.attempt(|| self.write_ends(&all)).await {
            Ok(ended) => ended,
            Err(fault) if all.len() == 1 || fault.is_of_all() => {
                return all.iter().map(|_| Ok(Err(fault.clone()))).collect();
            }
            Err(_) => HashMap::new(),
        };
        let answer = |(place, end)| ended.remove(&place).map(Ok).ok_or(end);
        all.into_iter().enumerate().map(answer).collect()
    }

    /// What those come to that can be decided and written at once, by their places.
    async fn write_ends(&self, all: &[End]) -> Result<HashMap<usize, Applied>, Fault> {
        if let [(id, event, now)] = all {
            let applied = self.apply(*id, event, &Writes::default(), *now).await?;
            return Ok(HashMap::from([(0, applied)]));
        }
        let connection = self.pool.get().await?;
        let mut ids: Vec<&[u8]> = all
            .iter()
            .map(|(id, ..)| id.as_bytes().as_slice())
            .collect();
        ids.sort_unstable();
        ids.dedup();
        let mut found = HashMap::new();
        for row in connection.query(sql::READ_ALL, &[&ids]).await? {
            found.insert(rows::id(&row, 0)?, Found::of(&row, 1)?);
        }
        let mut done = HashMap::new();
        let mut ends = Ends::default();
        let mut places = HashMap::new();
        for (place, (id, event, now)) in all.iter().enumerate() {
            // A second one of a task is decided after the first.
            let Some(mut found) = found.remove(id) else {
                continue;
            };
            let from = found.task.status;
            match apply(&mut found.task, event.clone(), *now) {
                Err(refusal) => _ = done.insert(place, Applied::Refused(refusal)),
                Ok(Change::Changed) if found.task.status.is_final() => {
                    let columns = Columns::of(&found.task, self.options.retention);
                    let to = found.task.status;
                    places.insert(found.number, (place, Step::Moved { from, to }));
                    ends.add(&found, columns);
                }
                Ok(_) => {}
            }
        }
        if places.is_empty() {
            return Ok(done);
        }
        let values: Values<'_> = &[
            &ends.numbers,
            &ends.versions,
            &ends.due_at,
            &ends.heads,
            &ends.results,
            &ends.errors,
            &self.sender,
        ];
        for row in connection.query(sql::END_ALL, values).await? {
            for number in row.try_get::<_, Vec<i64>>(0)? {
                if let Some((place, step)) = places.remove(&number) {
                    self.moved(step);
                    done.insert(place, Applied::Changed);
                }
            }
        }
        Ok(done)
    }
}

/// Columns of tasks that are to be created.
#[derive(Default)]
struct Rows<'a> {
    ids: Vec<&'a [u8]>,
    tenants: Vec<&'a [u8]>,
    digests: Vec<&'a str>,
    is_final: Vec<bool>,
    due_at: Vec<Option<i64>>,
    ready_at: Vec<Option<i64>>,
    heads: Vec<String>,
    arguments: Vec<&'a str>,
    setups: Vec<String>,
    rows: Vec<Option<i64>>,
    entries: Vec<Option<&'a [u8]>>,
    /// Of all records: whose each is.
    record_ids: Vec<&'a [u8]>,
    keys: Vec<&'a [u8]>,
    values: Vec<&'a [u8]>,
}

impl<'a> Rows<'a> {
    fn add(&mut self, id: &'a TaskId, new: &'a NewTask, columns: Columns) {
        let beside = Beside::of(&new.writes, false);
        let id = id.as_bytes().as_slice();
        self.ids.push(id);
        self.tenants.push(new.task.owner.tenant.as_bytes());
        self.digests.push(&new.task.digest);
        self.is_final.push(columns.is_final);
        self.due_at.push(columns.due_at);
        self.ready_at.push(columns.ready_at);
        self.heads.push(columns.head);
        self.arguments.push(new.job.arguments.get());
        self.setups
            .push(crate::protocol::raw(&new.job.setup).get().to_owned());
        self.rows.push(beside.row);
        self.entries.push(beside.entries);
        self.record_ids.extend(beside.keys.iter().map(|_| id));
        self.keys.extend(beside.keys);
        self.values.extend(beside.values);
    }
}

/// Columns of tasks that end.
#[derive(Default)]
struct Ends {
    numbers: Vec<i64>,
    versions: Vec<i64>,
    due_at: Vec<Option<i64>>,
    heads: Vec<String>,
    results: Vec<Option<String>>,
    errors: Vec<Option<String>>,
}

impl Ends {
    fn add(&mut self, found: &Found, columns: Columns) {
        self.numbers.push(found.number);
        self.versions.push(found.version);
        self.due_at.push(columns.due_at);
        self.heads.push(columns.head);
        self.results.push(columns.result);
        self.errors.push(columns.error);
    }
}
