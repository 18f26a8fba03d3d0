//! Published clients against the real server. Those that know tasks go through the same four things: a
//! call that is answered at once, a task to its end, a task that asks a question, and a cancelled task.
//! The SDKs go, in each era and by each transport, through what clients of every revision can do.

#![allow(
    clippy::expect_used,
    reason = "a test that meets the unexpected should fail, saying so"
)]

mod eras;
mod ext_tasks;
mod inspector;
mod rust_sdk;
