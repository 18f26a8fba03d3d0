//! What the instances of one tenant use together: memory and CPU time.
//!
//! Invariants: what an instance holds of an account goes back when the instance goes, however it
//! ends; CPU time is charged as it is used, and what was used beyond the budget is paid back before
//! anything more runs.

use super::load::Recent;
use crate::limits::EPOCH;
use crate::places::Places;
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// The accounts of a tenant; one that is not there is not limited.
#[derive(Clone, Debug, Default)]
pub struct Accounts {
    /// Linear memory.
    pub memory: Option<Arc<MemoryAccount>>,
    /// CPU time.
    pub cpu: Option<Arc<CpuBudget>>,
    /// Connections to other servers.
    pub connections: Places,
    /// CPU time of late.
    pub recent: Arc<Recent>,
}

/// Linear memory of all instances together.
#[derive(Debug)]
pub struct MemoryAccount {
    key: Arc<str>,
    limit: usize,
    used: AtomicUsize,
}

impl MemoryAccount {
    /// An account of so many bytes. `key` names the limit in refusals.
    #[must_use]
    pub fn new(key: impl Into<Arc<str>>, limit: usize) -> Self {
        Self {
            key: key.into(),
            limit,
            used: AtomicUsize::new(0),
        }
    }

    pub(super) fn key(&self) -> &Arc<str> {
        &self.key
    }

    pub(super) fn limit(&self) -> usize {
        self.limit
    }

    /// Takes so many bytes, unless there are not so many left.
    pub(super) fn take(&self, bytes: usize) -> bool {
        let more = |used: usize| used.checked_add(bytes).filter(|used| *used <= self.limit);
        self.used
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, more)
            .is_ok()
    }

    pub(super) fn give_back(&self, bytes: usize) {
        self.used.fetch_sub(bytes, Ordering::Relaxed);
    }
}

/// CPU time of all runs together: a bucket that holds the time of one minute, and fills evenly.
#[derive(Debug)]
pub struct CpuBudget {
    key: Arc<str>,
    /// Milliseconds.
    per_minute: u64,
    level: Mutex<Level>,
}

#[derive(Debug)]
struct Level {
    /// Nanoseconds; below 0 is debt.
    left: f64,
    at: Instant,
}

impl CpuBudget {
    /// A full bucket of so many milliseconds, at least 1. `key` names the limit in refusals.
    #[must_use]
    pub fn new(key: impl Into<Arc<str>>, per_minute: u64) -> Self {
        let per_minute = per_minute.max(1);
        Self {
            key: key.into(),
            per_minute,
            level: Mutex::new(Level {
                left: nanos(per_minute),
                at: Instant::now(),
            }),
        }
    }

    pub(super) fn key(&self) -> &Arc<str> {
        &self.key
    }

    pub(super) fn per_minute(&self) -> u64 {
        self.per_minute
    }

    /// CPU time was used.
    pub(super) fn charge(&self, used: Duration, now: Instant) {
        let mut level = self.level.lock();
        self.fill(&mut level, now);
        level.left -= used.as_nanos() as f64;
    }

    /// If the bucket is empty: the time until it holds enough to be worth running again.
    pub(super) fn wait(&self, now: Instant) -> Option<Duration> {
        let mut level = self.level.lock();
        self.fill(&mut level, now);
        if level.left > 0.0 {
            return None;
        }
        let worth = (EPOCH.as_nanos() as f64).min(nanos(self.per_minute));
        let missing = (worth - level.left) / self.rate();
        // Rounded up: who waits so long finds it filled.
        Some(Duration::from_nanos(missing as u64 + 1))
    }

    /// Waits until there is some.
    pub(super) async fn ready(&self) {
        while let Some(wait) = self.wait(Instant::now()) {
            tokio::time::sleep(wait).await;
        }
    }

    /// CPU time that comes in a unit of time.
    fn rate(&self) -> f64 {
        self.per_minute as f64 / 60_000.0
    }

    fn fill(&self, level: &mut Level, now: Instant) {
        let passed = now.saturating_duration_since(level.at);
        level.at = level.at.max(now);
        let filled = level.left + passed.as_nanos() as f64 * self.rate();
        level.left = filled.min(nanos(self.per_minute));
    }
}

fn nanos(millis: u64) -> f64 {
    millis as f64 * 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_taken_up_to_the_limit_and_comes_back() {
        let account = MemoryAccount::new("k", 100);
        assert!(account.take(60) && !account.take(41) && account.take(40));
        assert!(!account.take(1) && !account.take(usize::MAX));
        account.give_back(60);
        assert!(account.take(60));
    }

    #[test]
    fn a_bucket_holds_a_minute_and_fills_evenly() {
        let budget = CpuBudget::new("k", 6_000);
        let start = Instant::now();
        let (second, millis) = (Duration::from_secs(1), Duration::from_millis);
        assert_eq!(budget.wait(start), None);
        budget.charge(6 * second, start);
        // 100 ms come in a second, so 2 ms in 20 ms.
        let wait = budget.wait(start).unwrap();
        assert!(wait >= millis(20) && wait < millis(21), "{wait:?}");
        assert_eq!(budget.wait(start + wait), None);
        // Whatever time passes, it never holds more than a minute's.
        let later = start + 1_000 * second;
        budget.charge(6 * second, later);
        assert!(budget.wait(later).is_some());
    }

    #[test]
    fn what_was_used_too_much_is_paid_back_first() {
        let budget = CpuBudget::new("k", 60_000);
        let start = Instant::now();
        budget.charge(Duration::from_secs(65), start);
        let wait = budget.wait(start).unwrap();
        assert!(wait >= Duration::from_secs(5) && wait < Duration::from_secs(6));
        assert!(budget.wait(start + Duration::from_secs(4)).is_some());
        assert_eq!(budget.wait(start + wait), None);
    }

    #[test]
    fn a_small_budget_loses_nothing_to_rounding() {
        let budget = CpuBudget::new("k", 1);
        let start = Instant::now();
        budget.charge(Duration::from_millis(2), start);
        for step in 1..=100_000_u32 {
            budget.charge(Duration::ZERO, start + Duration::from_millis(1) * step);
        }
        let end = start + Duration::from_secs(100);
        assert_eq!(budget.wait(end), None, "a minute paid the debt");
    }
}
