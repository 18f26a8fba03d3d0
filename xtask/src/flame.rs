//! A picture of where the time of a call goes: a release build under load, as `perf` samples it. The
//! drawing itself is the crate `cofferdam-bench`; the picture in `docs/` is drawn by this.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Result, ensure};
use clap::Args;

use crate::checkout::Checkout;
use crate::guests;
use crate::process::{run, works};
use crate::release::release;

/// What is asked of the picture.
#[derive(Args)]
pub(crate) struct Options {
    /// Where it goes
    #[arg(long, value_name = "FILE", default_value = "docs/call.svg")]
    out: PathBuf,
    /// Seconds of calls
    #[arg(long, value_name = "N", default_value = "5")]
    seconds: String,
    /// Connections that call
    #[arg(long, value_name = "N", default_value = "64")]
    connections: String,
}

/// The component whose tool is called.
const GUEST: &str = "probe";

/// Builds, calls and draws.
pub(crate) fn flame(checkout: &Checkout, options: &Options) -> Result<()> {
    ensure!(
        works("perf"),
        "perf is not here; install the package linux-perf"
    );
    guests::build(checkout, &[GUEST])?;
    let built = release(checkout, &["cofferdam", "cofferdam-bench"])?;
    let mut bench = Command::new(built.join("cofferdam-bench"));
    bench
        .arg("flame")
        .arg("--host")
        .arg(built.join("cofferdam"));
    bench.arg("--component").arg(guests::file(checkout, GUEST));
    bench.arg("--out").arg(&options.out);
    bench.args(["--seconds", &options.seconds]);
    bench.args(["--connections", &options.connections]);
    run(&mut bench)
}
