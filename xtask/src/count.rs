//! Instructions of the hot path: a release build, counted by callgrind. The counting itself is the crate
//! `cofferdam-bench`; what was counted is recorded in the repository, so that a change of it is reviewed.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Result, ensure};
use clap::Args;

use crate::checkout::Checkout;
use crate::guests;
use crate::process::{run, works};
use crate::release::release;

/// What is asked of the counting.
#[derive(Args)]
pub(crate) struct Options {
    /// Record what is counted now, instead of comparing
    #[arg(long)]
    record: bool,
    /// How much more it may be than recorded, percent
    #[arg(long, value_name = "PERCENT", default_value = "2")]
    tolerance: String,
    /// Keep the profiles in this folder, for callgrind_annotate
    #[arg(long, value_name = "FOLDER")]
    profiles: Option<PathBuf>,
}

/// What was recorded.
const RECORDED: &str = "tests/bench/instructions.txt";
/// The component whose tool is called.
const GUEST: &str = "probe";

/// Builds, and counts.
pub(crate) fn count(checkout: &Checkout, options: &Options) -> Result<()> {
    ensure!(
        works("valgrind"),
        "valgrind is not here; install the package of that name"
    );
    guests::build(checkout, &[GUEST])?;
    let built = release(checkout, &["cofferdam-bench"])?;
    let mut bench = Command::new(built.join("cofferdam-bench"));
    bench.arg("count");
    bench.arg("--component").arg(guests::file(checkout, GUEST));
    bench.arg("--recorded").arg(checkout.root.join(RECORDED));
    bench.args(["--tolerance", &options.tolerance]);
    if options.record {
        bench.arg("--record");
    }
    if let Some(profiles) = &options.profiles {
        bench.arg("--profiles").arg(profiles);
    }
    run(&mut bench)
}
