//! The runs of tasks in this process, and how each is reached.
//!
//! Invariant: a task runs here once at a time.

use super::id::TaskId;
use super::record::Fence;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// How a run is told to end.
#[derive(Clone, Debug, Default)]
pub struct Signals {
    /// Its call is over: the handler is told, and gets its grace.
    pub cancel: CancellationToken,
    /// Another node may run its task now: the instance is dropped.
    pub lost: CancellationToken,
}

#[derive(Clone)]
pub(super) struct Run {
    pub(super) signals: Signals,
    pub(super) answered: Arc<Notify>,
    /// None while it is being claimed.
    pub(super) fence: Option<Fence>,
    /// It stored how its task ended.
    pub(super) has_ended: bool,
}

/// All of them.
#[derive(Default)]
pub(super) struct Runs(Mutex<HashMap<TaskId, Run>>);

impl Runs {
    /// Notes that a task runs here; false if it does already.
    pub(super) fn register(&self, id: TaskId, signals: Signals, fence: Option<Fence>) -> bool {
        match self.0.lock().entry(id) {
            Entry::Occupied(_) => false,
            Entry::Vacant(entry) => {
                entry.insert(Run {
                    signals,
                    answered: Arc::default(),
                    fence,
                    has_ended: false,
                });
                true
            }
        }
    }

    /// Changes what is known of a run, if it is there.
    pub(super) fn note(&self, id: TaskId, note: impl FnOnce(&mut Run)) {
        if let Some(run) = self.0.lock().get_mut(&id) {
            note(run);
        }
    }

    pub(super) fn get(&self, id: TaskId) -> Option<Run> {
        self.0.lock().get(&id).cloned()
    }

    pub(super) fn remove(&self, id: TaskId) -> Option<Run> {
        self.0.lock().remove(&id)
    }

    pub(super) fn len(&self) -> usize {
        self.0.lock().len()
    }

    pub(super) fn ids(&self) -> Vec<TaskId> {
        self.0.lock().keys().copied().collect()
    }

    /// Tells all of them that their tasks may run elsewhere now. How many there are.
    pub(super) fn lose(&self) -> usize {
        let runs = self.0.lock();
        for run in runs.values() {
            run.signals.lost.cancel();
        }
        runs.len()
    }
}
