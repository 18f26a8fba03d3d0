//! Work on large bodies: reading one takes long enough to be noticed by whoever shares the thread.
//!
//! Invariant: what is large is worked on off the threads that serve everybody, and not much of it at
//! once; so a flood of large bodies waits for itself.

use crate::limits::LARGE_BODY_BYTES;
use std::thread::available_parallelism;
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::Semaphore;

/// Where large bodies wait for their turn.
pub(super) struct LargeBodies {
    turns: Semaphore,
}

impl LargeBodies {
    /// Half of the cores work on them.
    pub(super) fn new() -> Self {
        let cores = available_parallelism().map_or(1, usize::from);
        Self {
            turns: Semaphore::new((cores / 2).max(1)),
        }
    }

    /// Works on so many bytes of a body: at once if they are few, else when it is their turn.
    pub(super) async fn work<T>(&self, bytes: usize, work: impl FnOnce() -> T) -> T {
        if bytes <= LARGE_BODY_BYTES {
            return work();
        }
        // Nobody closes the semaphore; without a turn the work would still be right.
        let _turn = self.turns.acquire().await.ok();
        match Handle::current().runtime_flavor() {
            RuntimeFlavor::MultiThread => tokio::task::block_in_place(work),
            _ => work(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn large_work_takes_turns_and_small_work_does_not() {
        let large = Arc::new(LargeBodies {
            turns: Semaphore::new(1),
        });
        let (at_once, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let works: Vec<_> = (0..8)
            .map(|_| {
                let (large, at_once, most) =
                    (Arc::clone(&large), Arc::clone(&at_once), Arc::clone(&most));
                tokio::spawn(async move {
                    large
                        .work(LARGE_BODY_BYTES + 1, || {
                            let now = at_once.fetch_add(1, Ordering::SeqCst) + 1;
                            most.fetch_max(now, Ordering::SeqCst);
                            std::thread::yield_now();
                            at_once.fetch_sub(1, Ordering::SeqCst);
                        })
                        .await;
                })
            })
            .collect();
        for work in works {
            work.await.unwrap();
        }
        assert_eq!(most.load(Ordering::SeqCst), 1);
        let _turn = large.turns.acquire().await.unwrap();
        assert_eq!(
            large.work(LARGE_BODY_BYTES, || 7).await,
            7,
            "small work needs no turn"
        );
    }
}
