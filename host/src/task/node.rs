//! This process among those that share a store.
//!
//! Invariants: a run goes on under a lease of its node; a node that lost its lease drops its runs, and
//! runs again what is still its own to take. Another node is taken for dead only by one that had the
//! store for as long as a lease lasts: an outage for all ends nobody's lease. An idle node asks the
//! store once a lease.

use super::id::TaskId;
use super::record::{Millis, NodeId};
use super::service::{Tasks, now};
use crate::limits::{STORE_PAUSE, UNABLE_PAUSE};
use crate::store::{News, Next, Shared, Store, StoreError};
use parking_lot::Mutex;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};
use tokio::sync::{Mutex as AsyncMutex, Notify, mpsc};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

/// What a node is by its settings.
#[derive(Clone, Copy, Debug)]
pub struct NodeOptions {
    /// Which.
    pub id: NodeId,
    /// How long its lease lasts.
    pub lease: Duration,
    /// Tasks it has in hand at most when it takes more.
    pub most: usize,
}

/// A node and what it knows of itself.
pub(super) struct Node {
    pub(super) options: NodeOptions,
    /// When its lease was last renewed.
    renewed: Mutex<Option<Instant>>,
    renewing: AsyncMutex<()>,
    /// Since when the store answers.
    contact: Mutex<Option<Instant>>,
    /// Tasks that it took, and whose runs are still to begin.
    taken: Mutex<HashSet<TaskId>>,
    /// Digests of components that it cannot run, and until when it thinks so.
    unable: Mutex<HashMap<String, Instant>>,
    /// It had no room for all that was due.
    full: AtomicBool,
    /// There may be more to take.
    look: Notify,
}

/// Tasks taken at once.
const BATCH: usize = 1_000;

impl Node {
    pub(super) fn new(options: NodeOptions) -> Self {
        Self {
            options,
            renewed: Mutex::default(),
            renewing: AsyncMutex::default(),
            contact: Mutex::default(),
            taken: Mutex::default(),
            unable: Mutex::default(),
            full: AtomicBool::new(false),
            look: Notify::new(),
        }
    }

    /// Notes whether the store answered.
    fn heard<T>(&self, answer: &Result<T, StoreError>) {
        let mut contact = self.contact.lock();
        match answer {
            Ok(_) => _ = contact.get_or_insert_with(Instant::now),
            Err(_) => *contact = None,
        }
    }

    /// Time until whoever did not renew a lease is taken for dead. None is left: it is.
    fn doubt(&self) -> Duration {
        let had = self.contact.lock().map(|since| since.elapsed());
        self.options.lease.saturating_sub(had.unwrap_or_default())
    }

    /// True if the lease lasts for a while, if nobody ended it.
    fn is_fresh(&self) -> bool {
        let renewed = *self.renewed.lock();
        renewed.is_some_and(|at| at.elapsed() < self.options.lease / 2)
    }

    /// The lease was ended by others, or is the first.
    async fn renew(&self, store: &dyn Store) -> Result<bool, StoreError> {
        let sent = Instant::now();
        let lasts = Millis::try_from(self.options.lease.as_millis()).unwrap_or(Millis::MAX);
        let until = now().saturating_add(lasts);
        let known = store.renew(self.options.id, until).await;
        self.heard(&known);
        let known = known?;
        *self.renewed.lock() = Some(sent);
        Ok(!known)
    }

    /// What it leaves to others.
    fn unable(&self) -> Vec<String> {
        let mut unable = self.unable.lock();
        let now = Instant::now();
        unable.retain(|_, until| *until > now);
        unable.keys().cloned().collect()
    }

    /// A task that was taken is claimed now, or left.
    pub(super) fn begun(&self, id: TaskId) {
        self.taken.lock().remove(&id);
    }

    /// A run is over.
    pub(super) fn has_room(&self) {
        if self.full.swap(false, Relaxed) {
            self.look.notify_one();
        }
    }
}

impl Tasks {
    /// Makes sure of the lease, under which this node is about to hold a task.
    ///
    /// # Errors
    /// [`StoreError`].
    pub(super) async fn hold(&self) -> Result<Option<NodeId>, StoreError> {
        let Some(node) = &self.node else {
            return Ok(None);
        };
        if !node.is_fresh() {
            let _one = node.renewing.lock().await;
            if !node.is_fresh() {
                self.renew(node).await?;
            }
        }
        Ok(Some(node.options.id))
    }

