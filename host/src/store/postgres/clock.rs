//! The clock by which leases end: the database's, which all nodes have in common.
//!
//! Invariant: a node whose own clock is wrong neither loses its lease by that nor takes others' away.

use crate::limits::CLOCK_SKEW;
use crate::task::{Millis, now};
use std::sync::atomic::AtomicI64;
use std::sync::atomic::Ordering::Relaxed;

/// By how much the database's clock is ahead of this machine's, milliseconds: none if it is less than
/// [`CLOCK_SKEW`].
#[derive(Default)]
pub(super) struct Clock(AtomicI64);

impl Clock {
    /// A time of this machine in the database's.
    pub(super) fn theirs(&self, ours: Millis) -> Millis {
        ours.saturating_add(self.0.load(Relaxed))
    }

    /// A time of the database in this machine's.
    pub(super) fn ours(&self, theirs: Millis) -> Millis {
        theirs.saturating_sub(self.0.load(Relaxed))
    }

    /// The database said that it is `theirs`, when it was asked at `asked`.
    pub(super) fn compare(&self, asked: Millis, theirs: Millis) {
        let skew = theirs - (asked + now()) / 2;
        let is_skewed = skew.unsigned_abs() >= CLOCK_SKEW.as_millis() as u64;
        let skew = if is_skewed { skew } else { 0 };
        let before = self.0.swap(skew, Relaxed);
        if is_skewed && before == 0 {
            tracing::warn!(
                "the database's clock is {skew} ms ahead of this machine's: keep both right (NTP), \
                 because tasks' times are those of the machines that set them"
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_difference_is_none() {
        let clock = Clock::default();
        let time = now();
        clock.compare(time, time + 700);
        assert_eq!(clock.theirs(5), 5);
        clock.compare(time, time - 90_000);
        assert!((clock.theirs(100_000) - 10_000).abs() < 1_000);
        assert_eq!(clock.ours(clock.theirs(7)), 7);
    }
}
