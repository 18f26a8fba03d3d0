//! Work for a server that was built to note what it does most: inline calls and tasks, with many
//! connections and with one.
//!
//! Invariant: each server ends by itself, for it writes its notes at its end.

use anyhow::{Context, Result};
use clap::Args;

use crate::contender::{ALL, Contender};
use crate::place::Place;
use crate::process::Server;
use crate::rounds::Plan;

/// What it does, by the names of contenders.
const WORK: [&str; 4] = ["inline", "inline_image", "task_memory", "task_sqlite"];
/// With how many connections.
const CONNECTIONS: [usize; 2] = [64, 1];

/// With what, and for how long.
#[derive(Args)]
pub(crate) struct Training {
    #[command(flatten)]
    place: Box<Place>,
    #[command(flatten)]
    plan: Plan,
}

/// Lets the server work.
pub(crate) fn train(training: &Training) -> Result<()> {
    for contender in ALL.iter().filter(|it| WORK.contains(&it.name)) {
        for connections in CONNECTIONS {
            work(training, contender, connections).context(contender.name)?;
        }
    }
    Ok(())
}

fn work(training: &Training, contender: &Contender, connections: usize) -> Result<()> {
    let Training { place, plan } = training;
    let data = tempfile::tempdir_in(&place.data)?;
    let server = [Server::start(contender.command(place, data.path())?)?];
    plan.load(contender.workload, connections).put_on(&server)?;
    let [server] = server;
    server.stop()
}
