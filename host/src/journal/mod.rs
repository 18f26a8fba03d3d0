//! Exact replay: what the host answered to one attempt of a handler, in order.
//!
//! Everything a guest can observe comes through imports that the host owns. What they answered is
//! kept as entries, so that a later run of the same handler is given the same answers, and goes the
//! same way up to where the entries end. Nothing here does I/O; time comes in through [`Time`].
//!
//! Invariants: an entry is answered from once, in its place; a run that asks for something else
//! than its journal holds ends with [`Diverged`]; random numbers need no entries, as they come from
//! the seed; what is kept is bounded.

mod entry;
mod origin;
mod random;
mod replay;
mod time;

#[cfg(test)]
mod replay_tests;

pub use entry::{AskRefused, Digest, Entry, RecordRefused, StartAnswer};
pub use origin::{Origin, Rehearsal, kill_this_process};
pub use random::{Positions, Random, Seed};
pub use replay::{Diverged, Effect, Fault, Journal, JournalOptions, Segment};
pub use time::{Micros, Time};
