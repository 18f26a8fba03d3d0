//! Benchmarks: release builds of the host, the guests and the load, and servers to compare with, then
//! one run of them all. The measuring itself is the crate `cofferdam-bench`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Error, Result, ensure};
use clap::Args;

use crate::checkout::Checkout;
use crate::process::{line, say};
use crate::release::{optimised, release};
use crate::servers::POSTGRES;
use crate::{guests, node, venv};

/// What is asked of the benchmarks; they explain the rest themselves.
#[derive(Args)]
pub(crate) struct Options {
    /// Print a JSON object whose `ratios` compare each server with the others
    #[arg(long)]
    json: bool,
    /// Measure only this, beside hyper and rmcp: inline, inline_image, inline_js, inline_js_web,
    /// inline_python, typescript, python, task_memory, task_sqlite; or a study: engine, store, growth,
    /// parked, listens, cancel, start, nodes. May be repeated; who is compared with typescript or python
    /// is so when both are named
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
    /// Seconds of each measurement
    #[arg(long, value_name = "N", default_value = "2")]
    seconds: String,
    /// Rounds; figures are their medians
    #[arg(long, value_name = "N", default_value = "3")]
    rounds: String,
    /// How many connections, each with one request under way; the first number makes the ratios, and
    /// is the only one for slow servers and for `nodes`
    #[arg(long, value_name = "N,..", default_value = "64,8,1,256")]
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
    /// Streams that are open at once for `listens`
    #[arg(long, value_name = "N", default_value = "10000")]
    listens: String,
    /// Starts of each kind for `start`
    #[arg(long, value_name = "N", default_value = "5")]
    starts: String,
    /// Measure the server that `cargo xtask optimise` made; the others are release builds as ever
    #[arg(long)]
    optimised: bool,
}

impl Options {
    /// Is one of these to be measured?
    fn measures(&self, names: &[&str]) -> bool {
        self.only.is_empty() || self.only.iter().any(|only| names.contains(&only.as_str()))
    }
}

/// The components whose tools are called.
pub(crate) const GUESTS: [&str; 4] = ["probe", "probe-wasi", "outbound", "image"];

/// Those in other languages, and what is measured with each.
const FOREIGN: [(&str, &[&str]); 3] = [
    ("echo-js", &["inline_js", "engine"]),
    ("echo-js-web", &["inline_js_web", "engine"]),
    ("echo-python", &["inline_python", "start", "engine"]),
];

/// Brings what a server runs on, and tells where that is.
type Install = fn(&Checkout) -> Result<PathBuf>;

/// Servers in other languages, which are measured under these names.
const PEERS: [(&str, Install); 2] = [
    ("typescript", |checkout| {
        node::install(checkout, "tests/bench/peers/typescript", "bench-typescript")
    }),
    ("python", |checkout| {
        let environment = venv::install(checkout, "tests/bench/peers/python", "bench-python")?;
        Ok(environment.python())
    }),
];

/// What is measured on a PostgreSQL.
const ON_POSTGRES: [&str; 2] = ["nodes", "store"];

/// Builds, and measures.
pub(crate) fn measure(checkout: &Checkout, options: &Options) -> Result<()> {
    if options.measures(&ON_POSTGRES) {
        POSTGRES.install(checkout)?;
    }
    guests::build(checkout, &GUESTS)?;
    let others = others(checkout, options)?;
    let release = release(checkout, &["cofferdam", "cofferdam-bench"])?;
    fs::create_dir_all(data(checkout))?;
    let mut bench = Command::new(release.join("cofferdam-bench"));
    bench.arg("run");
    let host = match options.optimised {
        true => optimised(checkout),
        false => release.join("cofferdam"),
    };
    ensure!(
        host.is_file(),
        "{} is missing: run `cargo xtask optimise`",
        host.display()
    );
    place(checkout, &mut bench, &host);
    for (name, path) in others {
        bench.arg(format!("--{name}")).arg(path);
    }
    bench.args(["--seconds", &options.seconds, "--rounds", &options.rounds]);
    bench.args(["--connections", &options.connections]);
    bench.args(["--stored", &options.stored]);
    bench.args(["--parked", &options.parked, "--cancels", &options.cancels]);
    bench.args(["--listens", &options.listens, "--starts", &options.starts]);
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

/// Tells a command of the benchmark which server it is about, and where it finds what that needs.
pub(crate) fn place(checkout: &Checkout, bench: &mut Command, host: &Path) {
    bench.arg("--host").arg(host);
    for name in GUESTS {
        let option = format!("--{name}");
        bench.arg(option).arg(guests::file(checkout, name));
    }
    bench.arg("--data").arg(data(checkout));
}

/// Where servers that are measured keep what they have.
pub(crate) fn data(checkout: &Checkout) -> PathBuf {
    checkout.target.join("bench")
}

/// Guests and servers in other languages, as far as they are measured and can be had here: the
/// benchmark's option of each, and its path.
fn others(checkout: &Checkout, options: &Options) -> Result<Vec<(&'static str, PathBuf)>> {
    let mut others = Vec::new();
    for (guest, names) in FOREIGN {
        if !options.measures(names) {
            continue;
        }
        match guests::build_if_possible(checkout, guest)? {
            Some(missing) => leave_out(&names.join(" and "), &missing),
            None => others.push((guest, guests::file(checkout, guest))),
        }
    }
    for (name, install) in PEERS {
        if !options.measures(&[name]) {
            continue;
        }
        match install(checkout) {
            Ok(path) => others.push((name, path)),
            Err(missing) => leave_out(name, &missing),
        }
    }
    Ok(others)
}

fn leave_out(names: &str, reason: &Error) {
    say!("leaving out {names}: {reason:#}");
}
