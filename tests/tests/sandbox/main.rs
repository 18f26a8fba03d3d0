//! The walls of the sandbox: what a component sees of the machine, and what it can take from it.

#![allow(
    clippy::expect_used,
    reason = "a test that meets the unexpected should fail, saying so"
)]

mod components;
mod grants;
mod outbound;
mod quotas;
mod wasi;
