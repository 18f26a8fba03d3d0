//! What a running server follows: files, and tags in registries.

use crate::catalog::{Look, Watch};
use crate::server::Server;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, MissedTickBehavior, interval_at};

/// Serves what is there whenever files change, and removes what nothing needs any more, until the server
/// stops.
pub(super) async fn files(server: Arc<Server>, mut watch: Option<Watch>) {
    let period = Duration::from_millis(server.settings().tasks.sweep_ms);
    let mut sweeps = interval_at(Instant::now(), period);
    sweeps.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let changed = async {
            match &mut watch {
                Some(watch) => watch.changed().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = server.stopping().cancelled() => return,
            () = changed => {
                server.reload(Look::Files).await;
            }
            _ = sweeps.tick() => server.prune().await,
        }
    }
}

/// Asks every so often what tags stand for. When the server starts, that is known.
pub(super) async fn tags(server: Arc<Server>) {
    let period = Duration::from_millis(server.settings().server.registry_poll_ms);
    let mut polls = interval_at(Instant::now() + period, period);
    polls.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            () = server.stopping().cancelled() => return,
            _ = polls.tick() => {
                server.reload(Look::Everything).await;
            }
        }
    }
}
