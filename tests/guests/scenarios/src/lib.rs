//! The scenarios in Rust, which those in other languages are held against (`README.md`).
//!
//! Invariant: what a tool answers depends on its arguments and its answers only.

mod plain;
mod questions;
mod replay;
mod tasks;

use cofferdam_guest::prelude::*;

cofferdam_guest::export!(
    plain::contents,
    plain::add,
    plain::misfit,
    plain::strict,
    plain::refuse,
    plain::fault,
    plain::crash,
    tasks::count,
    tasks::say,
    questions::confirm,
    questions::sequence,
    questions::two_keys,
    tasks::nap,
    tasks::linger,
    replay::random,
    replay::clock,
    replay::steps,
);

/// Whether the call becomes a task before anything else.
#[derive(Clone, Copy, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Phase {
    #[default]
    Inline,
    Task,
}

impl Phase {
    /// Becomes a task, if the tool is to work as one.
    fn begin(self, call: &Call) -> Result<()> {
        if self == Self::Task {
            call.start_task(TaskOptions::new())?;
        }
        Ok(())
    }
}
