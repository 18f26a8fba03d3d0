//! The guest in JavaScript: QuickJS, with the loaded script in its memory.

use std::process::Command;

use anyhow::Result;

use super::foreign::Foreign;
use crate::checkout::Checkout;
use crate::node;

pub(super) const GUEST: Foreign = Foreign {
    name: "js",
    folder: "tests/guests/js",
    compiler,
    arguments: &[
        // The host calls exports of the ordinary, synchronous kind.
        "--sync",
        "--opt-size",
        "--wit=wit",
        "--world=guest",
        "--js=tools.js",
        "--output=component.wasm",
    ],
};

fn compiler(checkout: &Checkout, folder: &str) -> Result<Command> {
    let packages = node::install(checkout, folder, "js")?;
    Ok(Command::new(packages.join(".bin/componentize-qjs")))
}
