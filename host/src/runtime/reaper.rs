//! Takes down instances that grew large: the kernel takes their memory back in one piece, for milliseconds.
//!
//! Invariant: no thread that serves waits for that, and it is done one at a time, so whoever lets many of
//! them end at once waits for itself: an instance keeps its permit until it is down.

use super::engine::Running;
use super::imports::Guest;
use crate::limits::LARGE_INSTANCE_BYTES;
use std::sync::mpsc;
use std::thread;
use wasmtime::Store;

/// By how much it stands back behind the threads that serve.
const NICENESS: i32 = 10;

/// An instance and its permit. They go in this order: a permit that is free has its slots.
pub(super) struct Live {
    pub(super) store: Store<Guest>,
    pub(super) _running: Running,
}

/// The thread. It ends with the runtime.
pub(super) struct Reaper(mpsc::Sender<Live>);

impl Reaper {
    pub(super) fn start() -> Self {
        let (sender, large) = mpsc::channel();
        let reap = move || {
            // Of this thread alone. A system that refuses it shares its cores evenly.
            #[cfg(target_os = "linux")]
            let _ = rustix::process::setpriority_process(None, NICENESS);
            large.into_iter().for_each(drop);
        };
        // Without it, whatever is sent comes back and is dropped where it is.
        if let Err(error) = thread::Builder::new().name("reaper".into()).spawn(reap) {
            tracing::warn!(%error, "no thread to take down large instances");
        }
        Self(sender)
    }

    /// Takes down an instance, and gives its permit back.
    pub(super) fn take(&self, live: Live) {
        if live.store.data().memory.grown() > LARGE_INSTANCE_BYTES {
            let _ = self.0.send(live);
        }
    }
}
