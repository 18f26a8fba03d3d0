//! Benchmarks: release builds of the host, the guest and the load, then one run of them. The
//! measuring itself is the crate `cofferdam-bench`.

use std::fs;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use clap::Args;

use crate::checkout::Checkout;
use crate::guests;
use crate::process::{cargo, line, run, say};
use crate::servers::POSTGRES;

/// What is asked of the benchmarks; they explain the rest themselves.
#[derive(Args)]
pub(crate) struct Options {
    /// Print a JSON object whose `ratios` compare each server with the others
    #[arg(long)]
    json: bool,
    /// Measure only this, beside what it is compared with: inline, task_memory, task_sqlite, engine,
    /// store, growth, parked, cancel, nodes
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
    /// Seconds of each measurement
    #[arg(long, value_name = "N", default_value = "2")]
    seconds: String,
    /// Rounds; figures are their medians
    #[arg(long, value_name = "N", default_value = "3")]
    rounds: String,
    /// How many connections, each with one request under way; the first number makes the ratios, and
    /// is that of `nodes`
    #[arg(long, value_name = "N,..", default_value = "64,8,1")]
    connections: String,
    /// How many tasks are stored for `growth`; the first number is what the others are compared with
    #[arg(long, value_name = "N,..", default_value = "1000,100000,1000000")]
    stored: String,
    /// Tasks that wait at once for `parked`
    #[arg(long, value_name = "N", default_value = "100000")]
    parked: String,
    /// Tasks of each kind that `cancel` cancels one by one, and again many at once
    #[arg(long, value_name = "N", default_value = "100")]
    cancels: String,
}

/// The components whose tools are called.
const GUESTS: [&str; 6] = ["probe", "probe-wasi", "outbound", "js", "js-web", "python"];

/// What is measured on a PostgreSQL.
const ON_POSTGRES: [&str; 2] = ["nodes", "store"];

/// Builds, and measures.
pub(crate) fn measure(checkout: &Checkout, options: &Options) -> Result<()> {
    let on_postgres = |only: &String| ON_POSTGRES.contains(&only.as_str());
    if options.only.is_empty() || options.only.iter().any(on_postgres) {
        POSTGRES.install(checkout)?;
    }
    guests::build(checkout, &GUESTS)?;
    say!("building the host and its load for release");
    let mut build = cargo(&checkout.root);
    build.args([
        "build",
        "--release",
        "--package",
        "cofferdam",
        "--package",
        "cofferdam-bench",
    ]);
    run(&mut build)?;

    let release = checkout.target.join("release");
    let data = checkout.target.join("bench");
    fs::create_dir_all(&data)?;
    let mut bench = Command::new(release.join("cofferdam-bench"));
    bench.arg("run");
    bench.arg("--host").arg(release.join("cofferdam"));
    for name in GUESTS {
        let option = format!("--{name}");
        bench.arg(option).arg(guests::file(checkout, name));
    }
    bench.arg("--data").arg(data);
    bench.args(["--seconds", &options.seconds, "--rounds", &options.rounds]);
    bench.args(["--connections", &options.connections]);
    bench.args(["--stored", &options.stored]);
    bench.args(["--parked", &options.parked, "--cancels", &options.cancels]);
    for name in &options.only {
        bench.args(["--only", name]);
    }
    if options.json {
        bench.arg("--json");
    }
    let status = bench
        .stdin(Stdio::null())
        .status()
        .with_context(|| line(&bench))?;
    ensure!(status.success(), "the benchmark failed ({status})");
    Ok(())
}
