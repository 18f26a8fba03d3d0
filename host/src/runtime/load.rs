//! Who used how much CPU time of late.
//!
//! Invariant: a tenant that uses much of it makes room for others as soon as there are others, and whoever
//! uses little never does. Short calls are polled in the order in which their requests came: it is their
//! tenant's use together that others would wait for.

use crate::limits::{BUSY_SHARE, BUSY_WINDOW, EPOCH, OTHERS_REMEMBERED};
use std::num::NonZero;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread;

/// CPU time that a tenant's runs used in the present window and in the one before, nanoseconds. Without a
/// lock: where threads meet at the end of a window, some of it may count in the next.
#[derive(Debug, Default)]
pub struct Recent {
    window: AtomicU64,
    present: AtomicU64,
    before: AtomicU64,
}

impl Recent {
    fn add(&self, window: u64, nanos: u64) {
        let last = self.window.swap(window, Ordering::Relaxed);
        if last == window {
            self.present.fetch_add(nanos, Ordering::Relaxed);
            return;
        }
        let present = self.present.swap(nanos, Ordering::Relaxed);
        let before = if last + 1 == window { present } else { 0 };
        self.before.store(before, Ordering::Relaxed);
    }

    fn sum(&self, window: u64) -> u64 {
        let present = self.present.load(Ordering::Relaxed);
        match window.saturating_sub(self.window.load(Ordering::Relaxed)) {
            0 => present + self.before.load(Ordering::Relaxed),
            1 => present,
            _ => 0,
        }
    }
}

/// Of all tenants.
#[derive(Debug)]
pub(super) struct Load {
    /// Epochs in which guests ran.
    epochs: AtomicU64,
    /// CPU time in two windows from which on a tenant uses much, nanoseconds.
    much: u64,
    /// Whose request came last: an address, which is only compared.
    last: AtomicUsize,
    /// The epoch in which that was another tenant's than before.
    changed: AtomicU64,
}

/// No tenant's request followed another's yet.
const NEVER: u64 = u64::MAX;

impl Load {
    pub(super) fn new() -> Self {
        let cores = thread::available_parallelism().map_or(1, NonZero::get);
        let window = EPOCH.as_nanos() as u64 * BUSY_WINDOW;
        Self {
            epochs: AtomicU64::new(0),
            much: window * cores as u64 / BUSY_SHARE,
            last: AtomicUsize::new(0),
            changed: AtomicU64::new(NEVER),
        }
    }

    /// An epoch is over.
    pub(super) fn tick(&self) {
        self.epochs.fetch_add(1, Ordering::Relaxed);
    }

    /// A request of this tenant came.
    pub(super) fn seen(&self, tenant: &Arc<Recent>) {
        let whose = Arc::as_ptr(tenant).addr();
        let last = self.last.load(Ordering::Relaxed);
        if last != whose {
            self.last.store(whose, Ordering::Relaxed);
            if last != 0 {
                let now = self.epochs.load(Ordering::Relaxed);
                self.changed.store(now, Ordering::Relaxed);
            }
        }
    }

    /// True if a tenant uses much, and is to make room for others.
    pub(super) fn is_much(&self, tenant: &Recent) -> bool {
        let now = self.epochs.load(Ordering::Relaxed);
        let changed = self.changed.load(Ordering::Relaxed);
        changed != NEVER
            && now.saturating_sub(changed) < OTHERS_REMEMBERED
            && tenant.sum(now / BUSY_WINDOW) > self.much
    }

    /// A run of this tenant used CPU time.
    pub(super) fn add(&self, tenant: &Recent, nanos: u64) {
        let now = self.epochs.load(Ordering::Relaxed);
        tenant.add(now / BUSY_WINDOW, nanos);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pass(load: &Load, epochs: u64) {
        (0..epochs).for_each(|_| load.tick());
    }

    #[test]
    fn who_uses_much_makes_room_while_there_are_others() {
        let load = Load::new();
        let (heavy, light) = (Arc::<Recent>::default(), Arc::<Recent>::default());
        for _ in 0..100 {
            load.seen(&heavy);
            load.add(&heavy, load.much);
            assert!(!load.is_much(&heavy), "it is alone");
        }
        load.seen(&light);
        load.add(&light, load.much / 10);
        assert!(load.is_much(&heavy));
        assert!(!load.is_much(&light));
        pass(&load, BUSY_WINDOW);
        assert!(load.is_much(&heavy), "the window before counts");
        pass(&load, BUSY_WINDOW);
        assert!(!load.is_much(&heavy), "it used nothing of late");
        load.seen(&heavy);
        for _ in 0..OTHERS_REMEMBERED {
            load.add(&heavy, load.much + 1);
            assert!(load.is_much(&heavy));
            pass(&load, 1);
        }
        assert!(!load.is_much(&heavy), "it is alone again");
    }

    #[test]
    fn what_was_used_is_remembered_for_two_windows() {
        let recent = Recent::default();
        recent.add(7, 3);
        recent.add(7, 4);
        assert_eq!([7, 8, 9].map(|at| recent.sum(at)), [7, 7, 0]);
        recent.add(8, 10);
        assert_eq!([8, 9, 10].map(|at| recent.sum(at)), [17, 10, 0]);
        recent.add(20, 1);
        assert_eq!([20, 21].map(|at| recent.sum(at)), [1, 1]);
    }
}
