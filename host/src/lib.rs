//! Cofferdam: an MCP server whose tools are untrusted WebAssembly components, and whose long calls
//! are tasks.
//!
//! Data goes one way: [`transport`] → [`protocol`] → [`server`] → [`catalog`] → [`call`] →
//! [`runtime`] and [`task`] → [`store`]. `protocol` and the task state machine are pure.

pub mod admin;
pub mod auth;
pub mod builder;
pub mod call;
pub mod catalog;
pub mod commands;
pub mod config;
pub mod files;
pub mod folders;
pub mod grants;
pub mod journal;
pub mod limits;
pub mod metrics;
pub mod outbound;
pub mod places;
pub mod protocol;
pub mod registry;
pub mod rehearse;
pub mod runtime;
pub mod serve;
pub mod server;
pub mod settings;
pub mod signature;
pub mod store;
pub mod task;
pub mod telemetry;
pub mod tenants;
pub mod transport;
pub mod webhook;
