//! Requests to other servers, for guests that were granted them.
//!
//! Invariants: a host is checked by its name, and every address of it again; the address that was
//! checked is the one that is dialled; redirects are answers like others. A connection serves one
//! request of one call.

mod answer;
mod client;
mod dial;

pub use answer::{Answer, Failure, head};
pub use client::{Asked, send};
pub use dial::{DialError, resolve};
