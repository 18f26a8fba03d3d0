//! Where built things lie: everything is found from the test's own executable, so that a moved
//! target folder needs no setting.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The root of the checkout.
pub fn root() -> PathBuf {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR"));
    tests
        .parent()
        .expect("the tests folder has a parent")
        .to_owned()
}

/// The server's binary: `COFFERDAM_BIN`, or the one built beside this test.
///
/// # Panics
/// If there is none.
pub fn binary() -> PathBuf {
    if let Some(path) = env::var_os("COFFERDAM_BIN") {
        return PathBuf::from(path);
    }
    let profile = profile_folder();
    let binary = profile.join(format!("cofferdam{}", env::consts::EXE_SUFFIX));
    assert!(
        binary.is_file(),
        "{} is missing: run `cargo xtask test`, or `cargo build -p cofferdam` before a test of your own",
        binary.display()
    );
    binary
}

/// The component `target/guests/NAME.wasm`.
///
/// # Panics
/// If it was not built.
pub fn guest(name: &str) -> PathBuf {
    let path = target().join("guests").join(format!("{name}.wasm"));
    assert!(
        path.is_file(),
        "{} is missing: run `cargo xtask guests`",
        path.display()
    );
    path
}

/// The component `target/guests/NAME.wasm`, if its compiler could be had; a test that goes without
/// says so.
pub fn guest_if_built(name: &str) -> Option<PathBuf> {
    let path = target().join("guests").join(format!("{name}.wasm"));
    if path.is_file() {
        return Some(path);
    }
    println!(
        "NOT TESTED: {name}, for it was not built; `cargo xtask guests --only {name}` says why"
    );
    None
}

/// The compiler of guests in a language, `target/tools/NAME`, if it could be had; a test that goes
/// without says so.
pub fn compiler_if_installed(name: &str) -> Option<PathBuf> {
    let path = target().join("tools").join(name);
    if path.is_dir() {
        return Some(path);
    }
    println!(
        "NOT TESTED: {} is missing; `cargo xtask guests` installs it",
        path.display()
    );
    None
}

/// A `rustc` that has the standard library of a target, as the task runner finds or makes it.
///
/// # Panics
/// If there is none.
pub fn rustc(target: &str) -> PathBuf {
    let output = xtask().args(["rustc", target]).output();
    let output = output.unwrap_or_else(|error| panic!("xtask: {error}"));
    assert!(output.status.success(), "{output:?}");
    let path = String::from_utf8(output.stdout).expect("UTF-8");
    PathBuf::from(path.trim_end())
}

/// The task runner, as it was built beside this test.
pub(crate) fn xtask() -> Command {
    Command::new(profile_folder().join("xtask"))
}

/// A folder of the target folder, which a test may build in.
pub fn build_folder(name: &str) -> PathBuf {
    target().join(name)
}

/// What `cargo xtask test` installs.
fn installed(path: PathBuf) -> PathBuf {
    assert!(
        path.exists(),
        "{} is missing: run `cargo xtask test`, which installs it",
        path.display()
    );
    path
}

/// The folder that holds the pinned npm packages.
///
/// # Panics
/// If they were not installed.
pub fn node_modules() -> PathBuf {
    let path = target().join("tools/node/node_modules");
    assert!(
        path.is_dir(),
        "{} is missing: run `cargo xtask test`, which installs it",
        path.display()
    );
    path
}

/// The pinned Node runtime.
///
/// # Panics
/// If it was not installed.
pub fn node() -> PathBuf {
    installed(node_modules().join(".bin/node"))
}

/// The Python of the environment that holds the pinned Python packages of clients.
///
/// # Panics
/// If it was not installed.
pub fn python() -> PathBuf {
    installed(target().join("tools/clients-python/bin/python"))
}

/// Debian's `docker-registry`: the one on the PATH, or the one that was unpacked.
///
/// # Panics
/// If there is none.
pub(crate) fn docker_registry() -> PathBuf {
    let name = "docker-registry";
    let unpacked = target().join("tools").join(name).join("usr/bin").join(name);
    let path = env::var_os("PATH").unwrap_or_default();
    let mut found = env::split_paths(&path).map(|folder| folder.join(name));
    let found = found.find(|file| file.is_file()).unwrap_or(unpacked);
    assert!(
        found.is_file(),
        "{} is missing: run `cargo xtask test`, which unpacks it, or install it",
        found.display()
    );
    found
}

fn target() -> PathBuf {
    profile_folder()
        .parent()
        .expect("a profile folder lies in a target folder")
        .to_owned()
}

/// `target/PROFILE`: tests run from `target/PROFILE/deps`.
fn profile_folder() -> PathBuf {
    let executable = env::current_exe().expect("the path of this test");
    let deps = executable.parent().expect("an executable lies in a folder");
    deps.parent()
        .expect("tests lie in a folder of the profile folder")
        .to_owned()
}
