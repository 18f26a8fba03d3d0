//! Everything that must hold before a change goes in. A check that fails does not hide those after
//! it; the last line counts the tests that ran.

mod counts;
mod kill;
mod unit;

use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};

use crate::checkout::Checkout;
use crate::process::{cargo, line, run, say, works};
use crate::{guests, node, servers, venv};
use counts::Counts;

/// Runs all checks and tests.
pub(crate) fn run_all(checkout: &Checkout) -> Result<()> {
    let mut report = Report::default();
    let prepared = prepare(checkout);
    if prepared.is_ok() {
        report.lint(checkout);
        report.test(checkout);
    }
    for failure in &report.failures {
        println!("failed: {failure}");
    }
    if let Err(error) = &prepared {
        println!("failed: {error:#}");
    }
    println!("{}", report.counts);
    prepared?;
    if !report.failures.is_empty() || report.counts.failed > 0 {
        bail!("not everything passed");
    }
    Ok(())
}

/// What the tests use beside the workspace's own build.
fn prepare(checkout: &Checkout) -> Result<()> {
    node::install(checkout, "tests/clients", "node")?;
    venv::install(checkout, "tests/clients/python", "clients-python")?;
    for server in [
        servers::REGISTRY,
        servers::POSTGRES,
        servers::NGINX,
        servers::BROWSER,
    ] {
        server.install(checkout)?;
    }
    guests::build(checkout, &[])
}

#[derive(Default)]
struct Report {
    counts: Counts,
    failures: Vec<String>,
}

impl Report {
    fn lint(&mut self, checkout: &Checkout) {
        self.format_and_clippy(|| cargo(&checkout.root));
        for folder in guests::rust::WORKSPACES {
            self.format_and_clippy(|| guests::rust::native(checkout, folder));
        }
        let mut doc = cargo(&checkout.root);
        doc.args(["doc", "--workspace", "--no-deps"]);
        self.check(doc.env("RUSTDOCFLAGS", "-D warnings"));
        let unit = unit::verify(checkout);
        self.note(unit);
    }

    fn format_and_clippy(&mut self, cargo: impl Fn() -> Command) {
        self.check(cargo().args(["fmt", "--all", "--check"]));
        let mut clippy = cargo();
        clippy.args(["clippy", "--workspace", "--all-targets"]);
        self.check(clippy.args(["--", "-D", "warnings"]));
    }

    fn test(&mut self, checkout: &Checkout) {
        let root = || cargo(&checkout.root);
        // Always the whole workspace: with fewer members features differ, and wasmtime would be
        // built again. End-to-end tests run its binaries, which no test asks cargo for.
        if !self.check(root().args(["build", "--workspace", "--all-targets"])) {
            return;
        }
        if works("cargo-nextest") {
            self.nextest(root().args(["nextest", "run", "--workspace", "--no-fail-fast"]));
        } else {
            say!("cargo-nextest is not installed; `cargo test` takes its place");
            let mut tests = root();
            tests.args(["test", "--workspace", "--no-fail-fast"]);
            self.libtest(tests.args(["--lib", "--bins", "--tests"]));
        }
        self.libtest(root().args(["test", "--workspace", "--no-fail-fast", "--doc"]));
        for folder in guests::rust::WORKSPACES {
            let mut guests = guests::rust::native(checkout, folder);
            self.libtest(guests.args(["test", "--workspace", "--no-fail-fast"]));
        }
        for subject in kill::subjects(checkout) {
            self.check(&mut subject.test(checkout));
        }
    }

    /// Runs a command that must succeed. Did it?
    fn check(&mut self, command: &mut Command) -> bool {
        say!("{}", line(command));
        let outcome = run(command);
        self.note(outcome)
    }

    /// Runs tests with nextest, which tells of them on standard error.
    fn nextest(&mut self, command: &mut Command) {
        let outcome = self.count(command.stderr(Stdio::piped()), Counts::of_nextest);
        self.note(outcome);
    }

    /// Runs tests with cargo, which tells of them on standard output.
    fn libtest(&mut self, command: &mut Command) {
        let outcome = self.count(command.stdout(Stdio::piped()), Counts::of_libtest);
        self.note(outcome);
    }

    /// Shows what a command writes to its pipe, and adds up what is counted there.
    fn count(&mut self, command: &mut Command, read: fn(&str) -> Option<Counts>) -> Result<()> {
        say!("{}", line(command));
        let mut child = command.spawn().with_context(|| line(command))?;
        let piped: Box<dyn Read> = match (child.stdout.take(), child.stderr.take()) {
            (Some(stdout), _) => Box::new(stdout),
            (None, Some(stderr)) => Box::new(stderr),
            (None, None) => bail!("`{}` has no pipe", line(command)),
        };
        for text in BufReader::new(piped).lines() {
            let text = text?;
            eprintln!("{text}");
            if let Some(counts) = read(&text) {
                self.counts += counts;
            }
        }
        let status = child.wait()?;
        ensure!(status.success(), "`{}` failed ({status})", line(command));
        Ok(())
    }

    fn note(&mut self, outcome: Result<()>) -> bool {
        if let Err(error) = &outcome {
            self.failures.push(format!("{error:#}"));
        }
        outcome.is_ok()
    }
}
