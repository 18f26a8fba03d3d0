//! Values of the database's columns.
//!
//! Invariant: what does not parse is an error, never a default.

use super::pool::Fault;
use crate::task::{Job, Outcome, Retention, Status, Task, TaskId, Writes};
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use tokio_postgres::Row;

/// A task without its outcome.
pub(super) fn head(row: &Row, column: usize) -> Result<Task, Fault> {
    let text: &str = row.try_get(column)?;
    serde_json::from_str(text).map_err(|error| Fault::corrupt("a task", error))
}

/// `result, error` from a column on.
pub(super) fn outcome(row: &Row, column: usize) -> Result<Option<Outcome>, Fault> {
    Ok(match (text(row, column)?, text(row, column + 1)?) {
        (Some(result), _) => Some(Outcome::Result(result)),
        (None, Some(error)) => Some(Outcome::Error(error)),
        (None, None) => None,
    })
}

/// `arguments, setup`.
pub(super) fn job(row: &Row) -> Result<Option<Job>, Fault> {
    let (Some(arguments), Some(setup)) = (text(row, 0)?, text(row, 1)?) else {
        return Ok(None);
    };
    let setup = serde_json::from_str(setup.get());
    let setup = setup.map_err(|error| Fault::corrupt("a job", error))?;
    Ok(Some(Job { arguments, setup }))
}

fn text(row: &Row, column: usize) -> Result<Option<Box<RawValue>>, Fault> {
    let text: Option<String> = row.try_get(column)?;
    let parsed = text.map(RawValue::from_string).transpose();
    parsed.map_err(|error| Fault::corrupt("a text", error))
}

/// An id.
pub(super) fn id(row: &Row, column: usize) -> Result<TaskId, Fault> {
    let bytes: &[u8] = row.try_get(column)?;
    let bytes = <[u8; 32]>::try_from(bytes).map_err(|error| Fault::corrupt("an id", error))?;
    Ok(TaskId::from_bytes(bytes))
}

/// A state, and how many tasks are in it.
pub(super) fn state(row: &Row) -> Result<(Status, usize), Fault> {
    let name: String = row.try_get(0)?;
    let status = serde_json::from_value(name.into());
    let status = status.map_err(|error| Fault::corrupt("a status", error))?;
    let number: i64 = row.try_get(1)?;
    Ok((status, usize::try_from(number).unwrap_or(0)))
}

/// A tenant, which is kept as its bytes.
pub(super) fn tenant(row: &Row, column: usize) -> Result<String, Fault> {
    let bytes: Vec<u8> = row.try_get(column)?;
    String::from_utf8(bytes).map_err(|error| Fault::corrupt("a tenant", error))
}

/// A task's columns.
pub(super) struct Columns {
    pub(super) is_final: bool,
    pub(super) due_at: Option<i64>,
    pub(super) ready_at: Option<i64>,
    pub(super) head: String,
    pub(super) result: Option<String>,
    pub(super) error: Option<String>,
}

impl Columns {
    pub(super) fn of(task: &Task, retention: Retention) -> Self {
        let (result, error) = match &task.outcome {
            Some(Outcome::Result(result)) => (Some(result.get().to_owned()), None),
            Some(Outcome::Error(error)) => (None, Some(error.get().to_owned())),
            None => (None, None),
        };
        Self {
            is_final: task.status.is_final(),
            due_at: task.due_at(retention),
            ready_at: task.ready_at(),
            head: crate::protocol::raw(task).get().to_owned(),
            result,
            error,
        }
    }
}

/// What is written beside a task.
pub(super) struct Beside<'a> {
    pub(super) row: Option<i64>,
    pub(super) entries: Option<&'a [u8]>,
    /// The last row that stays of the journal's older ones.
    pub(super) last: i64,
    pub(super) keys: Vec<&'a [u8]>,
    pub(super) values: Vec<&'a [u8]>,
}

impl<'a> Beside<'a> {
    /// The journal goes first, if the attempt that it belongs to is over.
    pub(super) fn of(writes: &'a Writes, clear: bool) -> Self {
        let segment = writes.segment.as_ref();
        let row = segment.map(|segment| i64::from(segment.row));
        let last = match segment {
            _ if clear => -1,
            Some(segment) if segment.replaces => i64::from(segment.row),
            _ => i64::MAX,
        };
        // Of two values for a key the later counts.
        let records: BTreeMap<&[u8], &[u8]> = writes
            .records
            .iter()
            .map(|(key, value)| (key.as_bytes(), value.as_slice()))
            .collect();
        let (keys, values) = records.into_iter().unzip();
        Self {
            row,
            entries: segment.map(|segment| segment.entries.as_slice()),
            last,
            keys,
            values,
        }
    }
}
