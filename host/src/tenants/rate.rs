//! So many in a second.
//!
//! Invariant: in each second, counted from the first in it, no more pass than may.

use parking_lot::Mutex;
use std::time::{Duration, Instant};

const SECOND: Duration = Duration::from_secs(1);

/// Lets so many pass in a second.
#[derive(Debug)]
pub struct Rate {
    most: u32,
    /// When the present second began, and how many passed in it.
    window: Mutex<Option<(Instant, u32)>>,
}

/// Too many in this second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooOften {
    /// When the next second begins.
    pub next: Instant,
    /// The first that was held up in its second.
    pub first: bool,
}

impl Rate {
    /// So many.
    #[must_use]
    pub fn new(most: u32) -> Self {
        Self {
            most,
            window: Mutex::default(),
        }
    }

    /// Passes one more.
    ///
    /// # Errors
    /// `TooOften`.
    pub fn pass(&self, now: Instant) -> Result<(), TooOften> {
        let mut window = self.window.lock();
        let (start, count) = match *window {
            Some((start, count)) if now < start + SECOND => (start, count),
            _ => (now, 0),
        };
        *window = Some((start, count.saturating_add(1)));
        if count < self.most {
            return Ok(());
        }
        Err(TooOften {
            next: start + SECOND,
            first: count == self.most,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn so_many_pass_in_a_second() {
        let rate = Rate::new(3);
        let now = Instant::now();
        let later = now + Duration::from_millis(999);
        assert_eq!(rate.pass(now), Ok(()));
        let passed = (0..100).filter(|_| rate.pass(later).is_ok()).count();
        assert_eq!(passed, 2);
        let refused = rate.pass(later).unwrap_err();
        assert_eq!((refused.next, refused.first), (now + SECOND, false));
        assert!(rate.pass(refused.next).is_ok());
        let none = Rate::new(0);
        assert_eq!(
            none.pass(now),
            Err(TooOften {
                next: now + SECOND,
                first: true
            })
        );
    }
}
