//! Attacks. Each tool tries one thing that a sandbox must bear: to take the machine, to stay, to fill
//! the server's memory, to lie about its answer, to see what is not its own.
//!
//! A tool that may become a task does so for every client that knows tasks, so that the client decides
//! whether the attack runs inline or in a task.

mod floods;
mod fresh;
mod huge;
mod loops;
mod malformed;
mod memory;
mod spy;

use cofferdam_guest::prelude::*;

/// Becomes a task if the client knows them.
fn begin(call: &Call) -> Result<()> {
    call.start_task(TaskOptions::new())?;
    Ok(())
}

cofferdam_guest::export!(
    loops::spin,
    loops::deaf,
    loops::doze,
    memory::swell,
    memory::recurse,
    huge::shout,
    floods::log_lines,
    floods::reports,
    floods::ask_at_once,
    floods::ask_in_a_row,
    floods::random,
    floods::clocks,
    floods::hold,
    floods::poll_many,
    floods::recall_many,
    malformed::malformed,
    malformed::promise,
    malformed::panics,
    spy::leave,
    spy::look,
);
