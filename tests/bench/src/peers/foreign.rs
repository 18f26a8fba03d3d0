//! The official SDKs in other languages, each with the same tool as a native function. Their programs
//! and what they need are pinned in `tests/bench/peers/`; each says there how it is set up for speed.

use std::path::Path;
use std::process::Command;

const TYPESCRIPT: &str = include_str!("../../peers/typescript/server.mjs");
const PYTHON: &str = include_str!("../../peers/python/server.py");

/// The TypeScript SDK, with the packages in this folder, Node.js among them.
pub(crate) fn typescript(packages: &Path) -> Command {
    let mut command = Command::new(packages.join(".bin/node"));
    // It looks for packages from where it runs.
    command.current_dir(packages);
    command.args(["--input-type=module", "--eval", TYPESCRIPT]);
    command.env("NODE_ENV", "production");
    command
}

/// The Python SDK, on a Python that has it.
pub(crate) fn python(python: &Path) -> Command {
    let mut command = Command::new(python);
    command.args(["-c", PYTHON]);
    command
}
