//! Several nodes on one database: whatever a client asks, any of them answers, and what one leaves
//! behind another one ends.

#![allow(
    clippy::expect_used,
    reason = "a test that meets the unexpected should fail, saying so"
)]

mod cluster;
mod components;
mod deploy;
mod kills;
mod leases;
mod outage;
mod races;
mod together;
