//! Guests in C: Clang and the C library for WASI, as zig brings them.

use std::process::Command;

use anyhow::Result;

use super::foreign::{Foreign, Language};
use crate::checkout::Checkout;
use crate::venv;

/// What every guest in C is compiled with.
const SHARED: &[&str] = &[
    "cc",
    "--target=wasm32-wasi",
    "-mexec-model=reactor",
    "-std=gnu17",
    "-Wall",
    "-Wextra",
    "-Werror",
    "-Os",
    "-s",
    "-Icofferdam",
    "-ocomponent.wasm",
    "tools.c",
    "cofferdam/cofferdam.c",
    "cofferdam/ask.c",
    "cofferdam/result.c",
    "cofferdam/json.c",
];

const C: Language = Language {
    compiler,
    arguments: &[
        SHARED,
        &[
            "cofferdam/gen/tool.c",
            "cofferdam/gen/tool_component_type.o",
        ],
    ],
};

/// With prompts, resources and completion.
const C_EVERYTHING: Language = Language {
    compiler,
    arguments: &[
        SHARED,
        &[
            "-DCD_OFFERS",
            "cofferdam/offers/changes.c",
            "cofferdam/offers/completion.c",
            "cofferdam/offers/prompts.c",
            "cofferdam/offers/read.c",
            "cofferdam/offers/resources.c",
            "cofferdam/offers/shared.c",
            "cofferdam/gen/everything.c",
            "cofferdam/gen/everything_component_type.o",
        ],
    ],
};

pub(super) const GUESTS: [Foreign; 4] = [
    C.guest("c", "tests/guests/c"),
    C.guest("chart", "examples/chart"),
    C_EVERYTHING.guest("offers-c", "tests/guests/offers-c"),
    C_EVERYTHING.guest("units", "examples/units"),
];

fn compiler(checkout: &Checkout) -> Result<Command> {
    let environment = venv::install(checkout, "examples/chart", "c")?;
    let mut zig = environment.module("ziglang");
    // Nothing is kept outside.
    let cache = checkout.target.join("tools/c/cache");
    zig.env("ZIG_GLOBAL_CACHE_DIR", &cache);
    zig.env("ZIG_LOCAL_CACHE_DIR", cache);
    Ok(zig)
}
