//! What stores can do, without a server: whole tasks a second, each made durable twice (when it begins and
//! when it ends), beside the least that a disk and a database ask for the same.
//!
//! Invariant: within a round all rows are measured one after the other, each on files or a database of
//! its own. A task counts when both of its changes were answered; what was answered is looked for
//! afterwards.

mod autocommit;
mod raw;
mod report;
mod writers;

use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use cofferdam::task::Status;
use cofferdam_postgres::Postgres;
use tokio::runtime::Runtime;

use crate::load::{Load, Workload};
use crate::place::Place;
use crate::process::Server;
use crate::rounds::Plan;
use crate::stored::{self, Template};
use crate::study::Study;

/// This study.
pub(crate) const STUDY: Study = Study {
    name: "store",
    is_here: |_| true,
    measure: |place, plan| Ok(Box::new(measure_all(place, plan)?)),
};

/// Writers, and clients of the server.
const MANY: usize = 64;
/// Writers on PostgreSQL.
const ON_POSTGRES: usize = 256;

/// Who makes tasks durable.
#[derive(Clone, Copy, PartialEq)]
enum Row {
    /// A file: the bytes of each change, and a flush.
    Append,
    /// SQLite with a commit for each change.
    RawSqlite,
    /// The host's store on SQLite, with so many writers at once.
    Sqlite(usize),
    /// The server on that store.
    Server,
    /// PostgreSQL with one statement for each change, which commits by itself.
    Autocommit,
    /// The host's store on PostgreSQL.
    Postgres,
}

impl Row {
    const ALL: [Self; 8] = [
        Self::Append,
        Self::RawSqlite,
        Self::Sqlite(1),
        Self::Sqlite(16),
        Self::Sqlite(MANY),
        Self::Server,
        Self::Autocommit,
        Self::Postgres,
    ];

    fn name(self) -> String {
        match self {
            Self::Append => "append".to_owned(),
            Self::RawSqlite => "raw_sqlite".to_owned(),
            Self::Sqlite(writers) => format!("sqlite_{writers}"),
            Self::Server => "task_sqlite".to_owned(),
            Self::Autocommit => "autocommit".to_owned(),
            Self::Postgres => format!("postgres_{ON_POSTGRES}"),
        }
    }

    fn about(self) -> String {
        match self {
            Self::Append => "one writer: a task's bytes to a file, flushed twice".to_owned(),
            Self::RawSqlite => "one writer: plain SQLite, two commits a task".to_owned(),
            Self::Sqlite(writers) => format!("the host's store on SQLite, {writers} at once"),
            Self::Server => format!("the server on SQLite, {MANY} connections"),
            Self::Autocommit => {
                let connections = autocommit::CONNECTIONS;
                format!("two statements a task, {ON_POSTGRES} at once, {connections} connections")
            }
            Self::Postgres => format!("the host's store on PostgreSQL, {ON_POSTGRES} at once"),
        }
    }
}

/// What was found: for each row a rate for each round.
struct Rates(Vec<(Row, Vec<f64>)>);

fn measure_all(place: &Place, plan: &Plan) -> Result<Rates> {
    let bench = Bench {
        place,
        load: plan.load(Workload::Task, MANY),
        template: Arc::new(Template::of(&place.probe)?),
        runtime: Runtime::new()?,
    };
    let mut rates = Row::ALL.map(|row| (row, Vec::new())).to_vec();
    for round in 1..=plan.rounds {
        let database = Postgres::to_measure(&place.data, &[]);
        for (row, rates) in &mut rates {
            let name = row.name();
            let rate = bench.measure(*row, &database);
            let rate = rate.with_context(|| name.clone())?;
            eprintln!("round {round}/{}: {name:<14}{rate:>9.0}/s", plan.rounds);
            rates.push(rate);
        }
    }
    Ok(Rates(rates))
}

struct Bench<'a> {
    place: &'a Place,
    load: Load,
    template: Arc<Template>,
    runtime: Runtime,
}

impl Bench<'_> {
    fn measure(&self, row: Row, database: &Postgres) -> Result<f64> {
        let data = tempfile::tempdir_in(&self.place.data)?;
        let (load, template) = (self.load, &self.template);
        match row {
            Row::Append => raw::append(load, template, data.path()),
            Row::RawSqlite => raw::sqlite(load, template, data.path()),
            Row::Sqlite(writers) => {
                let open = || stored::open("sqlite", data.path());
                self.runtime.block_on(self.through_trait(writers, open))
            }
            Row::Server => {
                let server = Server::start(self.place.serve("sqlite", data.path()))?;
                Ok(load.put_on(&[server])?.rate)
            }
            Row::Autocommit => {
                let url = database.database();
                let template = Arc::clone(template);
                let rate = autocommit::measure(load, template, &url, ON_POSTGRES);
                self.runtime.block_on(rate)
            }
            Row::Postgres => {
                let url = database.database();
                let open = || stored::open(&url, data.path());
                self.runtime.block_on(self.through_trait(ON_POSTGRES, open))
            }
        }
    }

    /// Writers at once on the store that this opens.
    async fn through_trait<F>(&self, writers: usize, open: impl Fn() -> F) -> Result<f64>
    where
        F: Future<Output = Result<Arc<dyn cofferdam::store::Store>>>,
    {
        let store = open().await?;
        let template = Arc::clone(&self.template);
        let written = writers::drive(self.load, writers, {
            let store = Arc::clone(&store);
            move |number| {
                let (store, template) = (Arc::clone(&store), Arc::clone(&template));
                async move { template.finish(&*store, number).await }
            }
        });
        let written = written.await?;
        drop(store);

        let store = open().await?;
        for number in written.last {
            let task = store.get(stored::id(number)).await?;
            let task = task.with_context(|| format!("task {number} is not stored"))?;
            ensure!(
                task.status == Status::Completed && task.outcome.is_some(),
                "task {number} was answered and is {}",
                task.status.name()
            );
        }
        Ok(written.rate)
    }
}
