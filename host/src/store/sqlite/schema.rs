//! The file's form, and how an older one becomes it.
//!
//! Invariant: a file is only ever brought to the newest version, in one transaction; a file of a
//! later version is left alone.

use rusqlite::{Connection, OptionalExtension as _};

/// The version of the newest step below, in SQLite's `user_version`.
pub(super) const VERSION: i64 = STEPS.len() as i64;

/// From nothing to version 1, from there to 2, and so on.
///
/// `head` is a task without its outcome, as JSON. `due_at` is when the sweep must look at it.
/// `ready_at` is when it should run, if it is not final and does not wait for its client. `setup` is
/// what a job needs beside its arguments, as JSON.
pub(super) const STEPS: [&str; 2] = [
    "
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
",
    "
ALTER TABLE tasks ADD COLUMN ready_at INTEGER;
UPDATE tasks SET ready_at = 0, head = json_set(head, '$.inputs', json('{\"open\":{},\"answered\":{}}'))
    WHERE is_final = 0;
CREATE INDEX tasks_ready ON tasks (ready_at) WHERE ready_at IS NOT NULL;
ALTER TABLE jobs ADD COLUMN setup TEXT;
CREATE TABLE journal (
    task BLOB NOT NULL,
    row INTEGER NOT NULL,
    entries BLOB NOT NULL,
    PRIMARY KEY (task, row)
) STRICT, WITHOUT ROWID;
CREATE TABLE records (
    task BLOB NOT NULL,
    key TEXT NOT NULL,
    value BLOB NOT NULL,
    PRIMARY KEY (task, key)
) STRICT, WITHOUT ROWID;
",
];

/// Brings a file to the newest version. `Some(version)`: it is of that later version, and was left
/// alone.
pub(super) fn migrate(connection: &Connection) -> rusqlite::Result<Option<i64>> {
    let version: i64 = connection
        .query_row("PRAGMA user_version", [], |row| row.get(0))
        .optional()?
        .unwrap_or(0);
    if !(0..=VERSION).contains(&version) {
        return Ok(Some(version));
    }
    let Some(steps) = usize::try_from(version)
        .ok()
        .and_then(|done| STEPS.get(done..))
    else {
        return Ok(Some(version));
    };
    if !steps.is_empty() {
        let steps = steps.concat();
        connection.execute_batch(&format!(
            "BEGIN IMMEDIATE; {steps} PRAGMA user_version = {VERSION}; COMMIT;"
        ))?;
    }
    Ok(None)
}
