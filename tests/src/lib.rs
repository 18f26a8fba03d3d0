//! The harness of the end-to-end tests: the real binary on a port of its own, real components, and a
//! client that can also do everything a client should not.
//!
//! A test starts its own [`Server`], takes a [`Client`] from it and sends [`Call`]s. Whatever
//! comes back is checked against the hand-written schemas in `tests/schemas/` before the test sees
//! it, so each test checks the shape of every message beside what it is about. Helpers panic with
//! a message that names what was sent and what came; nothing here waits by sleeping when a line,
//! a response or a stream can be waited for.

#![allow(
    clippy::expect_used,
    reason = "a test that meets the unexpected should fail, saying so"
)]

mod arena;
mod asked;
mod call;
mod client;
mod command;
mod config;
mod document;
mod files;
mod http;
mod listen;
mod log;
mod memory;
mod neighbour;
mod pipe;
mod raw;
mod registry;
mod schema;
mod server;
pub mod shop;
mod sse;
mod store;
mod subjects;
mod task;
mod upstream;

pub use arena::{Arena, Terms};
pub use asked::{Asked, accept};
pub use call::{Answer, Call};
pub use client::{Client, Declares, META, TASKS, VERSION};
pub use command::{Ended, Program, cofferdam};
pub use config::{Config, Identity, check_config, token};
pub use document::Document;
use files::xtask;
pub use files::{
    binary, build_folder, compiler_if_installed, guest, guest_if_built, node, node_modules, python,
    root, rustc,
};
pub use http::{KeptAlive, Request, Response};
pub use listen::{Heard, Listen};
pub use log::Log;
pub use memory::Memory;
pub use pipe::Pipe;
pub use raw::raw;
pub use registry::{DockerConfig, Registry, USER};
pub use schema::{Kind, check, fits};
pub use server::{Options, Running, Server};
pub use sse::{Event, Events};
pub use store::sql;
pub use subjects::{Subject, subjects};
pub use task::{FINAL, Task, bare};
pub use upstream::{Seen, Upstream};

use std::time::Duration;

/// How long anything may take before a test gives up on it. Long enough for a busy machine: only
/// a hang reaches it.
pub const PATIENCE: Duration = Duration::from_secs(40);

/// Awaits `future` for at most [`PATIENCE`].
///
/// # Panics
/// When the time is over, naming `what` was waited for.
pub async fn patient<T>(what: &str, future: impl Future<Output = T>) -> T {
    match tokio::time::timeout(PATIENCE, future).await {
        Ok(value) => value,
        Err(_) => panic!("waited {PATIENCE:?} in vain for {what}"),
    }
}
