//! The guest in Python: CPython, with the imported modules in its memory.

use std::process::Command;

use anyhow::Result;

use super::foreign::Foreign;
use crate::checkout::Checkout;
use crate::venv;

pub(super) const GUEST: Foreign = Foreign {
    name: "python",
    folder: "tests/guests/python",
    compiler,
    arguments: &[
        "--quiet",
        "--wit-path=wit",
        "--world=tool",
        "componentize",
        "--python-path=.",
        "--output=component.wasm",
        "tools",
    ],
};

fn compiler(checkout: &Checkout, folder: &str) -> Result<Command> {
    let environment = venv::install(checkout, folder, "python")?;
    Ok(environment.script("componentize-py"))
}
