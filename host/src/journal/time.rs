//! The clock that guests read.
//!
//! Invariant: it never goes back within a call, and is no finer than [`CLOCK_TICK`], so that a
//! guest which reads it in a loop fills its journal slowly, and a clock attack sees little.

use crate::limits::CLOCK_TICK;
use std::time::{SystemTime, UNIX_EPOCH};

/// Microseconds since the Unix epoch.
pub type Micros = u64;

/// Where live readings come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Time {
    /// The system's clock.
    #[default]
    System,
    /// A clock that stands still but for [`CLOCK_TICK`] a reading, and skips over what is slept: two
    /// runs with the same journal read the same times. For rehearsals of a tool.
    Rehearsed,
}

impl Time {
    /// A live reading by a call whose last one was `last`.
    #[must_use]
    pub fn read(self, last: Micros) -> Micros {
        let tick = CLOCK_TICK.as_micros() as Micros;
        match self {
            Self::System => last.max(system() / tick * tick),
            Self::Rehearsed => last.saturating_add(tick),
        }
    }

    /// How long a call has to wait, in real time, until a time.
    #[must_use]
    pub fn until(self, time: Micros) -> std::time::Duration {
        match self {
            Self::System => std::time::Duration::from_micros(time.saturating_sub(system())),
            Self::Rehearsed => std::time::Duration::ZERO,
        }
    }

    /// When a call that is told to start now starts.
    #[must_use]
    pub fn start(self) -> Micros {
        match self {
            Self::System => self.read(0),
            Self::Rehearsed => 1_700_000_000_000_000,
        }
    }
}

fn system() -> Micros {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    Micros::try_from(since.as_micros()).unwrap_or(Micros::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rehearsed_clock_does_not_go_back_after_the_longest_sleep() {
        for last in [0, Micros::MAX - 1, Micros::MAX] {
            assert!(Time::Rehearsed.read(last) >= last);
        }
    }
}
