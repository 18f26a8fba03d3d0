//! Published npm packages: exactly those that a folder of the checkout pins in its
//! `package-lock.json`, installed into a folder of `target/tools/`.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::checkout::Checkout;
use crate::process::{quiet, say, works};

/// Installs what `from` pins into `target/tools/NAME`, unless it is there. Returns the folder
/// `node_modules`.
pub(crate) fn install(checkout: &Checkout, from: &str, name: &str) -> Result<PathBuf> {
    let wanted = checkout.root.join(from);
    let folder = checkout.target.join("tools").join(name);
    let packages = folder.join("node_modules");
    let lock = fs::read(wanted.join("package-lock.json")).context("package-lock.json")?;
    // Written last, so that it stands for a complete installation.
    let installed = folder.join("installed-lock.json");
    if fs::read(&installed).is_ok_and(|old| old == lock) {
        return Ok(packages);
    }
    if !works("npm") {
        bail!("npm is missing: install Node.js 20 or later, which brings it");
    }
    say!(
        "installing the npm packages of {from} into {}",
        folder.display()
    );
    fs::create_dir_all(&folder)?;
    for name in ["package.json", "package-lock.json"] {
        fs::copy(wanted.join(name), folder.join(name)).with_context(|| name.to_owned())?;
    }
    // Only errors: the Node that npm itself runs on is older than what some packages ask for.
    let mut npm = Command::new("npm");
    npm.args(["ci", "--no-audit", "--no-fund", "--loglevel=error"]);
    quiet(npm.current_dir(&folder))?;
    fs::write(installed, lock)?;
    Ok(packages)
}
