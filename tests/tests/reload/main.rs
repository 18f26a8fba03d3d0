//! Components that come, change and go while the server runs. Every message on the way is checked
//! against the schemas of the harness.

#![allow(
    clippy::expect_used,
    reason = "a test that meets the unexpected should fail, saying so"
)]

mod cache;
mod files;
mod load;
mod many;
mod pinning;
mod signed;
