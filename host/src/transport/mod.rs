//! How messages come and go: Streamable HTTP, and standard input and output.
//!
//! `gate` decides what may become a message at all, `cors` which pages may read the answer, `receive`
//! takes bodies in, `body` writes replies and streams, `patience` ends a write that nobody takes, `hold`
//! counts what is on its way, `http` accepts connections and stops. `stdio` is all there is of the other.

mod body;
mod cors;
mod gate;
mod hold;
mod http;
mod patience;
mod receive;
mod stdio;

pub(crate) use gate::{Refusal, check_source};
pub use http::{HttpTransport, ListenError};
pub(crate) use patience::Patient;
pub use stdio::StdioTransport;
