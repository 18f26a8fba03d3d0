//! Places that are counted: open streams, connections, bytes of bodies.
//!
//! Invariant: a place is taken from when it was given until its guard is dropped.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// So many places, and how many of them are taken; by default as many as are wanted. A clone
/// shares them.
#[derive(Clone, Debug, Default)]
pub struct Places {
    most: Option<usize>,
    taken: Arc<AtomicUsize>,
}

/// Taken places: one, unless more were taken. Dropping them leaves them to the next.
#[derive(Debug)]
pub struct Place {
    of: Places,
    amount: usize,
}

impl Places {
    /// So many; `None` is as many as are wanted.
    #[must_use]
    pub fn new(most: Option<usize>) -> Self {
        Self {
            most,
            taken: Arc::default(),
        }
    }

    /// How many are taken now.
    #[must_use]
    pub fn taken(&self) -> usize {
        self.taken.load(Ordering::Relaxed)
    }

    /// Takes one, unless all are taken.
    #[must_use]
    pub fn take(&self) -> Option<Place> {
        let mut place = self.none();
        place.more(1).then_some(place)
    }

    /// Takes none yet.
    #[must_use]
    pub fn none(&self) -> Place {
        Place {
            of: self.clone(),
            amount: 0,
        }
    }
}

impl Place {
    /// Takes so many more; none of them, and false, unless all are free.
    #[must_use]
    pub fn more(&mut self, amount: usize) -> bool {
        let Places { most, taken } = &self.of;
        let before = taken.fetch_add(amount, Ordering::Relaxed);
        let fits = most.is_none_or(|most| before.saturating_add(amount) <= most);
        if fits {
            self.amount += amount;
        } else {
            taken.fetch_sub(amount, Ordering::Relaxed);
        }
        fits
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.of.taken.fetch_sub(self.amount, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_free_again_when_its_guard_is_gone() {
        let places = Places::new(Some(2));
        let (first, second) = (places.take(), places.take());
        assert!(first.is_some() && second.is_some());
        assert!(places.take().is_none() && places.take().is_none());
        drop(first);
        assert!(places.take().is_some(), "a refusal takes nothing");
        assert!(Places::new(Some(0)).take().is_none());
        let endless = Places::new(None);
        let taken: Vec<_> = (0..100).map_while(|_| endless.take()).collect();
        assert_eq!((taken.len(), endless.taken()), (100, 100));
    }

    #[test]
    fn a_guard_grows_while_there_is_room() {
        let places = Places::new(Some(10));
        let mut guard = places.none();
        assert!(guard.more(4) && !guard.more(7) && guard.more(6));
        assert!(!guard.more(1) && !guard.more(usize::MAX) && places.take().is_none());
        drop(guard);
        assert!(places.none().more(10), "all are free again");
    }
}
