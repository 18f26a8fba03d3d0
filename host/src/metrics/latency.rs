//! How long calls take: counted in buckets that grow with the time.
//!
//! Invariant: a time is told too long by a sixteenth at most, never too short; recording one is a few
//! additions, and whoever reads holds up nobody.

use histogram::{AtomicHistogram, Config, Histogram, SparseHistogram};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Each doubling of the time has sixteen buckets. Times are microseconds, and what takes longer than
/// two to this power, twelve days, counts as that.
const BUCKETS: Config = match Config::new(4, LONGEST) {
    Ok(config) => config,
    Err(_) => panic!("a histogram of that form"),
};
const LONGEST: u8 = 40;

/// Powers of two, in microseconds, that bound the buckets told to others: 64 µs to 67 s.
const BOUNDS: [u32; 11] = [6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26];

/// Times that are counted.
#[derive(Debug)]
pub struct Latency {
    buckets: AtomicHistogram,
    sum_nanos: AtomicU64,
    max_nanos: AtomicU64,
}

impl Default for Latency {
    fn default() -> Self {
        Self {
            buckets: AtomicHistogram::with_config(&BUCKETS),
            sum_nanos: AtomicU64::new(0),
            max_nanos: AtomicU64::new(0),
        }
    }
}

impl Latency {
    /// Counts one more.
    pub fn record(&self, time: Duration) {
        let nanos = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        // What takes up to a whole microsecond is in the bucket before it, so that a bucket's bound is
        // in the bucket.
        let micros = nanos.saturating_sub(1) / 1_000;
        // In range, so it is taken.
        let _ = self.buckets.increment(micros.min((1 << LONGEST) - 1));
        self.sum_nanos.fetch_add(nanos, Ordering::Relaxed);
        if nanos > self.max_nanos.load(Ordering::Relaxed) {
            self.max_nanos.fetch_max(nanos, Ordering::Relaxed);
        }
    }

    /// What was counted so far.
    #[must_use]
    pub fn load(&self) -> Latencies {
        Latencies {
            buckets: self.buckets.load(),
            sum: Duration::from_nanos(self.sum_nanos.load(Ordering::Relaxed)),
            max: Duration::from_nanos(self.max_nanos.load(Ordering::Relaxed)),
        }
    }
}

/// Times that were counted.
#[derive(Clone, Debug)]
pub struct Latencies {
    buckets: Histogram,
    sum: Duration,
    max: Duration,
}

/// What was counted up to some moment. It takes as much memory as there were different times.
#[derive(Clone, Debug)]
pub struct Mark(SparseHistogram);

impl Latencies {
    /// None.
    #[must_use]
    pub fn none() -> Self {
        Latency::default().load()
    }

    /// To compare later ones with.
    #[must_use]
    pub fn mark(&self) -> Mark {
        Mark(SparseHistogram::from(&self.buckets))
    }

    /// Those of them that were counted after a mark was made. Their longest is not known: it is told as
    /// that of all.
    #[must_use]
    pub fn since(mut self, Mark(before): &Mark) -> Self {
        let buckets = self.buckets.as_mut_slice();
        for (index, count) in before.index().iter().zip(before.count()) {
            if let Some(bucket) = buckets.get_mut(*index as usize) {
                *bucket = bucket.saturating_sub(*count);
            }
        }
        self
    }

    /// These and others.
    #[must_use]
    pub fn and(mut self, others: &Self) -> Self {
        let buckets = self.buckets.as_mut_slice().iter_mut();
        for (bucket, more) in buckets.zip(others.buckets.as_slice()) {
            *bucket += more;
        }
        self.sum += others.sum;
        self.max = self.max.max(others.max);
        self
    }

    /// How many.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.buckets.as_slice().iter().sum()
    }

    /// All together.
    #[must_use]
    pub fn sum(&self) -> Duration {
        self.sum
    }

    /// The longest; none if nothing was counted.
    #[must_use]
    pub fn max(&self) -> Option<Duration> {
        (self.count() > 0).then_some(self.max)
    }

    /// The time that a part of them, 0 to 1, did not exceed; none if nothing was counted.
    #[must_use]
    pub fn quantile(&self, part: f64) -> Option<Duration> {
        let bucket = self.buckets.quantile_bucket(part).ok()??;
        let bound = Duration::from_micros(bucket.end() + 1);
        Some(bound.min(self.max))
    }

    /// Upper bounds in seconds, each with how many lie between it and the one before. What lies above
    /// the last is left out.
    #[must_use]
    pub fn buckets(&self) -> Vec<(f64, u64)> {
        let mut buckets = self.buckets.iter().peekable();
        let bounds = BOUNDS.iter().map(|power| 1_u64 << power);
        bounds
            .map(|bound| {
                let mut count = 0;
                while let Some(bucket) = buckets.next_if(|bucket| bucket.end() < bound) {
                    count += bucket.count();
                }
                (Duration::from_micros(bound).as_secs_f64(), count)
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(times: &[Duration]) -> Latencies {
        let latency = Latency::default();
        times.iter().for_each(|time| latency.record(*time));
        latency.load()
    }

    #[test]
    fn quantiles_are_a_little_longer_than_the_times_and_never_shorter() {
        let times: Vec<_> = (1..=1_000).map(Duration::from_millis).collect();
        let latencies = of(&times);
        assert_eq!(latencies.count(), 1_000);
        assert_eq!(latencies.sum(), Duration::from_millis(500_500));
        assert_eq!(latencies.max(), Some(Duration::from_secs(1)));
        for (part, millis) in [(0.5, 500), (0.99, 990), (1.0, 1_000)] {
            let told = latencies.quantile(part).unwrap();
            let exact = Duration::from_millis(millis);
            assert!(told >= exact && told <= exact * 17 / 16, "{part}: {told:?}");
        }
        let none = of(&[]);
        assert_eq!(
            (none.quantile(0.5), none.max(), none.count()),
            (None, None, 0)
        );
    }

    #[test]
    fn what_came_after_a_mark_is_told_apart() {
        let latency = Latency::default();
        (1..100).for_each(|_| latency.record(Duration::from_millis(1)));
        let mark = latency.load().mark();
        assert_eq!(latency.load().since(&mark).quantile(0.5), None);
        latency.record(Duration::from_secs(1));
        latency.record(Duration::from_secs(1));
        let after = latency.load().since(&mark);
        assert_eq!(after.count(), 2);
        assert_eq!(after.quantile(0.5), Some(Duration::from_secs(1)));
        let both = after.and(&of(&[Duration::from_millis(1)]));
        assert_eq!(both.count(), 3);
        assert!(both.quantile(0.1).unwrap() < Duration::from_millis(2));
        assert_eq!(Latencies::none().and(&both).count(), 3);
    }

    #[test]
    fn a_bound_is_in_its_bucket_and_what_is_longer_is_not() {
        let bound = Duration::from_micros(64);
        let nanosecond = Duration::from_nanos(1);
        let day = Duration::from_secs(24 * 3_600);
        let times = [
            Duration::ZERO,
            bound,
            bound + nanosecond,
            day,
            100 * day,
            Duration::MAX,
        ];
        let latencies = of(&times);
        let buckets = latencies.buckets();
        assert_eq!(buckets[..2], [(0.000_064, 2), (0.000_256, 1)]);
        assert_eq!(buckets.iter().map(|(_, count)| count).sum::<u64>(), 3);
        assert_eq!(latencies.count(), 6, "none is lost");
        assert!(buckets.is_sorted_by(|one, next| one.0 < next.0));
    }
}
