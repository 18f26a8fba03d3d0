//! Release builds of the workspace's own programs, for what measures them.

use std::path::PathBuf;

use anyhow::Result;

use crate::checkout::Checkout;
use crate::process::{cargo, run, say};

/// Where `cargo xtask optimise` puts the server.
pub(crate) fn optimised(checkout: &Checkout) -> PathBuf {
    checkout.target.join("optimised/cofferdam")
}

/// Builds packages of the workspace for release. Gives the folder where their programs lie.
pub(crate) fn release(checkout: &Checkout, packages: &[&str]) -> Result<PathBuf> {
    say!("building {} for release", packages.join(" and "));
    let mut build = cargo(&checkout.root);
    build.args(["build", "--release"]);
    for package in packages {
        build.args(["--package", package]);
    }
    run(&mut build)?;
    Ok(checkout.target.join("release"))
}
