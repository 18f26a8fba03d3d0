//! What time does to tasks, every so often: the ttl fails them, retention removes them.

use super::service::Tasks;
use crate::metrics::{Limit, Metrics};
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinHandle;
use tokio::time::MissedTickBehavior;

/// The periodic sweep. Dropping it ends it.
pub struct Janitor(JoinHandle<()>);

impl Janitor {
    /// Starts sweeping.
    #[must_use]
    pub fn start(tasks: Arc<Tasks>, metrics: Arc<Metrics>) -> Self {
        let period = Duration::from_millis(tasks.limits().sweep_ms);
        Self(tokio::spawn(async move {
            let mut ticks = tokio::time::interval(period);
            ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
            loop {
                ticks.tick().await;
                let swept = tasks.sweep().await;
                metrics.swept(swept.is_ok());
                match swept {
                    Ok((0, 0)) => {}
                    Ok((expired, removed)) => {
                        (0..expired).for_each(|_| metrics.refuse(Limit::TaskTime));
                        tracing::info!(expired, removed, "swept tasks");
                    }
                    Err(error) => tracing::error!(%error, "could not sweep tasks"),
                }
            }
        }))
    }
}

impl Drop for Janitor {
    fn drop(&mut self) {
        self.0.abort();
    }
}
