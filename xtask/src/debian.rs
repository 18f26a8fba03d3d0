//! Packages of Debian and its kin, unpacked rather than installed: that needs no root, and changes
//! nothing outside the folder that they go to.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result};

use crate::process::{run, say, works};

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
