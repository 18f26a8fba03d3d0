//! The registry that tests push to and pull from: Debian's `docker-registry`, unless one is
//! installed.

use std::fs;

use anyhow::{Context, Result, bail};

use crate::checkout::Checkout;
use crate::debian;
use crate::process::{say, works};

const PACKAGE: &str = "docker-registry";

/// Unpacks it into `target/tools/docker-registry`, unless it is there or on the PATH.
pub(crate) fn install(checkout: &Checkout) -> Result<()> {
    let folder = checkout.target.join("tools").join(PACKAGE);
    if folder.is_dir() || works(PACKAGE) {
        return Ok(());
    }
    if !debian::is_here() {
        bail!("{PACKAGE} is missing: install it, so that it is on the PATH");
    }
    say!("unpacking Debian's {PACKAGE} into {}", folder.display());
    // Renamed last, so that the folder stands for a complete installation.
    let part = folder.with_extension("part");
    if part.exists() {
        fs::remove_dir_all(&part)?;
    }
    debian::update();
    debian::unpack(&[PACKAGE], &part)?;
    fs::rename(&part, &folder).with_context(|| format!("moving {}", part.display()))
}
