//! What a server tells its operators while it works: traces by OTLP, and log lines as JSON.

#![allow(
    clippy::expect_used,
    reason = "a test that meets the unexpected should fail, saying so"
)]

mod collector;
mod logs;
mod traces;
