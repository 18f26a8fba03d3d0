//! What time does to tasks, a batch in a transaction.
//!
//! Invariant: what another node is at is left to it. Locks are taken in the order of `statements`.

use super::pool::{Connection, Fault};
use super::rows::{self, Columns};
use super::statements as sql;
use super::work::Inner;
use crate::limits::SWEEP_BATCH;
use crate::store::{MAKE_ROOM, Swept};
use crate::task::{Change, Event, Millis, TaskId, apply};
use std::collections::BTreeMap;

/// What goes from the counts: how many of each tenant's tasks ended, and were removed.
#[derive(Default)]
struct Less(BTreeMap<Vec<u8>, (i64, i64)>);

impl Less {
    fn ended(&mut self, tenant: Vec<u8>) {
        self.0.entry(tenant).or_default().0 += 1;
    }

    fn removed(&mut self, tenant: Vec<u8>) {
        self.0.entry(tenant).or_default().1 += 1;
    }

    /// The last of a transaction's statements.
    async fn take(self, connection: &Connection) -> Result<(), Fault> {
        let removed: i64 = self.0.values().map(|(_, removed)| removed).sum();
        if removed > 0 {
            connection.execute(sql::UNCOUNT_TOTAL, &[&removed]).await?;
        }
        if self.0.is_empty() {
            return Ok(());
        }
        let (tenants, counts): (Vec<_>, Vec<_>) = self.0.into_iter().unzip();
        let (ended, removed): (Vec<_>, Vec<_>) = counts.into_iter().unzip();
        let values: super::pool::Values<'_> = &[&tenants, &ended, &removed];
        connection.execute(sql::UNCOUNT_TENANTS, values).await?;
        Ok(())
    }
}

/// Handles one batch of what is due. Gives also how many tasks ended with it.
pub(super) async fn sweep(
    connection: &Connection,
    inner: &Inner,
    expire: &Event,
    now: Millis,
) -> Result<(Swept, usize), Fault> {
    connection.begin().await?;
    let work = batch(connection, inner, expire, now).await;
    let (swept, ended) = connection.end(work).await?;
    if swept.removed > 0 {
        connection.execute(sql::CLEAR_TENANTS, &[]).await?;
        connection.execute(sql::CLEAR_COMPONENTS, &[&now]).await?;
    }
    Ok((swept, ended))
}

async fn batch(
    connection: &Connection,
    inner: &Inner,
    expire: &Event,
    now: Millis,
) -> Result<(Swept, usize), Fault> {
    let limit = SWEEP_BATCH as i64;
    let due = connection.query(sql::SWEEP, &[&now, &limit]).await?;
    let mut swept = Swept {
        more: due.len() == SWEEP_BATCH,
        ..Swept::default()
    };
    let (mut less, mut gone, mut ended, mut begun) = (Less::default(), vec![], vec![], vec![]);
    let mut all = Changed::default();
    for row in due {
        let number: i64 = row.try_get(0)?;
        if row.try_get(3)? {
            less.removed(row.try_get(2)?);
            gone.push(number);
            continue;
        }
        let mut task = rows::head(&row, 4)?;
        if apply(&mut task, expire.clone(), now) != Ok(Change::Changed) {
            continue;
        }
        let columns = Columns::of(&task, inner.options.retention);
        if columns.is_final {
            less.ended(row.try_get(2)?);
            ended.push(number);
        }
        begun.push(number);
        swept.expired.push(rows::id(&row, 1)?);
        all.add(number, columns);
    }
    swept.removed = gone.len();
    if !all.numbers.is_empty() {
        all.write(connection, &inner.sender).await?;
        // The attempt is over, and perhaps the task.
        connection.execute(sql::CLEAR_JOURNALS, &[&begun]).await?;
        connection.execute(sql::CLEAR_RECORDS, &[&ended]).await?;
    }
    if !gone.is_empty() {
        connection.execute(sql::REMOVE, &[&gone]).await?;
    }
    less.take(connection).await?;
    Ok((swept, ended.len()))
}

/// Columns of many tasks.
#[derive(Default)]
struct Changed {
    numbers: Vec<i64>,
    is_final: Vec<bool>,
    due_at: Vec<Option<i64>>,
    ready_at: Vec<Option<i64>>,
    heads: Vec<String>,
    errors: Vec<Option<String>>,
}

impl Changed {
    fn add(&mut self, number: i64, columns: Columns) {
        self.numbers.push(number);
        self.is_final.push(columns.is_final);
        self.due_at.push(columns.due_at);
        self.ready_at.push(columns.ready_at);
        self.heads.push(columns.head);
        self.errors.push(columns.error);
    }

    async fn write(&self, connection: &Connection, sender: &str) -> Result<(), Fault> {
        let values: super::pool::Values<'_> = &[
            &self.numbers,
            &self.is_final,
            &self.due_at,
            &self.ready_at,
            &self.heads,
            &self.errors,
            &sender,
        ];
        connection.query(sql::CHANGE_ALL, values).await?;
        Ok(())
    }
}

/// Removes some final tasks that are due.
pub(super) async fn make_room(connection: &Connection, now: Millis) -> Result<(), Fault> {
    connection.begin().await?;
    let work = async {
        let limit = MAKE_ROOM as i64;
        let due = connection.query(sql::SWEEP_FINAL, &[&now, &limit]).await?;
        let (mut less, mut gone) = (Less::default(), Vec::new());
        for row in due {
            gone.push(row.try_get::<_, i64>(0)?);
            less.removed(row.try_get(1)?);
        }
        connection.execute(sql::REMOVE, &[&gone]).await?;
        less.take(connection).await
    };
    let work = work.await;
    connection.end(work).await
}

/// Removes a task that nobody was told of.
pub(super) async fn forget(connection: &Connection, id: TaskId) -> Result<(), Fault> {
    connection.begin().await?;
    let work = async {
        let key = id.as_bytes().as_slice();
        let Some(row) = connection.row(sql::FORGET, &[&key]).await? else {
            return Ok(());
        };
        let numbers = [row.try_get::<_, i64>(0)?];
        let numbers = numbers.as_slice();
        let tenant: Vec<u8> = row.try_get(1)?;
        let mut less = Less::default();
        if !row.try_get::<_, bool>(2)? {
            less.ended(tenant.clone());
        }
        less.removed(tenant);
        connection.execute(sql::CLEAR_JOURNALS, &[&numbers]).await?;
        connection.execute(sql::CLEAR_RECORDS, &[&numbers]).await?;
        less.take(connection).await
    };
    let work = work.await;
    connection.end(work).await
}
