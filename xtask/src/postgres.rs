//! The PostgreSQL that tests start servers of: Debian's, unless one is installed.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::checkout::Checkout;
use crate::debian;
use crate::process::{read, say};

const PACKAGE: &str = "postgresql";

/// Where Debian and its kin put the programs, a folder for each version.
const VERSIONS: &str = "/usr/lib/postgresql";

/// Unpacks it into `target/tools/postgresql`, unless it is there or installed.
pub(crate) fn install(checkout: &Checkout) -> Result<()> {
    let folder = checkout.target.join("tools").join(PACKAGE);
    if folder.is_dir() || is_installed() {
        return Ok(());
    }
    if !debian::is_here() {
        bail!(
            "PostgreSQL is missing: install it, so that initdb, postgres and psql are on the PATH"
        );
    }
    say!("unpacking Debian's {PACKAGE} into {}", folder.display());
    // Renamed last, so that the folder stands for a complete installation.
    let part = folder.with_extension("part");
    if part.exists() {
        fs::remove_dir_all(&part)?;
    }
    debian::update();
    debian::unpack(&missing()?, &part)?;
    fs::rename(&part, &folder).with_context(|| format!("moving {}", part.display()))
}

fn is_installed() -> bool {
    let path = env::var_os("PATH").unwrap_or_default();
    let versions = fs::read_dir(VERSIONS).into_iter().flatten().flatten();
    let versions = versions.map(|version| version.path().join("bin"));
    let is_whole = |folder: PathBuf| {
        let programs = ["initdb", "postgres", "psql"];
        programs.iter().all(|name| folder.join(name).is_file())
    };
    env::split_paths(&path).chain(versions).any(is_whole)
}

/// The package and those of its dependencies that this machine lacks: what would be installed.
fn missing() -> Result<Vec<String>> {
    let mut simulate = Command::new("apt-get");
    simulate.args(["install", "--simulate", "--no-install-recommends", PACKAGE]);
    let plan = read(&mut simulate)?;
    let name = |line: &str| Some(line.strip_prefix("Inst ")?.split(' ').next()?.to_owned());
    let packages: Vec<String> = plan.lines().filter_map(name).collect();
    if packages.is_empty() {
        bail!(
            "{PACKAGE} is installed, but not under {}",
            Path::new(VERSIONS).display()
        );
    }
    Ok(packages)
}
