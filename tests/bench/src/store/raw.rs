//! The least that durable tasks cost: their bytes in a file, and in plain SQLite.
//!
//! Invariant: one writer, and every change is on the disk before the next one begins.

use std::fs::File;
use std::io::Write;
use std::path::Path;

use anyhow::{Result, ensure};
use cofferdam::task::{Event, apply};
use rusqlite::{Connection, params};

use super::writers::alone;
use crate::load::Load;
use crate::stored::{Template, id};

/// What the host's store writes of a task.
pub(super) struct Bytes {
    pub(super) head: String,
    pub(super) arguments: String,
    pub(super) setup: String,
    pub(super) entries: Vec<u8>,
    /// At its end.
    pub(super) ended: String,
    pub(super) result: String,
    /// When it would be due, as it begins and as it ends.
    pub(super) due: [i64; 2],
}

impl Bytes {
    pub(super) fn of(template: &Template, number: u64) -> Result<Self> {
        let new = template.begin(number)?;
        let mut task = new.task;
        let head = serde_json::to_string(&task)?;
        let due = task.ends_at();
        let end = template.end(number)?;
        let result = match &end {
            Event::Complete { result, .. } => result.get().to_owned(),
            other => anyhow::bail!("{other:?} is no end"),
        };
        let now = task.created_at;
        apply(&mut task, end, now)?;
        Ok(Self {
            head,
            arguments: new.job.arguments.get().to_owned(),
            setup: serde_json::to_string(&new.job.setup)?,
            entries: new.writes.segment.map_or_else(Vec::new, |it| it.entries),
            ended: serde_json::to_string(&task)?,
            result,
            due: [due, now],
        })
    }
}

/// Appends to a file.
pub(super) fn append(load: Load, template: &Template, folder: &Path) -> Result<f64> {
    let mut file = File::create(folder.join("appended"))?;
    alone(load, |number| {
        let bytes = Bytes::of(template, number)?;
        let (id, head, setup) = (id(number), bytes.head.as_bytes(), bytes.setup.as_bytes());
        let begun = [id.as_bytes(), head, bytes.arguments.as_bytes(), setup];
        file.write_all(&[&begun.concat()[..], &bytes.entries].concat())?;
        file.sync_data()?;
        let (ended, result) = (bytes.ended.as_bytes(), bytes.result.as_bytes());
        file.write_all(&[&id.as_bytes()[..], ended, result].concat())?;
        file.sync_data()?;
        Ok(())
    })
}

/// Inserts and updates a row, with the settings that make each commit durable.
pub(super) fn sqlite(load: Load, template: &Template, folder: &Path) -> Result<f64> {
    let connection = Connection::open(folder.join("raw.sqlite"))?;
    connection.execute_batch(
        "PRAGMA page_size = 8192; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
        CREATE TABLE tasks (number INTEGER PRIMARY KEY, id BLOB NOT NULL UNIQUE, is_final INTEGER NOT NULL,
            due_at INTEGER, head TEXT NOT NULL, arguments TEXT, setup TEXT, entries BLOB, result TEXT) STRICT;
        CREATE INDEX tasks_due ON tasks (due_at);",
    )?;
    let insert = "INSERT INTO tasks (id, is_final, due_at, head, arguments, setup, entries)
        VALUES (?1, 0, ?2, ?3, ?4, ?5, ?6)";
    let update = "UPDATE tasks SET is_final = 1, due_at = ?2, head = ?3, result = ?4,
        arguments = NULL, setup = NULL, entries = NULL WHERE id = ?1";
    let (mut insert, mut update) = (connection.prepare(insert)?, connection.prepare(update)?);
    alone(load, |number| {
        let Bytes {
            head,
            arguments,
            setup,
            entries,
            ended,
            result,
            due: [due, removed],
        } = Bytes::of(template, number)?;
        let id = id(number);
        insert.execute(params![
            &id.as_bytes()[..],
            due,
            head,
            arguments,
            setup,
            entries
        ])?;
        let changed = update.execute(params![&id.as_bytes()[..], removed, ended, result])?;
        ensure!(changed == 1, "task {number} was not stored");
        Ok(())
    })
}
