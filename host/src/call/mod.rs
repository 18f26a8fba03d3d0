//! One `tools/call`: it runs inline while its client waits, or detached as a task.
//!
//! `session` is what the guest's verbs do to the call, `drive` lets the instance run and moves it
//! from the request to a task of its own when the request is answered early, `events` what the
//! request streams before its reply.

mod drive;
mod events;
mod progress;
mod session;

pub use drive::{RunTimes, run};
pub use events::{Events, EventsClosed};
pub use session::{Reply, Session, SessionOptions};
