//! Published clients against the real server, each through the same four things: a call that is
//! answered at once, a task to its end, a task that asks a question, and a cancelled task.

#![allow(
    clippy::expect_used,
    reason = "a test that meets the unexpected should fail, saying so"
)]

mod ext_tasks;
mod inspector;
mod rust_sdk;
