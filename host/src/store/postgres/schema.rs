//! The form of the database, and how an older one becomes it.
//!
//! Invariant: a database is only ever brought to the newest version, in one transaction and by one of
//! those that want to; one of a later version is left alone.

use super::pool::{Fault, Pool};
use crate::limits::DATABASE_MIGRATION_TIME;

/// The version of the newest step below.
pub(super) const VERSION: i32 = STEPS.len() as i32;

/// Held while one looks at the version and changes the form: "cofferdm".
const LOCK: i64 = 0x636f_6666_6572_646d;

/// From nothing to version 1, and so on.
///
/// `head` is a task without its outcome, as JSON; `arguments` and `setup` are its job, until it is
/// final. `version` counts its changes. `due_at` is when the sweep must look at it; `ready_at` when it
/// should run, if it is not final and does not wait for its client. `node` holds it. Texts that
/// callers choose may have any character, PostgreSQL's none that is zero: keys are bytes. Rows are
/// left some room, so that a change of the head alone touches no index.
///
/// `tenants` and `total` are counts of `tasks`: see `statements::CREATE`. `components` has what unfinished
/// tasks run, and what was promised until some time; compressing it again would cost much and gain
/// little. `keys` has the key that nodes have in common. `granted` is how many tasks the last creation of
/// several let in for a tenant.
pub(super) const STEPS: [&str; 2] = [
    "
CREATE TABLE nodes (
    node bytea PRIMARY KEY,
    until bigint NOT NULL
);
CREATE TABLE tasks (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id bytea NOT NULL UNIQUE,
    version bigint NOT NULL DEFAULT 0,
    is_final boolean NOT NULL,
    due_at bigint,
    ready_at bigint,
    node bytea REFERENCES nodes ON DELETE SET NULL,
    tenant bytea NOT NULL,
    digest text NOT NULL,
    head text NOT NULL,
    result text,
    error text,
    arguments text,
    setup text
) WITH (fillfactor = 80);
CREATE INDEX tasks_due ON tasks (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX tasks_ready ON tasks (ready_at) WHERE ready_at IS NOT NULL AND node IS NULL;
CREATE INDEX tasks_held ON tasks (node) WHERE node IS NOT NULL;
CREATE INDEX tasks_open ON tasks (digest) WHERE NOT is_final;
CREATE TABLE journal (
    task bigint NOT NULL,
    row bigint NOT NULL,
    entries bytea NOT NULL,
    PRIMARY KEY (task, row)
);
CREATE TABLE records (
    task bigint NOT NULL,
    key bytea NOT NULL,
    value bytea NOT NULL,
    PRIMARY KEY (task, key)
);
CREATE TABLE tenants (
    tenant bytea PRIMARY KEY,
    unfinished bigint NOT NULL CHECK (unfinished >= 0),
    tasks bigint NOT NULL CHECK (tasks >= unfinished)
) WITH (fillfactor = 50);
CREATE TABLE total (
    tasks bigint NOT NULL CHECK (tasks >= 0)
) WITH (fillfactor = 10);
INSERT INTO total VALUES (0);
",
    "
CREATE TABLE components (
    digest text PRIMARY KEY,
    needed_until bigint NOT NULL,
    bytes bytea NOT NULL
);
ALTER TABLE components ALTER COLUMN bytes SET STORAGE EXTERNAL;
CREATE TABLE keys (
    number integer PRIMARY KEY,
    key bytea NOT NULL
);
ALTER TABLE tenants ADD COLUMN granted bigint NOT NULL DEFAULT 0;
",
];

/// Brings a database to the newest version. `Some(version)`: it is of that later version, and was left
/// alone.
///
/// # Errors
/// [`Fault`]; nothing was changed.
pub(super) async fn migrate(pool: &Pool) -> Result<Option<i32>, Fault> {
    let connection = pool.get().await?;
    connection.begin().await?;
    let work = async {
        // Another node may be at it, for longer than a statement takes.
        let lock =
            format!("SET LOCAL statement_timeout = 0; SELECT pg_advisory_xact_lock({LOCK});");
        connection.batch(&lock, DATABASE_MIGRATION_TIME).await?;
        let exists = "SELECT to_regclass('cofferdam') IS NOT NULL";
        let version = match connection.row(exists, &[]).await? {
            Some(row) if row.try_get(0)? => {
                let version = "SELECT version FROM cofferdam";
                let row = connection.row(version, &[]).await?;
                let nothing = || Fault::corrupt("the table cofferdam", "it is empty");
                row.ok_or_else(nothing)?.try_get(0)?
            }
            _ => {
                let table = "CREATE TABLE cofferdam (version integer NOT NULL);
                    INSERT INTO cofferdam VALUES (0);";
                connection.batch(table, DATABASE_MIGRATION_TIME).await?;
                0
            }
        };
        let done = usize::try_from(version).ok();
        let Some(steps) = done.and_then(|done| STEPS.get(done..)) else {
            return Ok(Some(version));
        };
        if !steps.is_empty() {
            let steps = steps.concat();
            let steps = format!("{steps} UPDATE cofferdam SET version = {VERSION};");
            connection.batch(&steps, DATABASE_MIGRATION_TIME).await?;
        }
        Ok(None)
    };
    let work = work.await;
    connection.end(work).await
}
