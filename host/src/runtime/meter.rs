//! What an instance uses: CPU time and memory, and that its tenant's accounts know of it.

use super::account::{Accounts, CpuBudget, MemoryAccount};
use super::load::{Load, Recent};
use crate::limits::{LARGE_INSTANCE_BYTES, RunLimits};
use crate::metrics::CallCounters;
use async_trait::async_trait;
use nix::sys::time::TimeSpec;
use nix::time::{ClockId, clock_gettime};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};
use tokio::task::yield_now;
use wasmtime::ResourceLimiterAsync;

/// CPU time of one run: only what passes while it is polled counts, on the thread that polls it,
/// so waiting and other work are never billed.
#[derive(Default)]
pub struct CpuMeter {
    spent: AtomicU64,
    polled_since: AtomicU64,
    /// What the budget knows of.
    charged: AtomicU64,
    budget: Option<Arc<CpuBudget>>,
    /// Counts for the operator.
    metrics: Option<CallCounters>,
    /// Who is told how much of the server it uses.
    load: Option<(Arc<Load>, Arc<Recent>)>,
    /// True once it has computed for long, or grown large.
    heavy: AtomicBool,
}

impl CpuMeter {
    /// A meter that charges the budget of these accounts, and counts for a call.
    pub(super) fn new(load: &Arc<Load>, accounts: &Accounts, metrics: CallCounters) -> Self {
        Self {
            budget: accounts.cpu.clone(),
            metrics: Some(metrics),
            load: Some((Arc::clone(load), Arc::clone(&accounts.recent))),
            ..Self::default()
        }
    }

    /// The run begins. If its tenant uses much of the server and there are others, it goes on in the
    /// background.
    pub(super) async fn begin(&self) {
        if let Some((load, tenant)) = &self.load
            && load.is_much(tenant)
            && self.set_heavy()
        {
            yield_now().await;
        }
    }

    /// True if the run is to go on in the background.
    pub(super) fn is_heavy(&self) -> bool {
        self.heavy.load(Ordering::Relaxed)
    }

    /// Lets the run go on in the background, from the next time it waits. True if it did not before.
    pub(super) fn set_heavy(&self) -> bool {
        !self.heavy.swap(true, Ordering::Relaxed)
    }

    /// Charges what was spent since the last time, from inside a poll. Gives the budget if it is
    /// empty now.
    pub(super) fn over_budget(&self) -> Option<Arc<CpuBudget>> {
        let budget = self.budget.as_ref()?;
        self.charge(self.spent().as_nanos() as u64);
        let empty = budget.wait(Instant::now()).is_some();
        empty.then(|| Arc::clone(budget))
    }

    /// Charges the budget with what was spent so far.
    fn charge(&self, spent: u64) {
        if let Some(budget) = &self.budget {
            let before = self.charged.swap(spent, Ordering::Relaxed);
            let used = Duration::from_nanos(spent.saturating_sub(before));
            budget.charge(used, Instant::now());
        }
    }

    /// CPU time so far, from inside a poll.
    pub(super) fn spent(&self) -> Duration {
        let current = thread_nanos().saturating_sub(self.polled_since.load(Ordering::Relaxed));
        Duration::from_nanos(self.spent.load(Ordering::Relaxed) + current)
    }
}

/// A future whose CPU time is metered.
pub(super) struct Metered<F> {
    pub(super) meter: Arc<CpuMeter>,
    pub(super) future: Pin<Box<F>>,
}

impl<F: Future> Future for Metered<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let before = thread_nanos();
        self.meter.polled_since.store(before, Ordering::Relaxed);
        let result = self.future.as_mut().poll(context);
        let passed = thread_nanos().saturating_sub(before);
        let spent = self.meter.spent.fetch_add(passed, Ordering::Relaxed) + passed;
        self.meter.charge(spent);
        if let Some(metrics) = &self.meter.metrics {
            metrics.used_cpu(passed);
        }
        if let Some((load, tenant)) = &self.meter.load {
            load.add(tenant, passed);
        }
        result
    }
}

fn thread_nanos() -> u64 {
    // Every thread has this clock.
    let time = clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).unwrap_or(TimeSpec::new(0, 0));
    (time.tv_sec() as u64)
        .wrapping_mul(1_000_000_000)
        .wrapping_add(time.tv_nsec() as u64)
}

