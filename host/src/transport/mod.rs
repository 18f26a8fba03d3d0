//! How messages come and go: Streamable HTTP.
//!
//! `gate` decides what may become a message at all, `cors` which pages may read the answer, `body`
//! writes replies and streams, `http` accepts connections and stops.

mod body;
mod cors;
mod gate;
mod http;

pub use http::{HttpTransport, ListenError};
