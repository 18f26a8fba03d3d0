//! Values of the file's columns.
//!
//! Invariant: what does not parse is an error of its column, never a default.

use crate::task::{Job, Status, Task};
use rusqlite::Row;
use serde_json::Value;
use serde_json::value::RawValue;

/// A task without its outcome.
pub(super) fn head(row: &Row<'_>, column: usize) -> rusqlite::Result<Task> {
    serde_json::from_str(row.get_ref(column)?.as_str()?).map_err(|error| corrupt(column, error))
}

/// The status of a task, by its name.
pub(super) fn status(row: &Row<'_>, column: usize) -> rusqlite::Result<Status> {
    let name = Value::from(row.get_ref(column)?.as_str()?);
    serde_json::from_value(name).map_err(|error| corrupt(column, error))
}

/// JSON text as it is.
pub(super) fn text(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<Box<RawValue>>> {
    row.get::<_, Option<String>>(column)?
        .map(|text| RawValue::from_string(text).map_err(|error| corrupt(column, error)))
        .transpose()
}

/// `arguments, setup`; `None` if the job was kept by a version that knew no setup.
pub(super) fn job(row: &Row<'_>) -> rusqlite::Result<Option<Job>> {
    let (Some(arguments), Some(setup)) = (text(row, 0)?, text(row, 1)?) else {
        return Ok(None);
    };
    let setup = serde_json::from_str(setup.get()).map_err(|error| corrupt(1, error))?;
    Ok(Some(Job { arguments, setup }))
}

fn corrupt(column: usize, error: serde_json::Error) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(column, rusqlite::types::Type::Text, Box::new(error))
}