    async fn renew(&self, node: &Node) -> Result<(), StoreError> {
        if node.renew(&*self.store).await? {
            let lost = self.runs.lose();
            if lost > 0 {
                tracing::warn!(
                    "other nodes took this one for dead: {lost} runs are dropped, and go on where \
                     nobody else took them"
                );
            }
        }
        Ok(())
    }

    /// Does what a node of a shared store does, until the server stops. Nothing in any other. What it
    /// hears that is not only about tasks goes to `others`.
    pub fn follow(
        self: &Arc<Self>,
        stopping: &CancellationToken,
        others: mpsc::UnboundedSender<News>,
    ) {
        let (Some(_), Some(shared)) = (&self.node, self.store.shared()) else {
            return;
        };
        let until_then = || stopping.clone();
        let (lease, ears, hands) = (Arc::clone(self), Arc::clone(self), Arc::clone(self));
        tokio::spawn(until_then().run_until_cancelled_owned(lease.keep_lease()));
        tokio::spawn(until_then().run_until_cancelled_owned(ears.hear(shared, others)));
        tokio::spawn(until_then().run_until_cancelled_owned(hands.take()));
    }

    /// Renews the lease while there is something to hold.
    async fn keep_lease(self: Arc<Self>) {
        let Some(node) = &self.node else { return };
        let mut pause = node.options.lease / 3;
        loop {
            sleep(pause).await;
            pause = node.options.lease / 3;
            if self.runs.len() == 0 && node.taken.lock().is_empty() {
                continue;
            }
            let _one = node.renewing.lock().await;
            if let Err(error) = self.renew(node).await {
                tracing::warn!(%error, "this node's lease could not be renewed; trying again");
                pause = pause.min(STORE_PAUSE);
            }
        }
    }

    /// Hears of what other nodes do.
    async fn hear(self: Arc<Self>, shared: Arc<dyn Shared>, others: mpsc::UnboundedSender<News>) {
        let Some(node) = &self.node else { return };
        let mut news = shared.news();
        while let Some(news) = news.recv().await {
            match news {
                News::Changed(id) => self.hear_of(id).await,
                News::Said(_) => _ = others.send(news),
                News::Gone => {
                    node.look.notify_one();
                    self.hear_of_all().await;
                }
                News::Missed => {
                    // Others were cut off, too, perhaps.
                    *node.contact.lock() = None;
                    // Nobody hears it any more if the server stops.
                    let _ = others.send(News::Missed);
                    self.hear_of_all().await;
                }
            }
        }
    }

    async fn hear_of_all(&self) {
        for id in self.runs.ids() {
            self.hear_of(id).await;
        }
        self.listeners.publish_all();
    }

    /// A task may be different: tells its run here and who listens.
    async fn hear_of(&self, id: TaskId) {
        while let Some(run) = self.runs.get(id) {
            match self.store.get(id).await {
                Ok(task) => {
                    // One that is not there is just being created.
                    let goes_on = task.is_none_or(|task| {
                        let is_other = run.fence.is_some_and(|fence| fence != task.fence());
                        !task.status.is_final() && !is_other
                    });
                    if goes_on {
                        run.answered.notify_one();
                    } else {
                        run.signals.cancel.cancel();
                    }
                    break;
                }
                Err(error) => {
                    tracing::warn!(%error, "a task that another node changed cannot be read yet");
                    sleep(STORE_PAUSE).await;
                }
            }
        }
        self.listeners.publish(id);
    }

    /// Takes what is due, whenever something is.
    async fn take(self: Arc<Self>) {
        let Some(node) = &self.node else { return };
        loop {
            let pause = match self.take_due(node).await {
                Ok(pause) => pause,
                Err(error) => {
                    tracing::warn!(%error, "cannot look for tasks that are due; trying again");
                    STORE_PAUSE
                }
            };
            tokio::select! {
                () = node.look.notified() => {}
                () = sleep(pause) => {}
            }
        }
    }

