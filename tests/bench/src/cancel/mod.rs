//! Tasks that are cancelled while their guest does not look: how soon the instance is gone.
//!
//! Invariant: an instance counts as gone once a call is answered that waited for its place and keeps
//! it. The server has as many places as there are tasks, so the answer cannot come sooner; what such
//! a call takes on a server with a free place, the floor, is measured beside it and not taken off.

mod client;
mod report;
mod silent;
mod subject;

use std::fs;
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::rc::Rc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use hdrhistogram::Histogram;
use serde_json::json;
use tokio::task::JoinSet;

use crate::load::{Times, apart};
use crate::place::Place;
use crate::process::Server;
use crate::study::Study;
use client::{Client, Together};
use silent::Silent;
use subject::Subject;

/// This study.
pub(crate) const STUDY: Study = Study {
    name: "cancel",
    is_here: |_| true,
    measure: |place, plan| Ok(Box::new(measure(place, plan.cancels as usize)?)),
};

/// `tasks.grace-ms` of the server: shorter than its default, so that a hundred cancels take seconds.
/// What lies beyond it does not depend on it.
const GRACE: Duration = Duration::from_millis(100);
/// Tasks cancelled at once.
const TOGETHER: usize = 64;
/// Calls on a free server, for the floor.
const FLOOR: usize = 200;
/// Tasks before the first that counts: a store's new file grows for a while, which takes longer.
const WARM_UP: usize = 300;
/// Without a disk, and with one.
const STORES: [&str; 2] = ["memory:", "sqlite"];

/// What was found.
struct Cancel {
    grace: Duration,
    groups: Vec<Group>,
}

/// Tasks cancelled so many at once.
struct Group {
    /// Where a cancel is stored before anybody hears of it.
    store: &'static str,
    together: usize,
    /// What a call takes that has an instance at once.
    floor: Times,
    series: Vec<(Subject, Series)>,
}

/// Cancelled tasks of one kind. Both times are from the first `tasks/cancel` sent.
struct Series {
    /// Until it is acknowledged, which is when the grace has begun.
    acknowledged: Times,
    /// Until the instance is gone.
    gone: Times,
}

/// Cancels so many tasks of each kind, one by one and many at once.
fn measure(place: &Place, tasks: usize) -> Result<Cancel> {
    let mut groups = Vec::new();
    for together in [1, TOGETHER] {
        for store in STORES {
            let group = group(place, store, tasks, together);
            groups.push(group.with_context(|| format!("{together} at once, {store}"))?);
        }
    }
    Ok(Cancel {
        grace: GRACE,
        groups,
    })
}

fn group(place: &Place, store: &'static str, tasks: usize, together: usize) -> Result<Group> {
    let upstream = TcpListener::bind("127.0.0.1:0")?;
    let data = tempfile::tempdir_in(&place.data)?;
    let config = data.path().join("cofferdam.toml");
    fs::write(&config, text(place, upstream.local_addr()?, together)?)?;
    let mut command = place.host(store, data.path());
    command.arg("--config").arg(config);
    let server = Server::start(command)?;
    apart(async || {
        let silent = Silent::listen(upstream)?;
        cancel(server.address, Subject::Sleep, &silent, WARM_UP, together).await?;
        let floor = floor(server.address).await?;
        let mut series = Vec::new();
        for subject in Subject::ALL {
            let begun = Instant::now();
            let found = cancel(server.address, subject, &silent, tasks, together).await;
            let found = found.with_context(|| subject.name())?;
            eprintln!(
                "{} tasks cancelled in {:.0} s, {together} at once, {store}: {}",
                found.gone.number,
                begun.elapsed().as_secs_f64(),
                subject.name(),
            );
            series.push((subject, found));
        }
        Ok(Group {
            store,
            together,
            floor,
            series,
        })
    })
}

/// The configuration of a server with so many places for instances, whose tasks keep theirs.
fn text(place: &Place, upstream: SocketAddr, instances: usize) -> Result<String> {
    let path = |path: &Path| anyhow::Ok(json!(fs::canonicalize(path)?));
    Ok(format!(
        r#"
[[tools]]
path = {probe}
[[tools]]
path = {probe_wasi}
prefix = "{wasi}"
[[tools]]
path = {outbound}
[tools.grants.http]
hosts = ["http://{upstream}"]
private = ["127.0.0.1"]
limits = {{ connections = 1_000 }}

[sandbox]
instances = {instances}
cpu-ms = 600_000
[tasks]
grace-ms = {grace}
park-after-ms = 86_400_000
"#,
        probe = path(&place.probe)?,
        probe_wasi = path(&place.probe_wasi)?,
        outbound = path(&place.outbound)?,
        wasi = subject::WASI,
        grace = GRACE.as_millis(),
    ))
}

/// The time of calls that wait for nothing.
async fn floor(address: SocketAddr) -> Result<Times> {
    let mut client = Client::connect(address, 0, Rc::new(Together::new(1))).await?;
    let mut times = Histogram::<u64>::new(3)?;
    for _ in 0..FLOOR {
        times.record(client.free().await?.as_micros().try_into()?)?;
    }
    Ok(Times::of(&times))
}

/// Cancels at least so many tasks, as many at once as there are places.
async fn cancel(
    address: SocketAddr,
    subject: Subject,
    silent: &Silent,
    tasks: usize,
    together: usize,
) -> Result<Series> {
    let rounds = tasks.div_ceil(together);
    let all = Rc::new(Together::new(together));
    let mut clients = JoinSet::new();
    for number in 0..together {
        let mut client = Client::connect(address, number, Rc::clone(&all)).await?;
        let mut call = subject.call(silent.address);
        let asked = silent.asked();
        clients.spawn_local(async move {
            let mut times = Vec::new();
            for round in 1..=rounds {
                let expected = (subject == Subject::Http).then_some(round * together);
                times.push(client.cancel(&mut call, asked.clone(), expected).await?);
            }
            anyhow::Ok(times)
        });
    }
    let (mut acknowledged, mut gone) = (Histogram::<u64>::new(3)?, Histogram::<u64>::new(3)?);
    while let Some(ended) = clients.join_next().await {
        for times in ended.context("a client")?? {
            acknowledged.record(times.acknowledged.as_micros().try_into()?)?;
            gone.record(times.gone.as_micros().try_into()?)?;
        }
    }
    Ok(Series {
        acknowledged: Times::of(&acknowledged),
        gone: Times::of(&gone),
    })
}
