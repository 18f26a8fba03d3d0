//! Debian's `rustc-web`: a rustc with the wasm targets, and the source of its standard library.
//! Its packages are unpacked into the cache, not installed; the linkers, which Debian does not ship, are those of the rustc on PATH.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::cache::{self, Cache};
use super::{Toolchain, has_std, print, std_library};
use crate::debian;
use crate::process::{read, say};

const PACKAGES: [&str; 3] = ["rustc-web", "rust-web-src", "wasi-libc"];

/// A toolchain for the target, made where it is missing; none where apt does not offer it.
///
/// `native` is the rustc whose linkers it borrows.
pub(super) fn toolchain(native: &Path, target: &str) -> Result<Option<Toolchain>> {
    if !debian::is_here() {
        return Ok(None);
    }
    let cache = Cache::lock()?;
    let shelf = cache.folder().join("rustc-web");
    let home = match newest(&shelf) {
        Some(home) => home,
        None => {
            let Some(version) = offered()? else {
                return Ok(None);
            };
            let home = shelf.join(version);
            cache::make(&home, unpack)?;
            home
        }
    };
    borrow_linkers(native, &home)?;
    let rustc = home.join("rustc");
    if !has_std(&rustc, target) {
        std_library::build(&rustc, &home.join("usr"), target)?;
    }
    Ok(Some(Toolchain { rustc }))
}

/// What was unpacked before; the last one if there are several.
fn newest(shelf: &Path) -> Option<PathBuf> {
    let homes = fs::read_dir(shelf)
        .ok()?
        .flatten()
        .map(|entry| entry.path());
    let whole = homes.filter(|home| home.extension().is_none_or(|end| end != "part"));
    whole.max_by_key(|home| fs::metadata(home).and_then(|it| it.modified()).ok())
}

/// The version that apt would install, with fresh lists if we may fetch them.
fn offered() -> Result<Option<String>> {
    say!("no rustc here has wasm's standard library; asking apt for Debian's rustc-web");
    debian::update();
    let policy = read(
        Command::new("apt-cache")
            .args(["policy", "rustc-web"])
            .env("LC_ALL", "C"),
    )?;
    let mut lines = policy.lines().map(str::trim);
    let version = lines.find_map(|line| line.strip_prefix("Candidate: "));
    Ok(version
        .filter(|version| *version != "(none)")
        .map(str::to_owned))
}

fn unpack(home: &Path) -> Result<()> {
    // A simulated installation names the packages that this machine lacks.
    let mut simulate = Command::new("apt-get");
    simulate
        .args(["install", "--simulate", "--no-install-recommends"])
        .args(PACKAGES);
    let plan = read(simulate.env("LC_ALL", "C"))?;
    let lines = plan.lines().filter_map(|line| line.strip_prefix("Inst "));
    let packages: Vec<_> = lines.filter_map(|line| line.split(' ').next()).collect();
    say!("unpacking {} (about 140 MB)", packages.join(", "));
    debian::unpack(&packages, home)?;
    // Of the source only the libraries are needed.
    let source = fs::canonicalize(home.join("usr/lib/rustlib/src/rust"))?;
    for part in ["compiler", "src", "tests"].map(|part| source.join(part)) {
        if part.is_dir() {
            fs::remove_dir_all(part)?;
        }
    }
    write_wrapper(home)?;
    let version = read(Command::new(home.join("rustc")).arg("--version"))?;
    say!("unpacked {}", version.trim_end());
    Ok(())
}

/// `rustc` in `home`: the compiler with its own shared libraries. It finds itself, so that the
/// folder may move.
fn write_wrapper(home: &Path) -> Result<()> {
    let libraries = fs::read_dir(home.join("usr/lib"))?
        .flatten()
        .map(|entry| entry.file_name())
        .find(|name| name.to_string_lossy().ends_with("-linux-gnu"))
        .context("the packages hold no shared libraries")?;
    let script = format!(
        "#!/bin/sh\n\
         home=${{0%/*}}\n\
         LD_LIBRARY_PATH=$home/usr/lib/{}${{LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}} exec \"$home/usr/bin/rustc\" \"$@\"\n",
        libraries.to_string_lossy()
    );
    let file = home.join("rustc");
    fs::write(&file, script)?;
    fs::set_permissions(&file, fs::Permissions::from_mode(0o755))?;
    Ok(())
}

/// Links the folder of `rust-lld` and `wasm-component-ld` into Debian's sysroot, anew each time:
/// the toolchain that they come from may have moved.
fn borrow_linkers(native: &Path, home: &Path) -> Result<()> {
    let platform = print(native, "host-tuple")?;
    let inside = format!("lib/rustlib/{platform}/bin");
    let linkers = Path::new(&print(native, "sysroot")?).join(&inside);
    for linker in ["rust-lld", "wasm-component-ld"] {
        ensure!(
            linkers.join(linker).is_file(),
            "{linker} is not in {}; a toolchain of rustup has it",
            linkers.display()
        );
    }
    let link = home.join("usr").join(inside);
    if fs::read_link(&link).is_ok_and(|old| old == linkers) {
        return Ok(());
    }
    if link.is_symlink() {
        fs::remove_file(&link)?;
    }
    symlink(&linkers, &link).with_context(|| format!("linking {}", link.display()))
}
