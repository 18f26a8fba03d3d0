//! Who is told of every change to every task: the program that embeds the server, and its webhooks.
//!
//! Invariants: a change is told after the store has it, by the node that made it; a notifier that is
//! slower than the changes skips states of a task but never the last one, and holds up nobody. What a
//! crash interrupts is not told again: who must know asks the store.

use super::id::TaskId;
use super::record::Task;
use crate::store::Store;
use async_trait::async_trait;
use indexmap::IndexSet;
use parking_lot::Mutex;
use std::sync::Arc;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// Hears of every change to every task: its creation, each status, each status message.
#[async_trait]
pub trait Notifier: Send + Sync + 'static {
    /// A task is new or different. The next change is told after this one is done, to the same notifier.
    async fn changed(&self, id: TaskId, task: &Task);
}

/// Changes that are still to be told.
#[derive(Default)]
pub(super) struct Notifications {
    notifiers: Vec<Arc<dyn Notifier>>,
    changed: Mutex<IndexSet<TaskId>>,
    filled: Notify,
}

impl Notifications {
    pub(super) fn new(notifiers: Vec<Arc<dyn Notifier>>) -> Self {
        Self {
            notifiers,
            ..Self::default()
        }
    }

    /// Notes that a task changed.
    pub(super) fn note(&self, id: TaskId) {
        if !self.notifiers.is_empty() {
            self.changed.lock().insert(id);
            self.filled.notify_one();
        }
    }

    /// Tells changes, until the server stops and all of them are told.
    pub(super) async fn tell(&self, store: &dyn Store, stopping: CancellationToken) {
        if self.notifiers.is_empty() {
            return;
        }
        loop {
            let next = self.changed.lock().shift_remove_index(0);
            let Some(id) = next else {
                tokio::select! {
                    () = self.filled.notified() => continue,
                    () = stopping.cancelled() => return,
                }
            };
            match store.get(id).await {
                Ok(Some(task)) => {
                    for notifier in &self.notifiers {
                        notifier.changed(id, &task).await;
                    }
                }
                Ok(None) => {}
                Err(error) => {
                    tracing::warn!(%error, "a change of a task cannot be told: it cannot be read");
                }
            }
        }
    }
}
