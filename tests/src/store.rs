//! The store of a server that is down, changed as no server would.

use std::path::Path;

use rusqlite::Connection;

/// Runs one SQL statement on the task store in a data folder.
///
/// # Panics
/// If it cannot be run, or changes nothing.
pub fn sql(data: &Path, statement: &str) {
    let changed = Connection::open(data.join("cofferdam.sqlite"))
        .and_then(|store| store.execute(statement, []));
    match changed {
        Ok(0) => panic!("changes nothing: {statement}"),
        Ok(_) => {}
        Err(error) => panic!("{statement}: {error}"),
    }
}
