//! Tasks: the Tasks extension (SEP-2663) as a client meets it. Every message on the way is checked
//! against the schemas of the harness.

#![allow(
    clippy::expect_used,
    reason = "a test that meets the unexpected should fail, saying so"
)]

mod attempts;
mod cancel;
mod create;
mod expiry;
mod get;
mod input;
mod listen;
mod listen_filter;
mod negotiation;
mod parking;
mod postgres;
mod replay;
mod restart;
mod secrecy;
mod stores;
mod verbs;
