//! Attacks by tools and by clients, each while a neighbour of another tenant goes about its business
//! (`Arena`): the attack ends as the limits say, and the neighbour does not notice.

#![allow(
    clippy::expect_used,
    reason = "a test that meets the unexpected should fail, saying so"
)]

mod arena;
mod clients;
mod end;
mod floods;
mod foreign;
mod huge;
mod loops;
mod malformed;
mod memory;
mod network;
mod spy;
