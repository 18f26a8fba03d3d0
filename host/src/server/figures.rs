//! What the server does now, in figures.
//!
//! Invariant: looking holds up nobody: counters are read, and short locks taken.

use super::Server;
use crate::metrics::Metrics;
use crate::runtime::Runtime;
use std::sync::Arc;

impl Server {
    /// What it counts.
    #[must_use]
    pub fn metrics(&self) -> &Arc<Metrics> {
        &self.driver.metrics
    }

    /// The sandbox.
    #[must_use]
    pub fn runtime(&self) -> &Runtime {
        &self.driver.runtime
    }

    /// Open `subscriptions/listen` streams.
    #[must_use]
    pub fn listening(&self) -> usize {
        self.listens.taken()
    }
}
