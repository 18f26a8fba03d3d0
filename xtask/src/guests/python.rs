//! Guests in Python: CPython, with the imported modules in its memory.

use std::process::Command;

use anyhow::Result;

use super::foreign::{Foreign, Language};
use crate::checkout::Checkout;
use crate::venv;

/// What is told of every guest, before its world and after it.
const BEFORE: &[&str] = &["--quiet", "--wit-path=wit"];
const AFTER: &[&str] = &[
    "componentize",
    "--python-path=.",
    "--output=component.wasm",
    "tools",
];

const PYTHON: Language = python(&[BEFORE, &["--world=tool"], AFTER]);

/// With prompts, resources and completion.
const PYTHON_EVERYTHING: Language = python(&[BEFORE, &["--world=everything"], AFTER]);

const fn python(arguments: &'static [&'static [&'static str]]) -> Language {
    Language {
        compiler,
        arguments,
    }
}

pub(super) const GUESTS: [Foreign; 4] = [
    PYTHON.guest("python", "tests/guests/python"),
    PYTHON_EVERYTHING.guest("glossary", "examples/glossary"),
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
