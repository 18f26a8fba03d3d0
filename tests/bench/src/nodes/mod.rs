//! Nodes that share the tasks of one PostgreSQL: how many tasks they bring from the call to `completed`,
//! and what of the database each takes, with flushes to the disk and without.
//!
//! Invariant: within a round all numbers of nodes are measured one after the other, each on processes
//! and a database of its own. The connections are the same for all, in turn one to each node.

mod database;
mod report;

use anyhow::{Context, Result};
use cofferdam_postgres::Postgres;

use crate::load::{Load, Outcome, Workload};
use crate::place::Place;
use crate::process::Server;
use crate::rounds::Plan;
use crate::study::Study;
use database::{Meter, Used};

/// This study.
pub(crate) const STUDY: Study = Study {
    name: "nodes",
    is_here: |_| true,
    measure: |place, plan| Ok(Box::new(measure_all(place, plan)?)),
};

const MOST: usize = 3;

/// What was found.
struct Nodes {
    load: Load,
    series: Vec<Series>,
}

/// So many nodes.
struct Series {
    disk: Disk,
    nodes: usize,
    /// One for each round, and what it used of the database.
    outcomes: Vec<Outcome>,
    used: Vec<Used>,
}

/// What a commit waits for.
#[derive(Clone, Copy, PartialEq)]
enum Disk {
    Flushed,
    /// No more than a write: what PostgreSQL costs beside the disk.
    Unflushed,
}

impl Disk {
    const ALL: [Self; 2] = [Self::Flushed, Self::Unflushed];

    fn name(self) -> &'static str {
        match self {
            Self::Flushed => "flushed",
            Self::Unflushed => "unflushed",
        }
    }

    fn options(self) -> &'static [&'static str] {
        match self {
            Self::Flushed => &[],
            Self::Unflushed => &["fsync=off"],
        }
    }
}

impl Nodes {
    /// Nothing yet.
    fn new(load: Load) -> Self {
        let mut series = Vec::new();
        for disk in Disk::ALL {
            series.extend((1..=MOST).map(|nodes| Series {
                disk,
                nodes,
                outcomes: Vec::new(),
                used: Vec::new(),
            }));
        }
        Self { load, series }
    }

    /// Measures a round.
    fn measure_once(&mut self, place: &Place, round: &str) -> Result<()> {
        for series in &mut self.series {
            let name = format!("{}, {}", series.name(), series.disk.name());
            let found = measure(place, self.load, series.nodes, series.disk);
            let (outcome, used) = found.with_context(|| name.clone())?;
            eprintln!("{round}: {name:<18}{:>9.0}/s", outcome.rate);
            series.outcomes.push(outcome);
            series.used.push(used);
        }
        Ok(())
    }
}

impl Series {
    fn name(&self) -> String {
        match self.nodes {
            1 => "1 node".to_owned(),
            many => format!("{many} nodes"),
        }
    }
}

/// Measures all rounds, at the first number of connections.
fn measure_all(place: &Place, plan: &Plan) -> Result<Nodes> {
    let mut nodes = Nodes::new(plan.load(Workload::Task, plan.connections[0]));
    for round in 1..=plan.rounds {
        nodes.measure_once(place, &format!("round {round}/{}", plan.rounds))?;
    }
    Ok(nodes)
}

fn measure(place: &Place, load: Load, nodes: usize, disk: Disk) -> Result<(Outcome, Used)> {
    let database = Postgres::to_measure(&place.data, disk.options());
    let url = database.database();
    let folders = (0..nodes).map(|_| tempfile::tempdir_in(&place.data));
    let folders: Vec<_> = folders.collect::<Result<_, _>>()?;
    let servers = folders
        .iter()
        .map(|data| Server::start(place.serve(&url, data.path())));
    let servers: Vec<_> = servers.collect::<Result<_>>()?;
    let meter = Meter::start(&database)?;
    let outcome = load.put_on(&servers)?;
    let used = meter.stop(servers, outcome.all)?;
    Ok((outcome, used))
}
