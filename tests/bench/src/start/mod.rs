//! How soon a server listens, with a component that carries a whole Python: when it must compile it,
//! when it finds compiled code, and without it.
//!
//! Invariant: a start counts once the server, which then listens, has answered a call right.

mod report;

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use crate::load::apart;
use crate::load::connection::Connection;
use crate::load::message::{Call, first_number};
use crate::load::workload::expect;
use crate::place::Place;
use crate::process::Server;
use crate::study::Study;

/// This study.
pub(crate) const STUDY: Study = Study {
    name: "start",
    is_here: |place| place.echo_python.is_some(),
    measure: |place, plan| Ok(Box::new(measure(place, plan.starts)?)),
};

/// What was found: for each start of a kind, from the process's start until it listens, in
/// milliseconds.
struct Start {
    /// The component's bytes.
    component: u64,
    compiled: Vec<f64>,
    cached: Vec<f64>,
    /// What the server says of these: how long it took to load the component's code, in whole
    /// milliseconds.
    loaded: Vec<f64>,
    /// With the component `probe` alone, from its compiled code.
    alone: Vec<f64>,
}

/// Starts servers of each kind in turn.
fn measure(place: &Place, rounds: u32) -> Result<Start> {
    let python = place.echo_python.as_deref().context("no Python guest")?;
    let mut found = Start {
        component: python.metadata()?.len(),
        compiled: Vec::new(),
        cached: Vec::new(),
        loaded: Vec::new(),
        alone: Vec::new(),
    };
    let ms = |time: Duration| time.as_secs_f64() * 1e3;
    let alone = tempfile::tempdir_in(&place.data)?;
    let with = |data: &Path| {
        let mut command = place.host("memory:", data);
        command.arg(python);
        command
    };
    // Compiles the probe.
    start(place.serve("memory:", alone.path()))?;
    for round in 1..=rounds {
        let data = tempfile::tempdir_in(&place.data)?;
        found.compiled.push(ms(start(with(data.path()))?.1));
        let (server, time) = start(with(data.path()))?;
        found.cached.push(ms(time));
        found.loaded.push(ms(server.loaded()?));
        drop(server);
        let (server, time) = start(place.serve("memory:", alone.path()))?;
        found.alone.push(ms(time));
        server.loaded().context("the probe was compiled anew")?;
        eprintln!("start {round}/{rounds}: compiled, from compiled code, and without it");
    }
    Ok(found)
}

/// A server that listens and answers a call, and how long it took to listen.
fn start(mut command: Command) -> Result<(Server, Duration)> {
    command.env("RUST_LOG", "warn,cofferdam::runtime=debug");
    let begun = Instant::now();
    let server = Server::start(command)?;
    let time = begun.elapsed();
    let address = server.address;
    apart(async || {
        let mut echo = Call::echo();
        let number = first_number(0);
        let mut connection = Connection::open(address).await?;
        let answer = connection.exchange(echo.numbered(number)).await?;
        expect(answer, &format!("#{number}.\""))
    })?;
    Ok((server, time))
}
