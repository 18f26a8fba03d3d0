//! How messages come and go: Streamable HTTP.
//!
//! `gate` decides what may become a message at all, `body` writes replies and streams, `http`
//! accepts connections and stops.

mod body;
mod gate;
mod http;

pub use http::{HttpTransport, ListenError};
