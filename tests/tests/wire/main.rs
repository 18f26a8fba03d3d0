//! The wire: what the server makes of every kind of HTTP request and JSON-RPC message, before any
//! tool is called.

#![allow(
    clippy::expect_used,
    reason = "a test that meets the unexpected should fail, saying so"
)]

mod accept;
mod arguments;
mod bodies;
mod framing;
mod headers;
mod ids;
mod ladder;
mod methods;
mod origins;
mod params;
