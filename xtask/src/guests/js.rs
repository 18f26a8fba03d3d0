//! Guests in JavaScript, with the loaded script in their memory: on QuickJS, which is small and has the
//! language and nothing else, and on StarlingMonkey, which has the interfaces of the web.

use std::process::Command;

use anyhow::Result;

use super::foreign::{Foreign, Language};
use crate::checkout::Checkout;
use crate::node;

/// What QuickJS is told for every guest.
const SHARED: &[&str] = &[
    // The host calls exports of the ordinary, synchronous kind.
    "--sync",
    "--opt-size",
    "--wit=cofferdam/wit",
    "--js=tools.js",
    "--output=component.wasm",
];

const QUICKJS: Language = quickjs(&[SHARED, &["--world=guest"]]);

/// With prompts, resources and completion.
const QUICKJS_EVERYTHING: Language = quickjs(&[SHARED, &["--world=everything"]]);

const fn quickjs(arguments: &'static [&'static [&'static str]]) -> Language {
    Language {
        compiler: |checkout| program(checkout, "examples/contacts", "js", "componentize-qjs"),
        arguments,
    }
}

const STARLING_MONKEY: Language = Language {
    compiler: |checkout| program(checkout, "examples/links", "js-web", "componentize-js"),
    arguments: &[&[
        "tools.js",
        "--wit=cofferdam/wit",
        "--world-name=guest",
        "--disable=fetch-event",
        "--out=component.wasm",
    ]],
};

/// What both engines run.
const ECHO: &str = "tests/guests/echo-js";

pub(super) const GUESTS: [Foreign; 4] = [
    QUICKJS.guest("js", "tests/guests/js"),
    QUICKJS.guest("contacts", "examples/contacts"),
    QUICKJS_EVERYTHING.guest("phrasebook", "examples/phrasebook"),
    // The benchmark names it.
    QUICKJS.guest("echo-js", ECHO).on_demand(),
];

pub(super) const WEB_GUESTS: [Foreign; 3] = [
    STARLING_MONKEY.guest("js-web", "tests/guests/js-web"),
    STARLING_MONKEY.guest("echo-js-web", ECHO).on_demand(),
    // Its tool is in the one above, too: such components are large.
    STARLING_MONKEY.guest("links", "examples/links").on_demand(),
];

fn program(checkout: &Checkout, pins: &str, tools: &str, name: &str) -> Result<Command> {
    let packages = node::install(checkout, pins, tools)?;
    Ok(Command::new(packages.join(".bin").join(name)))
}
