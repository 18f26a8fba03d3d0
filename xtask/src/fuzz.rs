//! Fuzzing: each target of `fuzz/` for a bounded time, from its seeds and from what earlier runs kept.
//!
//! Invariant: whatever is found ends the command with an error that says how to see it again.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use clap::Args;

use crate::checkout::Checkout;
use crate::process::{line, quiet, read, run, say};

/// How long, and what.
#[derive(Args)]
pub(crate) struct Options {
    /// Seconds for each target
    #[arg(long, value_name = "N", default_value_t = 60)]
    seconds: u32,
    /// Only this target; may be repeated
    #[arg(long, value_name = "TARGET")]
    only: Vec<String>,
    /// A sanitizer of cargo-fuzz. The host is safe Rust, in which `address` finds little for its time
    #[arg(long, value_name = "NAME", default_value = "none")]
    sanitizer: String,
}

/// Largest input, bytes: more than any seed has.
const LENGTH: u32 = 16 << 10;
/// Resident memory of a target, MiB.
const MEMORY: u32 = 2 << 10;
/// Time for one input, seconds.
const TIME: u32 = 30;

/// Builds the targets, and runs them one after the other.
pub(crate) fn fuzz(checkout: &Checkout, options: &Options) -> Result<()> {
    quiet(nightly("rustc").arg("--version"))
        .context("fuzzing needs `rustup toolchain install nightly --profile minimal`")?;
    quiet(nightly("cargo").args(["fuzz", "--version"]))
        .context("fuzzing needs `cargo install cargo-fuzz --locked`")?;
    let fuzzer = Fuzzer {
        root: &checkout.root,
        options,
    };
    let all = read(&mut fuzzer.cargo("list"))?;
    let all: Vec<&str> = all.lines().collect();
    for name in &options.only {
        let names = all.join(", ");
        ensure!(
            all.contains(&&**name),
            "no target {name}: there are {names}"
        );
    }
    say!("building the targets");
    run(fuzzer.cargo("build").args(fuzzer.build()))?;
    let wanted = |name: &&str| options.only.is_empty() || options.only.iter().any(|it| it == name);
    let mut found = Vec::new();
    for name in all.into_iter().filter(wanted) {
        found.extend(fuzzer.run(name)?);
    }
    if !found.is_empty() {
        bail!(
            "found, each with the command that shows it again:{}",
            found.concat()
        );
    }
    Ok(())
}

struct Fuzzer<'a> {
    root: &'a Path,
    options: &'a Options,
}

impl Fuzzer<'_> {
    fn cargo(&self, subcommand: &str) -> Command {
        let mut command = nightly("cargo");
        command.current_dir(self.root).args(["fuzz", subcommand]);
        command
    }

    /// As released code is built, but in several units, which takes much less time.
    fn build(&self) -> [&str; 4] {
        [
            "--sanitizer",
            &self.options.sanitizer,
            "--codegen-units",
            "16",
        ]
    }

    /// Runs a target. Gives what was found: the file of the input, and how to run it.
    fn run(&self, name: &str) -> Result<Vec<String>> {
        let folder = |kind: &str| Path::new("fuzz").join(kind).join(name);
        let (corpus, artifacts) = (folder("corpus"), folder("artifacts"));
        fs::create_dir_all(self.root.join(&corpus)).context("fuzz/corpus")?;
        let before = files(&self.root.join(&artifacts))?;
        let seconds = self.options.seconds;
        say!("fuzzing {name} for {seconds} s");
        let mut fuzz = self.cargo("run");
        fuzz.args(self.build());
        // What is new goes into the first folder.
        fuzz.arg(name).arg(&corpus).arg(folder("seeds")).arg("--");
        fuzz.arg(format!("-max_total_time={seconds}"));
        fuzz.arg(format!("-rss_limit_mb={MEMORY}"));
        fuzz.arg(format!("-max_len={LENGTH}"));
        fuzz.arg(format!("-timeout={TIME}"));
        fuzz.args(["-print_final_stats=1", "-verbosity=0"]);
        let words = format!("fuzz/dictionaries/{name}.dict");
        if self.root.join(&words).exists() {
            fuzz.arg(format!("-dict={words}"));
        }
        let status = fuzz.stdin(Stdio::null()).stdout(std::io::stderr()).status();
        let status = status.with_context(|| line(&fuzz))?;
        let mut found = files(&self.root.join(&artifacts))?;
        found.retain(|file| !before.contains(file));
        if found.is_empty() {
            ensure!(status.success(), "`{}` failed ({status})", line(&fuzz));
        }
        let shown = found.iter().map(|file| {
            let file = artifacts.join(file);
            let mut again = self.cargo("run");
            again.args(self.build()).arg(name).arg(&file);
            format!("\n  {}\n    {}", file.display(), line(&again))
        });
        Ok(shown.collect())
    }
}

/// A tool of the nightly toolchain.
fn nightly(tool: &str) -> Command {
    let mut command = Command::new("rustup");
    command.args(["run", "nightly", tool]);
    command
}

/// The names of the files in a folder; none if there is no folder.
fn files(folder: &Path) -> Result<BTreeSet<PathBuf>> {
    if !folder.exists() {
        return Ok(BTreeSet::new());
    }
    let entries = fs::read_dir(folder).with_context(|| folder.display().to_string())?;
    entries
        .map(|entry| Ok(PathBuf::from(entry?.file_name())))
        .collect()
}
