//! Packages of Debian and its kin, unpacked rather than installed: that needs no root, and changes
//! nothing outside the folder that they go to.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::process::{read, run, say, works};

/// Can packages be had and unpacked here?
pub(crate) fn is_here() -> bool {
    works("apt-get") && works("dpkg-deb")
}

/// Fetches the lists of packages, if we may.
pub(crate) fn update() {
    let update = Command::new("apt-get")
        .args(["update", "--quiet", "--quiet"])
        .stdout(Stdio::null())
        .status();
    if !update.is_ok_and(|status| status.success()) {
        say!("`apt-get update` failed; going on with the lists that are here");
    }
}

/// Downloads packages, and unpacks them into a folder.
pub(crate) fn unpack(packages: &[impl AsRef<OsStr>], folder: &Path) -> Result<()> {
    let archives = folder.join("archives");
    fs::create_dir_all(&archives)?;
    let mut download = Command::new("apt-get");
    // Its unprivileged user may not write into our folder.
    download.args(["--quiet", "--option", "APT::Sandbox::User=root", "download"]);
    run(download.args(packages).current_dir(&archives))?;
    for archive in fs::read_dir(&archives).context("downloaded packages")? {
        run(Command::new("dpkg-deb")
            .arg("--extract")
            .arg(archive?.path())
            .arg(folder))?;
    }
    fs::remove_dir_all(&archives)?;
    Ok(())
}

/// Unpacks a package, and those of its dependencies that this machine lacks, into a new folder: all of
/// it or nothing.
pub(crate) fn install(package: &str, folder: &Path) -> Result<()> {
    let part = folder.with_extension("part");
    if part.exists() {
        fs::remove_dir_all(&part)?;
    }
    unpack(&missing(package)?, &part)?;
    // Last, so that the folder stands for a complete installation.
    fs::rename(&part, folder).with_context(|| format!("moving {}", part.display()))
}

/// What would be installed for a package.
fn missing(package: &str) -> Result<Vec<String>> {
    let mut simulate = Command::new("apt-get");
    simulate.args(["install", "--simulate", "--no-install-recommends", package]);
    let plan = read(&mut simulate)?;
    let name = |line: &str| Some(line.strip_prefix("Inst ")?.split(' ').next()?.to_owned());
    let packages: Vec<String> = plan.lines().filter_map(name).collect();
    if packages.is_empty() {
        bail!(
            "{package} is installed, but its programs are not where it has them: install it anew"
        );
    }
    Ok(packages)
}
