//! Guests in Python: CPython, with the imported modules in its memory.

use std::process::Command;

use anyhow::Result;

use super::foreign::{Foreign, Language};
use crate::checkout::Checkout;
use crate::venv;

const PYTHON: Language = Language {
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

pub(super) const GUESTS: [Foreign; 3] = [
    PYTHON.guest("python", "tests/guests/python"),
    // The benchmark names it.
    PYTHON
        .guest("echo-python", "tests/guests/echo-python")
        .on_demand(),
    // Its tool is in the one above, too: such components are large.
    PYTHON.guest("prose", "examples/prose").on_demand(),
];

fn compiler(checkout: &Checkout) -> Result<Command> {
    let environment = venv::install(checkout, "examples/prose", "python")?;
    Ok(environment.script("componentize-py"))
}
