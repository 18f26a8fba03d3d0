//! One call of what a component offers: it runs inline while its client waits, or, a tool's, detached as
//! a task.
//!
//! `target` is what is called; `session` is the call's state; `verbs`, `start` and `ask` are what its guest does to it; `drive`
//! lets the instance run, and moves it from the request to a task of its own when the request is
//! answered early; `worker` runs tasks that no request waits for; `events` is what a request streams
//! before its reply, `request_state` what its client keeps between two requests of one call, `sealer`
//! how that is kept from being read or changed.

mod ask;
mod drive;
mod events;
mod progress;
mod ready;
mod request_state;
mod sealer;
mod session;
mod start;
mod target;
mod verbs;
mod worker;

pub use drive::Driver;
pub use events::{Events, EventsClosed};
pub use request_state::{Call, Question, Resumed, SealedCall, StateError};
pub use sealer::Sealer;
pub use session::{CallTimes, Reply, Session, SessionOptions, begin};
pub use target::{Complete, Read, Target, unknown_resource};
pub use worker::Worker;
