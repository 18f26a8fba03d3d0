//! The standard library of one target, built from its source into a sysroot. Once it is there, the
//! compiler of that sysroot is like one that came with the target.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use super::cache;
use super::remap;
use crate::process::{cargo, read, run, say};

/// Cargo builds a standard library only for some crate; this one is empty.
const CRATE: &str = "empty";
const MANIFEST: &str = "\
[package]
name = \"empty\"
version = \"0.0.0\"
edition = \"2024\"

[lib]
path = \"lib.rs\"

[workspace]
";

/// Does a folder hold a standard library?
pub(super) fn lies_in(folder: &Path) -> bool {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names = entries.map(|entry| entry.file_name());
    names.any(|name| {
        let name = name.to_string_lossy();
        name.starts_with("libstd-") && name.ends_with(".rlib")
    })
}

/// Builds it with `rustc`, whose sysroot holds its source.
pub(super) fn build(rustc: &Path, sysroot: &Path, target: &str) -> Result<()> {
    let version = read(Command::new(rustc).arg("--version"))?;
    say!(
        "building the standard library of {target} with {}",
        version.trim_end()
    );
    let rustlib = sysroot.join("lib/rustlib");
    let workshop = tempfile::tempdir().context("a folder for temporary data")?;
    fs::write(workshop.path().join("Cargo.toml"), MANIFEST)?;
    fs::write(workshop.path().join("lib.rs"), "#![no_std]\n")?;

    let source = rustlib.join("src/rust");
    let real_source = fs::canonicalize(&source)?;
    let mut command = cargo(workshop.path());
    command.args(["build", "--quiet", "--release", "--target", target]);
    command.arg("-Zbuild-std=std,panic_abort");
    // The source belongs to this very compiler; that makes the unstable flag safe to use.
    command.env("RUSTC_BOOTSTRAP", "1");
    command
        .env("RUSTC", rustc)
        .env("CARGO_TARGET_DIR", workshop.path().join("target"));
    command
        .env_remove("RUSTFLAGS")
        .env_remove("CARGO_BUILD_TARGET");
    let mut flags = remap(&[(&source, "/rustc"), (&real_source, "/rustc")]);
    // With bitcode, a guest's link-time optimisation reaches into the library.
    flags.push("\u{1f}-Cembed-bitcode=yes\u{1f}-Cstrip=debuginfo");
    command.env("CARGO_ENCODED_RUSTFLAGS", flags);
    run(&mut command)?;

    let folder = rustlib.join(target);
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    cache::make(&folder, |folder| {
        let built = workshop
            .path()
            .join("target")
            .join(target)
            .join("release/deps");
        fill(&folder.join("lib"), &built)?;
        if target.contains("-wasi") {
            copy(
                &sysroot.join("lib/wasm32-wasi"),
                &folder.join("lib/self-contained"),
                |name| name.ends_with(".a") || name.ends_with(".o"),
            )?;
        }
        Ok(())
    })
}

fn fill(library: &Path, built: &Path) -> Result<()> {
    let ours = format!("lib{CRATE}-");
    copy(built, library, |name| {
        name.ends_with(".rlib") && !name.starts_with(&ours)
    })
}

/// Copies the files whose names are wanted.
fn copy(from: &Path, to: &Path, wanted: impl Fn(&str) -> bool) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from).with_context(|| from.display().to_string())? {
        let entry = entry?;
        if wanted(&entry.file_name().to_string_lossy()) {
            fs::copy(entry.path(), to.join(entry.file_name()))?;
        }
    }
    Ok(())
}
