//! Where the time of an inline call goes, as a picture: what `perf` sees of a release server under load,
//! as a flame graph.
//!
//! Invariant: every sample is of the server's process. Whoever unwinds a
//! stack stops at a guest's code, so what a guest runs and calls stands beside what the server does.

mod stacks;

use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use clap::Args;
use inferno::collapse::Collapse as _;
use inferno::collapse::perf::{Folder, Options as Folding};
use inferno::flamegraph::{Options, from_lines};

use crate::load::{Load, Workload};
use crate::process::Server;

/// Samples a second; a number that nothing else in a second is in step with.
const FREQUENCY: &str = "499";
/// Bytes of a stack that are kept for finding who called whom: as many as there can be.
const STACK: &str = "dwarf,65528";
/// Frames narrower than so many percent are left out.
const NARROW: f64 = 0.15;

/// What is drawn.
#[derive(Args)]
pub(crate) struct Plan {
    /// The server
    #[arg(long, value_name = "FILE")]
    host: PathBuf,
    /// The component whose tool is called
    #[arg(long, value_name = "FILE")]
    component: PathBuf,
    /// The picture
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// Seconds of calls
    #[arg(long, value_name = "N", default_value_t = 5)]
    seconds: u64,
    /// Connections that call
    #[arg(long, value_name = "N", default_value_t = 64)]
    connections: usize,
}

/// Calls, samples and draws.
pub(crate) fn draw(plan: &Plan) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let mut command = Command::new(&plan.host);
    command
        .args(["serve", "--listen", "127.0.0.1:0", "--admin", "off"])
        .args(["--store", "memory:", "--data"])
        .arg(folder.path())
        .arg(&plan.component)
        .env("RUST_LOG", "warn");
    let server = Server::start(command)?;
    let samples = folder.path().join("samples");
    let time = Duration::from_secs(plan.seconds);
    let recorder = record(server.id(), &samples, time)?;
    let load = Load {
        workload: Workload::Call,
        connections: plan.connections,
        warm_up: Duration::ZERO,
        time,
    };
    let outcome = load.put_on(std::slice::from_ref(&server))?;
    let recorded = recorder.wait_with_output()?;
    let said = String::from_utf8_lossy(&recorded.stderr);
    ensure!(recorded.status.success(), "perf record: {said}");
    drop(server);

    let folded = stacks::by_side(&collapse(&samples)?);
    ensure!(!folded.is_empty(), "perf saw nothing of the server");
    let mut options = Options::default();
    options.title = "An inline call in a fresh instance".to_owned();
    options.hash = true;
    options.deterministic = true;
    options.min_width = NARROW;
    let picture = File::create(&plan.out).with_context(|| plan.out.display().to_string())?;
    from_lines(
        &mut options,
        folded.iter().map(String::as_str),
        BufWriter::new(picture),
    )?;
    println!(
        "{} calls, {:.0} a second while they were sampled: {}",
        outcome.all,
        outcome.rate,
        plan.out.display()
    );
    Ok(())
}

/// Samples a process for so long.
fn record(process: u32, samples: &Path, time: Duration) -> Result<Child> {
    let mut perf = Command::new("perf");
    perf.args([
        "record",
        "--quiet",
        "--freq",
        FREQUENCY,
        "--call-graph",
        STACK,
    ])
    .args(["--pid", &process.to_string(), "--output"])
    .arg(samples)
    .args(["--", "sleep", &time.as_secs().to_string()])
    .stdout(Stdio::null())
    .stderr(Stdio::piped());
    perf.spawn()
        .context("cannot run perf; install the package linux-perf")
}

/// One line for each stack that was seen, with how often.
fn collapse(samples: &Path) -> Result<String> {
    let script = Command::new("perf")
        .args(["script", "--no-inline", "--input"])
        .arg(samples)
        .stderr(Stdio::null())
        .output()?;
    ensure!(script.status.success(), "perf script: {}", script.status);
    let mut folded = Vec::new();
    Folder::from(Folding::default()).collapse(&*script.stdout, &mut folded)?;
    Ok(String::from_utf8(folded)?)
}