    /// Takes what is due now. Gives when to look again.
    async fn take_due(&self, node: &Node) -> Result<Duration, StoreError> {
        let NodeOptions { id, lease, most } = node.options;
        let except = node.unable();
        let is_past = |time: Option<Millis>| time.is_some_and(|time| time <= now());
        let mut next = self.next_due(node, &except).await?;
        if is_past(next.lease) && node.doubt().is_zero() {
            self.store.end_leases(now()).await?;
            next = self.next_due(node, &except).await?;
        }
        if is_past(next.task) {
            let in_hand = self.runs.len() + node.taken.lock().len();
            let room = most.saturating_sub(in_hand);
            let limit = room.min(BATCH);
            node.full.store(room == 0, Relaxed);
            if limit > 0 {
                self.hold().await?;
                let due = self.store.take_due(id, &except, limit, now()).await?;
                for due in &due {
                    node.taken.lock().insert(due.id);
                    self.wake(0, due.id);
                }
                if due.len() == limit {
                    return Ok(Duration::ZERO);
                }
                next = self.next_due(node, &except).await?;
            }
        }
        Ok(pause(next, now(), node.doubt(), lease))
    }

    async fn next_due(&self, node: &Node, except: &[String]) -> Result<Next, StoreError> {
        let next = self.store.next_due(node.options.id, except).await;
        node.heard(&next);
        next
    }

    /// This node cannot run a task's component: another one may.
    pub async fn leave_to_others(&self, id: TaskId, digest: &str, why: &str) {
        let Some(node) = &self.node else { return };
        tracing::warn!("a task is left to other nodes, as this one cannot run it: {why}");
        let until = Instant::now() + UNABLE_PAUSE;
        node.unable.lock().insert(digest.to_owned(), until);
        node.begun(id);
        self.release(node, id).await;
    }

    /// Does not hold a task any more.
    pub(super) async fn release(&self, node: &Node, id: TaskId) {
        if let Err(error) = self.store.release(id, node.options.id).await {
            tracing::warn!(%error, "a task could not be given back; it stays this node's");
        }
    }

    /// Gives back what this node holds, when nothing runs here any more.
    pub async fn retire(&self) {
        if let Some(node) = &self.node
            && let Err(error) = self.store.retire(node.options.id).await
        {
            tracing::warn!(%error, "this node's lease could not be ended; it ends by itself");
        }
    }

    /// What it shares with other nodes, if there may be some.
    #[must_use]
    pub fn shared(&self) -> Option<Arc<dyn Shared>> {
        self.store.shared()
    }

    /// True if other processes may run tasks of the same store.
    #[must_use]
    pub fn is_shared(&self) -> bool {
        self.node.is_some()
    }
}

/// When to look again, if this comes next. What is past and was not taken waits for room, or is too
/// fresh to be called dead.
fn pause(next: Next, now: Millis, doubt: Duration, lease: Duration) -> Duration {
    let until = |time: Option<Millis>, if_past: Duration| match time.map(|time| time - now) {
        None => lease,
        Some(left) => u64::try_from(left)
            .ok()
            .filter(|left| *left > 0)
            .map_or(if_past, Duration::from_millis),
    };
    let task = until(next.task, lease / 8);
    let dead = until(next.lease, doubt.max(STORE_PAUSE));
    task.min(dead).min(lease)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_looks_when_it_can_do_something_and_once_a_lease() {
        let lease = Duration::from_secs(16);
        let pause = |task, over, doubt| {
            let next = Next { task, lease: over };
            let pause = pause(next, 1_000_000, Duration::from_secs(doubt), lease);
            pause.as_millis()
        };
        assert_eq!(pause(None, None, 0), 16_000);
        assert_eq!(pause(Some(1_090_000), Some(1_080_000), 0), 16_000);
        assert_eq!(pause(Some(1_003_000), Some(1_005_000), 0), 3_000);
        assert_eq!(pause(Some(1_009_000), Some(1_005_000), 0), 5_000);
        assert_eq!(pause(None, Some(999_000), 7), 7_000);
        assert_eq!(pause(None, Some(999_000), 0), 1_000, "others end it");
        assert_eq!(pause(Some(0), None, 0), 2_000, "there is no room");
    }
}
