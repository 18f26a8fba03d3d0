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
/// what a job needs beside its arguments, as JSON. Other tables know a task by its `number`: ids are
/// random, and every table that is sorted by them costs a page of its own for each task written. `counts`
/// says how many rows `tasks` has.
pub(super) const STEPS: [&str; 3] = [
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
ALTER TABLE tasks RENAME TO old_tasks;
ALTER TABLE jobs RENAME TO old_jobs;
DROP INDEX tasks_due;
DROP INDEX tasks_open;
CREATE TABLE tasks (
    number INTEGER PRIMARY KEY,
    id BLOB NOT NULL UNIQUE,
    is_final INTEGER NOT NULL,
    due_at INTEGER,
    ready_at INTEGER,
    tenant TEXT NOT NULL,
    head TEXT NOT NULL,
    result TEXT,
    error TEXT
) STRICT;
CREATE TABLE jobs (
    task INTEGER PRIMARY KEY,
    arguments TEXT NOT NULL,
    setup TEXT
) STRICT;
INSERT INTO tasks (id, is_final, due_at, ready_at, tenant, head, result, error)
    SELECT id, is_final, due_at, iif(is_final, NULL, 0), head ->> '$.owner.tenant',
        iif(is_final, head, json_set(head, '$.inputs', json('{\"open\":{},\"answered\":{}}'))),
        result, error
    FROM old_tasks;
INSERT INTO jobs (task, arguments)
    SELECT number, arguments FROM old_jobs JOIN tasks ON tasks.id = old_jobs.id;
DROP TABLE old_tasks;
DROP TABLE old_jobs;
CREATE INDEX tasks_due ON tasks (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX tasks_ready ON tasks (ready_at) WHERE ready_at IS NOT NULL;
CREATE TABLE journal (
    task INTEGER NOT NULL,
    row INTEGER NOT NULL,
    entries BLOB NOT NULL,
    PRIMARY KEY (task, row)
) STRICT, WITHOUT ROWID;
CREATE TABLE records (
    task INTEGER NOT NULL,
    key TEXT NOT NULL,
    value BLOB NOT NULL,
    PRIMARY KEY (task, key)
) STRICT, WITHOUT ROWID;
",
    "
CREATE TABLE counts (
    tenant TEXT NOT NULL,
    digest TEXT NOT NULL,
    status TEXT NOT NULL,
    number INTEGER NOT NULL,
    PRIMARY KEY (tenant, digest, status)
) STRICT, WITHOUT ROWID;
INSERT INTO counts (tenant, digest, status, number)
    SELECT tenant, head ->> '$.digest', head ->> '$.status', count(*) FROM tasks GROUP BY 1, 2, 3;
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
