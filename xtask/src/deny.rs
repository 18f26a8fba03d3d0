//! The audit of what the workspaces depend on, by cargo-deny and `deny.toml`.
//!
//! Invariant: every committed `Cargo.lock` is looked at, as it is. What could not be looked at is said.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};
use clap::Args;

use crate::checkout::Checkout;
use crate::process::{cargo, quiet, run, say};

/// What is looked at.
#[derive(Args)]
pub(crate) struct Options {
    /// Ask nobody: leave out the advisories, whose database is fetched
    #[arg(long)]
    offline: bool,
}

/// Where a `Cargo.lock` is.
const WORKSPACES: [&str; 4] = [".", "examples", "fuzz", "tests/guests"];

/// Checks licences, bans, sources and advisories of all workspaces.
pub(crate) fn audit(checkout: &Checkout, options: &Options) -> Result<()> {
    quiet(cargo(&checkout.root).args(["deny", "--version"]))
        .context("the audit needs `cargo install cargo-deny --locked`")?;
    let mut checks = vec!["bans", "licenses", "sources"];
    let mut fetch = deny(&checkout.root, ".");
    if options.offline {
        say!("advisories are not looked at (--offline)");
    } else if let Err(error) = quiet(fetch.args(["fetch", "db"])) {
        say!("advisories are NOT looked at, their database cannot be fetched: {error:#}");
    } else {
        checks.push("advisories");
    }
    let mut failed = Vec::new();
    for folder in WORKSPACES {
        say!("auditing {folder}: {}", checks.join(", "));
        let mut check = deny(&checkout.root, folder);
        check
            .args(["check", "--hide-inclusion-graph"])
            .args(&checks);
        if let Err(error) = run(&mut check) {
            failed.push(format!("\n  {folder}: {error:#}"));
        }
    }
    if !failed.is_empty() {
        bail!("the audit failed:{}", failed.concat());
    }
    Ok(())
}

fn deny(root: &Path, folder: &str) -> Command {
    let mut command = cargo(&root.join(folder));
    command.args(["deny", "--locked", "--config"]);
    command.arg(root.join("deny.toml"));
    command
}
