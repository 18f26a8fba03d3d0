//! Places that are counted: open streams, connections.
//!
//! Invariant: a place is taken from when it was given until its guard is dropped.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// So many places, and how many of them are taken. A clone shares them.
#[derive(Clone, Debug)]
pub struct Places {
    most: Option<usize>,
    taken: Arc<AtomicUsize>,
}

/// A taken place. Dropping it leaves it to the next.
#[derive(Debug)]
pub struct Place(Arc<AtomicUsize>);

impl Places {
    /// So many; `None` is as many as are wanted.
    #[must_use]
    pub fn new(most: Option<usize>) -> Self {
        Self {
            most,
            taken: Arc::default(),
        }
    }

    /// Takes one, unless all are taken.
    #[must_use]
    pub fn take(&self) -> Option<Place> {
        let before = self.taken.fetch_add(1, Ordering::Relaxed);
        // Its drop takes it back.
        let place = Place(Arc::clone(&self.taken));
        self.most.is_none_or(|most| before < most).then_some(place)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
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
        assert_eq!(taken.len(), 100);
    }
}
