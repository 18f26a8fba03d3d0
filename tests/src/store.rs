//! The store of a server that is down, changed as no server would.

use std::path::Path;

use rusqlite::Connection;

/// Runs SQL statements on the task store in a data folder.
///
/// # Panics
/// If they cannot be run.
pub fn sql(data: &Path, statements: &str) {
    let run = Connection::open(data.join("cofferdam.sqlite"))
        .and_then(|store| store.execute_batch(statements));
    run.unwrap_or_else(|error| panic!("{statements}: {error}"));
}
