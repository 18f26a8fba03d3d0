//! Tasks: the durable records of calls that take long (SEP-2663).
//!
//! `state` is the pure machine, `service` what clients and runs ask of it, `runs` what runs here, `node`
//! how several processes share the tasks of one store, `listeners` which clients hear of changes and `notify` who else does, `janitor` what
//! time does to tasks.

mod id;
mod janitor;
mod listeners;
mod node;
mod notify;
mod record;
mod runs;
mod service;
mod state;
#[cfg(test)]
mod state_tests;
mod wire;

pub use id::TaskId;
pub use janitor::Janitor;
pub use listeners::{Listener, Listeners};
pub use node::NodeOptions;
pub use notify::Notifier;
pub use record::{
    Answered, Claim, Fence, Inputs, Job, Millis, NewTask, NodeId, Outcome, Principal, Retention,
    Setup, Status, Task, Wait, Writes, request_digest,
};
pub use runs::Signals;
pub(crate) use service::now;
pub use service::{ReportError, TaskError, Tasks, Wake};
pub use state::{Change, Event, Failure, Refusal, apply, check_requests, too_many_inputs};
#[cfg(test)]
pub(crate) use state_tests::task as example_task;
pub use wire::TaskView;
pub(crate) use wire::iso;
