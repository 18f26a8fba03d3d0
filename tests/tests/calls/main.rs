//! Calls that are answered at once, and the two methods that describe the server: what a client
//! sees of tools, their results, their faults and their limits.

#![allow(
    clippy::expect_used,
    reason = "a test that meets the unexpected should fail, saying so"
)]

mod arguments;
mod describe;
mod faults;
mod limits;
mod questions;
mod request_state;
mod results;
mod streams;
