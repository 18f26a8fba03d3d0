//! Clients of revisions before 2026-07-28 over HTTP, and clients of any revision on standard input.

#![allow(
    clippy::expect_used,
    reason = "a test that meets the unexpected should fail, saying so"
)]

mod calls;
mod many;
mod offers;
mod session;
mod sessions;
mod stdio;
mod stream;
