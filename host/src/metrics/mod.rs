//! What a server counts of itself while it works.
//!
//! Invariants: there are numbers by tool, by tenant, by outcome and by limit, and nothing of what calls
//! hold or of who of a tenant made them; a call looks its counters up once, and from then on adds to
//! atomics, without a lock and without memory of its own; there are counters for the tools that are
//! served and the tenants that are named, and for no others.

mod calls;
mod latency;

pub use calls::{CallCounters, CallMetrics, Counting, Outcome};
pub use latency::{Latencies, Latency, Mark};

use crate::places::Places;
use arc_swap::ArcSwap;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

/// A limit that refused something, the server's or a tenant's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// Calls that wait for an instance.
    Waiting,
    /// CPU time of a tenant in a minute.
    CpuPerMinute,
    /// CPU time of a run.
    Cpu,
    /// Wall time of a call.
    Wall,
    /// Memory of an instance, or of a tenant's.
    Memory,
    /// Journal of a call.
    Journal,
    /// Tasks.
    Tasks,
    /// Streams that listen.
    Listens,
    /// Requests of a tenant.
    Requests,
    /// A body.
    Body,
    /// All bodies together.
    Bodies,
    /// A result.
    Result,
    /// The time of a task, or of its attempt.
    TaskTime,
    /// Connections, times and sizes of guests' own requests.
    Http,
}

impl Limit {
    /// All of them.
    pub const ALL: [Self; 14] = [
        Self::Waiting,
        Self::CpuPerMinute,
        Self::Cpu,
        Self::Wall,
        Self::Memory,
        Self::Journal,
        Self::Tasks,
        Self::Listens,
        Self::Requests,
        Self::Body,
        Self::Bodies,
        Self::Result,
        Self::TaskTime,
        Self::Http,
    ];

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::CpuPerMinute => "cpu_per_minute",
            Self::Cpu => "cpu",
            Self::Wall => "wall",
            Self::Memory => "memory",
            Self::Journal => "journal",
            Self::Tasks => "tasks",
            Self::Listens => "listens",
            Self::Requests => "requests",
            Self::Body => "body",
            Self::Bodies => "bodies",
            Self::Result => "result",
            Self::TaskTime => "task_time",
            Self::Http => "http",
        }
    }
}

/// What became of a reload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReloadOutcome {
    /// All that was found serves.
    Complete,
    /// Some of what was found does not serve.
    Refused,
}

impl ReloadOutcome {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Complete, Self::Refused];

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::Refused => "refused",
        }
    }
}

/// Counters in a row, one for each of a kind.
#[derive(Debug)]
struct Counters<const N: usize>([AtomicU64; N]);

impl<const N: usize> Default for Counters<N> {
    fn default() -> Self {
        Self(std::array::from_fn(|_| AtomicU64::new(0)))
    }
}

impl<const N: usize> Counters<N> {
    fn add(&self, index: usize) {
        self.0[index].fetch_add(1, Ordering::Relaxed);
    }

    fn get(&self, index: usize) -> u64 {
        self.0[index].load(Ordering::Relaxed)
    }
}

/// The counters of a server.
#[derive(Debug)]
pub struct Metrics {
    started: SystemTime,
    tools: ArcSwap<HashMap<Arc<str>, Arc<CallMetrics>>>,
    /// Takes what calls of tools do that are not served any more. Nobody reads it.
    gone: Arc<CallMetrics>,
    refusals: Counters<{ Limit::ALL.len() }>,
    reloads: Counters<{ ReloadOutcome::ALL.len() }>,
    sweeps: Counters<2>,
    connections: Places,
}

impl Default for Metrics {
    fn default() -> Self {
        Self {
            started: SystemTime::now(),
            tools: ArcSwap::default(),
            gone: Arc::default(),
            refusals: Counters::default(),
            reloads: Counters::default(),
            sweeps: Counters::default(),
            connections: Places::default(),
        }
    }
}

impl Metrics {
    /// When the server started.
    #[must_use]
    pub fn started(&self) -> SystemTime {
        self.started
    }

    /// From now on these tools are served. Those that were before go on counting; what others counted
    /// is gone. To be called before calls of new tools come.
    pub fn serve<'a>(&self, names: impl IntoIterator<Item = &'a Arc<str>>) {
        let before = self.tools.load();
        let counters = |name: &Arc<str>| before.get(name).cloned().unwrap_or_default();
        let names = names.into_iter();
        let now = names.map(|name| (Arc::clone(name), counters(name)));
        self.tools.store(Arc::new(now.collect()));
    }

    /// The counters of a tool; if it is not served, some that nobody reads.
    #[must_use]
    pub fn tool(&self, name: &str) -> Arc<CallMetrics> {
        let tools = self.tools.load();
        Arc::clone(tools.get(name).unwrap_or(&self.gone))
    }

    /// Something was refused.
    pub fn refuse(&self, limit: Limit) {
        self.refusals.add(limit as usize);
    }

    /// How often a limit refused something.
    #[must_use]
    pub fn refusals(&self, limit: Limit) -> u64 {
        self.refusals.get(limit as usize)
    }

    /// A reload ended.
    pub fn reloaded(&self, outcome: ReloadOutcome) {
        self.reloads.add(outcome as usize);
    }

    /// How often reloads ended so.
    #[must_use]
    pub fn reloads(&self, outcome: ReloadOutcome) -> u64 {
        self.reloads.get(outcome as usize)
    }

    /// A sweep of tasks ended, whole or with an error.
    pub fn swept(&self, whole: bool) {
        self.sweeps.add(usize::from(whole));
    }

    /// How often sweeps ended so.
    #[must_use]
    pub fn sweeps(&self, whole: bool) -> u64 {
        self.sweeps.get(usize::from(whole))
    }

    /// Connections of clients. Each takes a place; there is no end of them here.
    #[must_use]
    pub fn connections(&self) -> &Places {
        &self.connections
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(metrics: &Metrics, name: &str) -> Counting {
        CallCounters::new(metrics.tool(name), Arc::default()).begin()
    }

    #[test]
    fn counters_stay_with_the_tools_that_stay_and_go_with_the_others() {
        let metrics = Metrics::default();
        let [a, b, c] = ["a", "b", "c"].map(Arc::<str>::from);
        metrics.serve([&a, &b]);
        let old = count(&metrics, "b");
        count(&metrics, "a").end(Outcome::Result);
        count(&metrics, "b").end(Outcome::Result);
        metrics.serve([&a, &c]);
        old.end(Outcome::Result);
        count(&metrics, "b").end(Outcome::Result);
        let counted = |name| metrics.tool(name).all_calls();
        assert_eq!((counted("a"), counted("c")), (1, 0));
        metrics.serve([&b]);
        assert_eq!(counted("b"), 0, "a tool that comes back begins anew");
    }
}
