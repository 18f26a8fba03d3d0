//! Who calls, and what each caller may: configurations, tokens, tenants and what is whose. Nothing
//! here is listed or told to somebody else, and no tenant can take what is another's.

#![allow(
    clippy::expect_used,
    reason = "a test that meets the unexpected should fail, saying so"
)]

mod bearer;
mod config;
mod jwt;
mod keys;
mod ownership;
mod quotas;
mod refusals;
mod shares;
mod sources;
mod two;
mod visible;
