//! A server that is optimised for what servers do most: it is built to take notes, works for a while
//! under the benchmark's load, and is built again by its notes (profile-guided optimisation).
//!
//! Invariant: the notes are read by the tool of the compiler's own LLVM, or of one with the same number.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::bench;
use crate::checkout::Checkout;
use crate::guests;
use crate::process::{cargo, quiet, read, run, say};
use crate::release::{optimised, release};
use crate::toolchain;

/// The server's package, and its program.
const SERVER: &str = "cofferdam";
/// How long it works at each thing.
const SECONDS: &str = "3";

/// Builds it.
pub(crate) fn optimise(checkout: &Checkout) -> Result<()> {
    let compiler = Compiler::find()?;
    let merger = compiler.profdata()?;
    guests::build(checkout, &bench::GUESTS)?;
    let load = release(checkout, &["cofferdam", "cofferdam-bench"])?.join("cofferdam-bench");

    let folder = checkout.target.join("optimised");
    let notes = folder.join("notes");
    // Notes of another build would be mixed with those of this one.
    if notes.exists() {
        fs::remove_dir_all(&notes)?;
    }
    fs::create_dir_all(&notes)?;
    fs::create_dir_all(bench::data(checkout))?;
    say!("building a server that takes notes");
    let notes_flag = format!("-Cprofile-generate={}", notes.display());
    let noting = compiler.build(checkout, &folder.join("noting"), &notes_flag)?;

    say!("letting it work");
    let mut train = Command::new(load);
    train.args(["train", "--seconds", SECONDS]);
    bench::place(checkout, &mut train, &noting);
    run(&mut train)?;

    let merged = folder.join("notes.profdata");
    let mut merge = Command::new(merger);
    quiet(merge.arg("merge").arg("-o").arg(&merged).arg(&notes))?;
    say!("building it again");
    let by_notes = format!("-Cprofile-use={}", merged.display());
    let built = compiler.build(checkout, &folder.join("build"), &by_notes)?;
    let server = optimised(checkout);
    fs::copy(&built, &server).with_context(|| built.display().to_string())?;
    println!("{}", server.display());
    Ok(())
}

/// The compiler that builds the workspace.
struct Compiler {
    rustc: PathBuf,
    /// What it compiles for unless told.
    host: String,
    /// The first number of its LLVM.
    llvm: String,
}

impl Compiler {
    fn find() -> Result<Self> {
        let rustc = toolchain::native();
        let told = read(Command::new(&rustc).arg("-vV"))?;
        Ok(Self {
            host: toolchain::print(&rustc, "host-tuple")?,
            llvm: llvm(&told).context("`rustc -vV` names no LLVM")?,
            rustc,
        })
    }

    /// Builds the server in a folder of its own, with another flag. For a named target, so that what
    /// runs while it is built is built as ever.
    fn build(&self, checkout: &Checkout, folder: &Path, flag: &str) -> Result<PathBuf> {
        let mut build = cargo(&checkout.root);
        build.args(["build", "--release", "--package", SERVER]);
        build.args(["--target", &self.host]);
        build.arg("--target-dir").arg(folder);
        build.env("CARGO_ENCODED_RUSTFLAGS", flag);
        run(&mut build)?;
        Ok(folder.join(&self.host).join("release").join(SERVER))
    }

    /// The tool that merges notes.
    fn profdata(&self) -> Result<PathBuf> {
        const NAME: &str = "llvm-profdata";
        let own = Path::new(&toolchain::print(&self.rustc, "sysroot")?)
            .join("lib/rustlib")
            .join(&self.host)
            .join("bin")
            .join(NAME);
        let numbered = PathBuf::from(format!("{NAME}-{}", self.llvm));
        for tool in [own, numbered, NAME.into()] {
            if version(&tool).is_some_and(|version| version == self.llvm) {
                return Ok(tool);
            }
        }
        bail!(
            "no {NAME} of LLVM {} is here: `rustup component add llvm-tools` brings it, or the package \
             llvm-{0} of the system",
            self.llvm
        );
    }
}

/// The first number of a tool's LLVM.
fn version(tool: &Path) -> Option<String> {
    let told = Command::new(tool)
        .args(["merge", "--version"])
        .stdin(Stdio::null())
        .output()
        .ok()?;
    llvm(&String::from_utf8(told.stdout).ok()?)
}

/// The first number of the LLVM that a program says it is of.
fn llvm(told: &str) -> Option<String> {
    let (_, version) = told.split_once("LLVM version")?;
    let version = version.trim_start_matches([':', ' ']);
    Some(version.split('.').next()?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_compiler_and_its_tools_name_their_llvm() {
        let rustc = "host: x86_64-unknown-linux-gnu\nrelease: 1.95.0\nLLVM version: 22.1.2\n";
        assert_eq!(llvm(rustc).as_deref(), Some("22"));
        let debian = "Debian LLVM version 22.1.8\n  Optimized build.\n";
        assert_eq!(llvm(debian).as_deref(), Some("22"));
        assert_eq!(llvm("release: 1.95.0\n"), None);
    }
}
