//! What an instance uses: CPU time and memory.

use crate::limits::RunLimits;
use rustix::time::{ClockId, clock_gettime};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;
use wasmtime::ResourceLimiter;

/// CPU time of one run: only what passes while it is polled counts, on the thread that polls it,
/// so waiting and other work are never billed.
#[derive(Debug, Default)]
pub(super) struct CpuMeter {
    spent: AtomicU64,
    polled_since: AtomicU64,
}

impl CpuMeter {
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
        self.meter
            .spent
            .fetch_add(thread_nanos().saturating_sub(before), Ordering::Relaxed);
        result
    }
}

fn thread_nanos() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    (time.tv_sec as u64)
        .wrapping_mul(1_000_000_000)
        .wrapping_add(time.tv_nsec as u64)
}

/// Bounds memories and tables, over all of an instance's together.
#[derive(Debug)]
pub(super) struct MemoryLimiter {
    /// Bytes for all memories.
    pub(super) limit: usize,
    left: usize,
    table_elements: usize,
    /// Set once a request was refused: a trap that follows has its reason here.
    pub(super) refused: bool,
}

impl MemoryLimiter {
    pub(super) fn new(limits: &RunLimits) -> Self {
        Self {
            limit: limits.memory_bytes,
            left: limits.memory_bytes,
            table_elements: limits.table_elements,
            refused: false,
        }
    }
}

impl ResourceLimiter for MemoryLimiter {
    fn memory_growing(
        &mut self,
        current: usize,
        desired: usize,
        _maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        match self.left.checked_sub(desired.saturating_sub(current)) {
            Some(left) => {
                self.left = left;
                Ok(true)
            }
            None => {
                self.refused = true;
                Ok(false)
            }
        }
    }

    fn table_growing(
        &mut self,
        _current: usize,
        desired: usize,
        _maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        Ok(desired <= self.table_elements)
    }
}