/// Bounds memories and tables, over all of an instance's together, and its memory together with that
/// of the tenant's other instances. Dropped with the instance, it gives back what that had.
pub(super) struct MemoryLimiter {
    limit: usize,
    held: usize,
    /// What it took beside what it began with.
    grown: usize,
    /// The last step that was allowed, which may fail for another reason.
    step: usize,
    account: Option<Arc<MemoryAccount>>,
    table_elements: usize,
    meter: Arc<CpuMeter>,
    /// Set once a request was refused: a trap that follows has its reason here.
    pub(super) refused: Option<MemoryLimit>,
}

/// The limit that refused memory.
#[derive(Clone, Debug)]
pub(super) struct MemoryLimit {
    pub(super) key: Arc<str>,
    pub(super) bytes: usize,
}

impl MemoryLimiter {
    pub(super) fn new(limits: &RunLimits, accounts: &Accounts, meter: Arc<CpuMeter>) -> Self {
        Self {
            limit: limits.memory_bytes,
            held: 0,
            grown: 0,
            step: 0,
            account: accounts.memory.clone(),
            table_elements: limits.table_elements,
            meter,
            refused: None,
        }
    }

    /// Bytes that it took beside what it began with.
    pub(super) fn grown(&self) -> usize {
        self.grown
    }

    /// Takes so many bytes, or says which limit is in the way.
    fn take(&mut self, bytes: usize) -> Result<(), MemoryLimit> {
        if bytes > self.limit - self.held {
            return Err(MemoryLimit {
                key: "sandbox.memory-bytes".into(),
                bytes: self.limit,
            });
        }
        match &self.account {
            Some(account) if !account.take(bytes) => Err(MemoryLimit {
                key: Arc::clone(account.key()),
                bytes: account.limit(),
            }),
            _ => {
                self.held += bytes;
                Ok(())
            }
        }
    }

    fn give_back(&mut self, bytes: usize) {
        self.held -= bytes;
        if let Some(account) = &self.account {
            account.give_back(bytes);
        }
    }
}

impl Drop for MemoryLimiter {
    fn drop(&mut self) {
        self.give_back(self.held);
    }
}

#[async_trait]
impl ResourceLimiterAsync for MemoryLimiter {
    async fn memory_growing(
        &mut self,
        current: usize,
        desired: usize,
        _maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        self.step = desired.saturating_sub(current);
        match self.take(self.step) {
            Ok(()) => {
                if current > 0 {
                    self.grown += self.step;
                }
                if self.grown > LARGE_INSTANCE_BYTES && self.meter.set_heavy() {
                    yield_now().await;
                }
                Ok(true)
            }
            Err(limit) => {
                self.step = 0;
                self.refused = Some(limit);
                Ok(false)
            }
        }
    }

    fn memory_grow_failed(&mut self, _: wasmtime::Error) -> wasmtime::Result<()> {
        let step = std::mem::take(&mut self.step);
        self.give_back(step);
        Ok(())
    }

    async fn table_growing(
        &mut self,
        _current: usize,
        desired: usize,
        _maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        Ok(desired <= self.table_elements)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::{SandboxLimits, TaskLimits};

    #[tokio::test]
    async fn what_an_instance_holds_goes_back_with_it() {
        let account = Arc::new(MemoryAccount::new("tenants.a.memory-bytes", 100));
        let accounts = Accounts {
            memory: Some(Arc::clone(&account)),
            cpu: None,
            ..Accounts::default()
        };
        let limits = RunLimits {
            memory_bytes: 80,
            ..RunLimits::new(&SandboxLimits::default(), &TaskLimits::default())
        };
        let mut first = MemoryLimiter::new(&limits, &accounts, Arc::default());
        assert!(first.memory_growing(0, 70, None).await.unwrap());
        assert!(!first.memory_growing(70, 90, None).await.unwrap());
        assert_eq!(&*first.refused.clone().unwrap().key, "sandbox.memory-bytes");
        let mut second = MemoryLimiter::new(&limits, &accounts, Arc::default());
        assert!(!second.memory_growing(0, 40, None).await.unwrap());
        let refused = second.refused.clone().unwrap();
        assert_eq!(
            (&*refused.key, refused.bytes),
            ("tenants.a.memory-bytes", 100)
        );
        // A step that was allowed and then failed counts no more.
        assert!(second.memory_growing(0, 30, None).await.unwrap());
        second
            .memory_grow_failed(wasmtime::Error::msg("no"))
            .unwrap();
        second
            .memory_grow_failed(wasmtime::Error::msg("again"))
            .unwrap();
        assert!(second.memory_growing(0, 30, None).await.unwrap());
        assert_eq!((first.grown(), second.grown()), (0, 0));
        drop(first);
        assert!(second.memory_growing(30, 80, None).await.unwrap());
        assert_eq!(second.grown(), 50);
        drop(second);
        assert!(account.take(100), "everything came back");
    }
}
