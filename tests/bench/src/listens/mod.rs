//! Many streams that listen to tasks: what each costs the server in memory, and how soon a change is
//! heard of on one of them, while it is the only one and while all are open.
//!
//! Invariant: a stream counts once the server has said on it what its task does, and afterwards some of
//! them, evenly spread, still hear of theirs.

mod files;
mod report;

use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Instant;

use anyhow::{Context, Result};
use hdrhistogram::Histogram;
use tokio::task::JoinSet;

use crate::load::connection::Connection;
use crate::load::message::first_number;
use crate::load::{Times, apart};
use crate::place::Place;
use crate::process::Server;
use crate::study::Study;
use crate::waiting::resume::{Resumed, answer, resume};
use crate::waiting::{population, stream::Stream};

/// This study.
pub(crate) const STUDY: Study = Study {
    name: "listens",
    is_here: |_| true,
    measure: |place, plan| {
        Ok(Box::new(measure(
            place,
            plan.listens as usize,
            plan.rounds,
        )?))
    },
};

/// Tasks whose changes are heard of, at each number of streams.
const HEARD: usize = 500;
/// Streams that are looked at again in the end.
const LOOKED_AT: usize = 100;
/// Connections that open streams at the same time.
const OPENING: usize = 64;
/// Connections beside the streams: the load's own.
const SPARE: usize = 200;

/// What was found.
struct Listens {
    streams: usize,
    rounds: Vec<Round>,
}

/// One server.
struct Round {
    /// Its memory in RAM with all tasks, before the streams and with them, in bytes.
    before: u64,
    with: u64,
    /// Streams opened in a second, their tasks' states told.
    rate: f64,
    /// On the only stream, and on one of many; the others listen to one other task each.
    alone: Resumed,
    among: Resumed,
    /// On some of the many, each to its own task.
    others: Times,
}

/// Measures on a fresh server in each round.
fn measure(place: &Place, streams: usize, rounds: u32) -> Result<Listens> {
    files::allow(streams + SPARE)?;
    let mut found = Listens {
        streams,
        rounds: Vec::new(),
    };
    for round in 1..=rounds {
        let measured = once(place, streams).with_context(|| format!("round {round}"))?;
        eprintln!(
            "round {round}/{rounds}: {streams} streams opened, {:.0}/s",
            measured.rate
        );
        found.rounds.push(measured);
    }
    Ok(found)
}

fn once(place: &Place, streams: usize) -> Result<Round> {
    let data = tempfile::tempdir_in(&place.data)?;
    let mut command = place.serve("memory:", data.path());
    let connections = streams + SPARE;
    command.args(["--set", "tasks.park-after-ms=0"]);
    command.args(["--set", &format!("server.max-listens={connections}")]);
    command.args(["--set", &format!("server.max-connections={connections}")]);
    let server = Server::start(command)?;
    apart(|| listen(&server, streams))
}

async fn listen(server: &Server, streams: usize) -> Result<Round> {
    let address = server.address;
    let ids = population::create(address, streams + 2 * HEARD).await?;
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    let (heard, others) = ids.split_at(2 * HEARD);
    let (first, second) = heard.split_at(HEARD);
    let alone = resume(address, first).await.context("alone")?;

    let before = server.resident()?;
    let begun = Instant::now();
    // The one that hears is among them.
    let mut open = open(address, &others[..streams - 1]).await?;
    let rate = open.len() as f64 / begun.elapsed().as_secs_f64();
    let with = server.resident()?;

    let among = resume(address, second).await.context("among many")?;
    let others = look(address, &mut open).await.context("the many")?;
    Ok(Round {
        before,
        with,
        rate,
        alone,
        among,
        others,
    })
}

/// A stream for each of these tasks.
async fn open(address: SocketAddr, tasks: &[&str]) -> Result<Vec<(String, Stream)>> {
    let mut opening = JoinSet::new();
    let tasks: Rc<[String]> = tasks.iter().copied().map(str::to_owned).collect();
    for number in 0..OPENING {
        let tasks = Rc::clone(&tasks);
        opening.spawn_local(async move {
            let mut streams = Vec::new();
            let mine = tasks.iter().skip(number).step_by(OPENING);
            for (id, task) in (first_number(number)..).zip(mine) {
                streams.push((task.clone(), Stream::open(address, &[task], id).await?));
            }
            anyhow::Ok(streams)
        });
    }
    let mut all = Vec::new();
    while let Some(opened) = opening.join_next().await {
        all.extend(opened.context("a client")??);
    }
    Ok(all)
}

/// Answers the tasks of some streams, which must hear of it.
async fn look(address: SocketAddr, streams: &mut [(String, Stream)]) -> Result<Times> {
    let mut connection = Connection::open(address).await?;
    let mut times = Histogram::<u64>::new(3)?;
    let step = streams.len().div_ceil(LOOKED_AT);
    let some = streams.iter_mut().step_by(step);
    for (number, (task, stream)) in (first_number(0)..).zip(some) {
        let (told, _) = answer(&mut connection, stream, task, number).await?;
        times.record(told.as_micros().try_into()?)?;
    }
    Ok(Times::of(&times))
}
