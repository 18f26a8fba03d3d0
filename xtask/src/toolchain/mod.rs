//! Compilers for wasm. A target needs its standard library, which comes from the first of
//! 1. the `rustc` on PATH, where somebody ran `rustup target add`;
//! 2. Debian's `rustc-web`, unpacked into a cache folder beside everything that is installed;
//! 3. rustup, which is asked to add the target.

mod cache;
mod debian;
mod std_library;

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Result, bail};

use crate::process::{read, run, say, works};

/// A compiler that has the standard library of the target it was sought for.
pub(crate) struct Toolchain {
    rustc: PathBuf,
}

impl Toolchain {
    /// Its `rustc`.
    pub(crate) fn rustc(&self) -> &Path {
        &self.rustc
    }

    /// Makes a cargo command use it.
    pub(crate) fn apply(&self, cargo: &mut Command) {
        cargo.env("RUSTC", &self.rustc);
    }
}

/// Finds, or makes, a toolchain for a target.
pub(crate) fn find(target: &str) -> Result<Toolchain> {
    let rustc = native();
    if has_std(&rustc, target) {
        return Ok(Toolchain { rustc });
    }
    match debian::toolchain(&rustc, target) {
        Ok(Some(toolchain)) => return Ok(toolchain),
        Ok(None) => {}
        Err(error) => say!("Debian's rustc-web cannot be used: {error:#}"),
    }
    if !works("rustup") {
        bail!(
            "nothing here can compile for {target}: install rustup and run \
             `rustup target add {target}`"
        );
    }
    say!("running `rustup target add {target}`");
    run(Command::new("rustup").args(["target", "add", target]))?;
    if !has_std(&rustc, target) {
        bail!(
            "rustup added {target}, but `{}` has no standard library for it",
            rustc.display()
        );
    }
    Ok(Toolchain { rustc })
}

/// The compiler that builds for this machine.
pub(crate) fn native() -> PathBuf {
    PathBuf::from(env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()))
}

/// Has this compiler a standard library for the target?
fn has_std(rustc: &Path, target: &str) -> bool {
    let mut command = Command::new(rustc);
    command.args(["--print", "target-libdir", "--target", target]);
    let Ok(output) = command.stderr(Stdio::null()).output() else {
        return false;
    };
    let folder = String::from_utf8_lossy(&output.stdout);
    std_library::lies_in(Path::new(folder.trim_end()))
}

/// A line that `rustc --print` answers.
pub(crate) fn print(rustc: &Path, what: &str) -> Result<String> {
    let text = read(Command::new(rustc).args(["--print", what]))?;
    Ok(text.trim_end().to_owned())
}

/// The value of `CARGO_ENCODED_RUSTFLAGS` that keeps this machine's paths out of what is built, so
/// that the same sources give the same bytes anywhere.
pub(crate) fn remap(folders: &[(&Path, &str)]) -> OsString {
    let home = cargo_home();
    let home = home.iter().map(|home| (home.as_path(), "/cargo"));
    let mut flags = OsString::new();
    for (folder, name) in home.chain(folders.iter().copied()) {
        if !flags.is_empty() {
            flags.push("\u{1f}");
        }
        flags.push("--remap-path-prefix=");
        flags.push(folder);
        flags.push("=");
        flags.push(name);
    }
    flags
}

fn cargo_home() -> Option<PathBuf> {
    let set = env::var_os("CARGO_HOME").map(PathBuf::from);
    set.or_else(|| Some(env::home_dir()?.join(".cargo")))
}
