//! What a load uses of a database, per task.
//!
//! Invariant: it counts from when all nodes listen until all tasks have ended, the warm-up's among them.
//! What is counted is what nodes ask: questions of the benchmark go to another database.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use cofferdam_postgres::Postgres;

use crate::load::GRACE;
use crate::process::{Server, family_cpu};

/// The database of the nodes, the first that was made, and that of the questions.
const NODES: &str = "tasks0";
const OURS: &str = "postgres";

/// Where the text of a statement is cut: so much tells it from others.
const TEXT: usize = 72;

/// What tasks used, per task.
pub(super) struct Used {
    /// CPU time of all of PostgreSQL's processes.
    pub(super) cpu: Duration,
    /// Transactions. One statement is one, and so is its preparation, and each time that a session that
    /// listens reads what it is notified of.
    pub(super) transactions: f64,
    /// Those that wrote: each waits for the disk.
    pub(super) writes: f64,
    /// What was asked, the most frequent first; none if PostgreSQL cannot count it.
    pub(super) statements: Vec<Statement>,
}

/// Statements whose text begins alike.
pub(super) struct Statement {
    /// In one line, with `$1` for values.
    pub(super) text: String,
    /// Per task.
    pub(super) calls: f64,
    /// From its arrival to its last row, milliseconds: with its waits for locks, without that for the
    /// disk, which comes after.
    pub(super) ms: f64,
}

impl Used {
    /// Statements per task; none if PostgreSQL cannot count them.
    pub(super) fn calls(&self) -> f64 {
        self.statements.iter().map(|it| it.calls).sum()
    }
}

/// What counts.
pub(super) struct Meter<'a> {
    database: &'a Postgres,
    counts_statements: bool,
    cpu: Duration,
    transactions: u64,
    writes: u64,
}

impl<'a> Meter<'a> {
    pub(super) fn start(database: &'a Postgres) -> Result<Self> {
        let counts_statements = database.counts_statements();
        if counts_statements {
            database.sql(OURS, "SELECT pg_stat_statements_reset()");
        }
        Ok(Self {
            database,
            counts_statements,
            transactions: transactions(database)?,
            writes: writes(database)?,
            cpu: family_cpu(database.process())?,
        })
    }

    /// Ends the nodes, too: sessions tell of their last transactions when they end.
    pub(super) fn stop(self, nodes: Vec<Server>, tasks: u64) -> Result<Used> {
        let database = self.database;
        let cpu = family_cpu(database.process())?.saturating_sub(self.cpu);
        let per_task = |number: u64| number as f64 / tasks as f64;
        let writes = per_task(writes(database)?.saturating_sub(self.writes));
        let statements = match self.counts_statements {
            true => statements(database, tasks)?,
            false => Vec::new(),
        };
        drop(nodes);
        until_alone(database)?;
        let transactions = transactions(database)?.saturating_sub(self.transactions);
        Ok(Used {
            cpu: cpu.div_f64(tasks as f64),
            transactions: per_task(transactions),
            writes,
            statements,
        })
    }
}

/// Those that sessions have told of so far. They do so once a second: a few of the nodes' start count
/// as the load's.
fn transactions(database: &Postgres) -> Result<u64> {
    let sum = "SELECT xact_commit + xact_rollback FROM pg_stat_database";
    number(database, &format!("{sum} WHERE datname = '{NODES}'"))
}

/// Those that have written so far: only they are given a number.
fn writes(database: &Postgres) -> Result<u64> {
    number(database, "SELECT pg_snapshot_xmax(pg_current_snapshot())")
}

/// Waits until all sessions of nodes have ended.
fn until_alone(database: &Postgres) -> Result<()> {
    let sessions = format!("SELECT count(*) FROM pg_stat_activity WHERE datname = '{NODES}'");
    let start = Instant::now();
    while number(database, &sessions)? > 0 {
        ensure!(start.elapsed() < GRACE, "sessions outlive their nodes");
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

fn number(database: &Postgres, query: &str) -> Result<u64> {
    let answer = database.sql(OURS, query);
    let number = answer.parse();
    number.with_context(|| format!("{query}: {answer}"))
}

fn statements(database: &Postgres, tasks: u64) -> Result<Vec<Statement>> {
    let rows = format!(
        r"SELECT sum(calls), sum(total_exec_time), left(btrim(regexp_replace(query, '\s+', ' ', 'g')), {TEXT})
        FROM pg_stat_statements JOIN pg_database ON oid = dbid
        WHERE datname = '{NODES}' GROUP BY 3 ORDER BY 1 DESC, 3"
    );
    let rows = database.sql(OURS, &rows);
    let statement = |row: &str| {
        let mut columns = row.splitn(3, '|');
        let mut column = || columns.next().context("three columns");
        let calls: f64 = column()?.parse()?;
        let ms: f64 = column()?.parse()?;
        anyhow::Ok(Statement {
            text: column()?.to_owned(),
            calls: calls / tasks as f64,
            ms: ms / calls,
        })
    };
    rows.lines().map(statement).collect()
}

#[cfg(test)]
mod tests {
    use super::{Meter, NODES};
    use cofferdam_postgres::Postgres;
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn what_is_asked_between_start_and_stop_is_counted() {
        let reachable = Permissions::from_mode(0o755);
        let data = tempfile::Builder::new().permissions(reachable).tempdir();
        let data = data.expect("a folder");
        // Whose own transactions may come at any time.
        let database = Postgres::to_measure(data.path(), &["autovacuum=off"]);
        database.database();
        database.sql(NODES, "CREATE TABLE numbers (number integer)");

        let meter = Meter::start(&database).expect("a start");
        for number in 1..=3 {
            for _ in 0..2 {
                database.sql(NODES, &format!("SELECT  {number} + 1"));
            }
            database.sql(NODES, &format!("INSERT INTO numbers VALUES ({number})"));
        }
        let used = meter.stop(Vec::new(), 3).expect("counts");

        assert_eq!(used.writes, 1.0);
        assert!(used.transactions >= 3.0, "{}", used.transactions);
        if database.counts_statements() {
            let told = used.statements.iter();
            let told: Vec<_> = told.map(|it| (it.text.as_str(), it.calls)).collect();
            let insert = "INSERT INTO numbers VALUES ($1)";
            assert_eq!(told, [("SELECT $1 + $2", 2.0), (insert, 1.0)]);
            assert_eq!(used.calls(), 3.0);
        }
    }
}
