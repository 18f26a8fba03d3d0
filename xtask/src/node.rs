//! The published npm packages that tests run: exactly those of `tests/clients/package-lock.json`,
//! in `target/tools/node/`, with a Node of their own.

use std::fs;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::checkout::Checkout;
use crate::process::{run, say, works};

/// Installs them, unless they are there.
pub(crate) fn install(checkout: &Checkout) -> Result<()> {
    let wanted = checkout.root.join("tests/clients");
    let folder = checkout.target.join("tools/node");
    let lock = fs::read(wanted.join("package-lock.json"))?;
    // Written last, so that it stands for a complete installation.
    let installed = folder.join("installed-lock.json");
    if fs::read(&installed).is_ok_and(|old| old == lock) {
        return Ok(());
    }
    if !works("npm") {
        bail!("npm is missing: install Node.js 20 or later, which brings it");
    }
    say!(
        "installing the npm packages that tests use into {}",
        folder.display()
    );
    fs::create_dir_all(&folder)?;
    for name in ["package.json", "package-lock.json"] {
        fs::copy(wanted.join(name), folder.join(name)).with_context(|| name.to_owned())?;
    }
    // Only errors: the Node that npm itself runs on is older than what some packages ask for.
    let mut npm = Command::new("npm");
    npm.args(["ci", "--no-audit", "--no-fund", "--loglevel=error"]);
    run(npm.current_dir(&folder))?;
    fs::write(installed, lock)?;
    Ok(())
}
