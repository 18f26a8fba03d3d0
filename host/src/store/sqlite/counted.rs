//! How many tasks there are, as the file keeps it: opening a file reads some rows, however many tasks it
//! holds.
//!
//! Invariant: in every committed state the counts are those of the rows in `tasks`, as what a transaction
//! does to tasks is committed together with what that does to their counts.

use super::super::counts::{Counts, Step};
use super::rows;
use crate::task::Status;
use rusqlite::{Connection, params};
use std::collections::{HashMap, HashSet};

/// What a transaction does to the counts, until it is written: by tenant, by the digest of the component,
/// and by state.
#[derive(Default)]
pub(super) struct Changes(HashMap<(String, String), [i64; Status::ALL.len()]>);

impl Changes {
    /// A step of a task.
    pub(super) fn add(&mut self, tenant: &str, digest: &str, step: Step) {
        let key = (tenant.to_owned(), digest.to_owned());
        let numbers = self.0.entry(key).or_default();
        let (from, to) = step.states();
        if let Some(from) = from {
            numbers[from as usize] -= 1;
        }
        if let Some(to) = to {
            numbers[to as usize] += 1;
        }
    }

    /// Writes them, and begins anew.
    pub(super) fn write(&mut self, connection: &Connection) -> rusqlite::Result<()> {
        let mut add = connection.prepare_cached(
            "INSERT INTO counts (tenant, digest, status, number) VALUES (?1, ?2, ?3, ?4)
             ON CONFLICT DO UPDATE SET number = number + excluded.number",
        )?;
        let mut remove = connection.prepare_cached(
            "DELETE FROM counts WHERE tenant = ?1 AND digest = ?2 AND status = ?3 AND number = 0",
        )?;
        for ((tenant, digest), numbers) in self.0.drain() {
            let changed = Status::ALL.into_iter().zip(numbers);
            for (status, number) in changed.filter(|(_, number)| *number != 0) {
                add.execute(params![tenant, digest, status.name(), number])?;
                if number < 0 {
                    remove.execute(params![tenant, digest, status.name()])?;
                }
            }
        }
        Ok(())
    }

    /// Forgets them: their transaction came to nothing.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}

/// The tasks that there are.
pub(super) fn read(connection: &Connection) -> rusqlite::Result<Counts> {
    let mut counts = Counts::default();
    let mut select = connection.prepare("SELECT tenant, status, number FROM counts")?;
    let mut rows = select.query([])?;
    while let Some(row) = rows.next()? {
        let number = usize::try_from(row.get::<_, i64>(2)?).unwrap_or(0);
        counts.found(row.get(0)?, rows::status(row, 1)?, number);
    }
    Ok(counts)
}

/// The components of tasks that are not final.
pub(super) fn digests(connection: &Connection) -> rusqlite::Result<HashSet<String>> {
    let mut select = connection.prepare("SELECT digest, status FROM counts")?;
    let mut rows = select.query([])?;
    let mut digests = HashSet::new();
    while let Some(row) = rows.next()? {
        if !rows::status(row, 1)?.is_final() {
            digests.insert(row.get(0)?);
        }
    }
    Ok(digests)
}
