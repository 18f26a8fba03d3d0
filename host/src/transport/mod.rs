//! How messages come and go: Streamable HTTP.
//!
//! `gate` decides what may become a message at all, `cors` which pages may read the answer, `receive`
//! takes bodies in, `body` writes replies and streams, `patience` ends a write that nobody takes, `hold`
//! counts what is on its way, `http` accepts connections and stops.

mod body;
mod cors;
mod gate;
mod hold;
mod http;
mod patience;
mod receive;

pub(crate) use gate::{Refusal, check_source};
pub use http::{HttpTransport, ListenError};
pub(crate) use patience::Patient;
