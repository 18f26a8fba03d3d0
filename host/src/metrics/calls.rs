//! What calls count: each at its tool and at its tenant.
//!
//! Invariant: a call counts once at each, whether it is answered or dropped.

use super::{Counters, Latencies, Latency};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// What became of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// A result.
    Result,
    /// A result that the tool calls an error, or arguments that do not fit.
    ToolError,
    /// A JSON-RPC error.
    Error,
    /// A task.
    Task,
    /// The client has to answer first, and to call again.
    Asked,
    /// The client went away before there was anything else.
    Abandoned,
}

impl Outcome {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Result,
        Self::ToolError,
        Self::Error,
        Self::Task,
        Self::Asked,
        Self::Abandoned,
    ];

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Result => "result",
            Self::ToolError => "tool_error",
            Self::Error => "error",
            Self::Task => "task",
            Self::Asked => "asked",
            Self::Abandoned => "abandoned",
        }
    }
}

/// The counters of the calls of one tool, or of one tenant.
#[derive(Debug, Default)]
pub struct CallMetrics {
    calls: Counters<{ Outcome::ALL.len() }>,
    latency: Latency,
    cpu_nanos: AtomicU64,
}

impl CallMetrics {
    /// Calls that came to this.
    #[must_use]
    pub fn calls(&self, outcome: Outcome) -> u64 {
        self.calls.get(outcome as usize)
    }

    /// All of them.
    #[must_use]
    pub fn all_calls(&self) -> u64 {
        Outcome::ALL.iter().map(|it| self.calls(*it)).sum()
    }

    /// Those that came to an error, by the tool's word or the server's.
    #[must_use]
    pub fn errors(&self) -> u64 {
        self.calls(Outcome::ToolError) + self.calls(Outcome::Error)
    }

    /// How long calls took until they were answered.
    #[must_use]
    pub fn latencies(&self) -> Latencies {
        self.latency.load()
    }

    /// CPU time of their runs.
    #[must_use]
    pub fn cpu(&self) -> Duration {
        Duration::from_nanos(self.cpu_nanos.load(Ordering::Relaxed))
    }
}

/// Where a call and its runs are counted.
#[derive(Clone, Debug)]
pub struct CallCounters {
    tool: Arc<CallMetrics>,
    tenant: Arc<CallMetrics>,
}

impl CallCounters {
    /// At its tool, and at its tenant.
    #[must_use]
    pub fn new(tool: Arc<CallMetrics>, tenant: Arc<CallMetrics>) -> Self {
        Self { tool, tenant }
    }

    /// A call begins. It is counted when what this gives is ended or dropped.
    #[must_use]
    pub fn begin(&self) -> Counting {
        Counting {
            counters: self.clone(),
            started: Instant::now(),
            outcome: Outcome::Abandoned,
        }
    }

    /// Its runs used CPU time.
    pub fn used_cpu(&self, nanos: u64) {
        for metrics in [&self.tool, &self.tenant] {
            metrics.cpu_nanos.fetch_add(nanos, Ordering::Relaxed);
        }
    }
}

/// A call that is not answered yet.
#[derive(Debug)]
pub struct Counting {
    counters: CallCounters,
    started: Instant,
    outcome: Outcome,
}

impl Counting {
    /// It is answered.
    pub fn end(mut self, outcome: Outcome) {
        self.outcome = outcome;
    }
}

impl Drop for Counting {
    fn drop(&mut self) {
        let time = self.started.elapsed();
        for metrics in [&self.counters.tool, &self.counters.tenant] {
            metrics.calls.add(self.outcome as usize);
            metrics.latency.record(time);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_counts_once_at_each_whether_it_is_answered_or_dropped() {
        let (tool, tenant) = (Arc::<CallMetrics>::default(), Arc::default());
        let counters = CallCounters::new(Arc::clone(&tool), Arc::clone(&tenant));
        for outcome in Outcome::ALL {
            counters.begin().end(outcome);
            assert_eq!(tool.calls(outcome), 1, "{outcome:?}");
        }
        drop(counters.begin());
        counters.used_cpu(5);
        for metrics in [tool, tenant] {
            assert_eq!(metrics.calls(Outcome::Abandoned), 2);
            assert_eq!((metrics.all_calls(), metrics.errors()), (7, 2));
            assert_eq!(metrics.latencies().count(), 7);
            assert_eq!(metrics.cpu(), Duration::from_nanos(5));
        }
    }
}
