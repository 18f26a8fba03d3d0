//! What the operator asks of a running server, at an address of its own: how it is, what it counts, and
//! to look at its components again.
//!
//! Invariants: nothing here tells contents, arguments, ids or owners of tasks: there are the names of
//! tools, components and tenants, and counts. It answers on a thread of its own and waits for nothing
//! that callers can hold up; who connects and says nothing gives way to who comes. A page in a browser
//! gets 403, whatever it asks for, but for the console.
//!
//! `http` is the address, `gate` who may ask, `answer` what a request comes to; `status`, `history` and
//! `text` are what is told, for people, for the console's charts and for Prometheus.

mod answer;
mod console;
mod gate;
mod history;
mod http;
mod process;
mod status;
mod text;

pub use http::{Admin, AdminError, AdminServer};
pub use status::{
    Component, Connections, Instances, LatencyMillis, Listens, Node, Status, Tasks, Tenant, Tool,
};

use crate::auth::Auth;

/// The address unless another one is configured.
pub const DEFAULT_ADDRESS: &str = "127.0.0.1:8081";

/// Where the operator is answered, and how it is known.
pub struct AdminOptions {
    /// A name or a number, and a port.
    pub listen: String,
    /// The one token that is good here; or none is needed.
    pub auth: Auth,
}
