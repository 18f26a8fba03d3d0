//! The right to run an instance, shared fairly between tenants.
//!
//! Invariants: never more permits than there are; a tenant never has more than its share allows; a
//! free permit goes to the tenants that wait in turn, whoever came first, and within a tenant to
//! whoever waits longest. So a tenant with a thousand calls delays another one's by one call, not by
//! a thousand.

use parking_lot::Mutex;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use tokio::sync::oneshot;

/// What a tenant may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// Instances at once.
    pub running: usize,
    /// Calls that wait for one.
    pub waiting: usize,
}

/// A tenant has as many calls waiting as it may.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Full {
    pub(super) running: usize,
    pub(super) waiting: usize,
}

/// All permits. A clone shares them.
#[derive(Clone)]
pub(super) struct FairQueue(Arc<Mutex<Lanes>>);

struct Lanes {
    total: usize,
    free: usize,
    by_tenant: HashMap<Arc<str>, Lane>,
    /// Tenants with waiting calls, in turn.
    turn: VecDeque<Arc<str>>,
}

#[derive(Default)]
struct Lane {
    running: usize,
    most: usize,
    waiting: VecDeque<oneshot::Sender<Permit>>,
}

/// The right to run one instance. Dropping it gives it to the next.
pub(super) struct Permit {
    lanes: Arc<Mutex<Lanes>>,
    tenant: Arc<str>,
}

impl FairQueue {
    pub(super) fn new(total: usize) -> Self {
        Self(Arc::new(Mutex::new(Lanes {
            total,
            free: total,
            by_tenant: HashMap::new(),
            turn: VecDeque::new(),
        })))
    }

    /// Permits that are taken.
    pub(super) fn running(&self) -> usize {
        let lanes = self.0.lock();
        lanes.total - lanes.free
    }

    /// Calls that wait for one; those that gave up do not count.
    pub(super) fn waiting(&self) -> usize {
        let lanes = self.0.lock();
        let waiters = lanes.by_tenant.values().flat_map(|lane| &lane.waiting);
        waiters.filter(|waiter| !waiter.is_closed()).count()
    }

    /// Waits for a permit. Without a bound on waiting, for as long as it takes.
    pub(super) async fn acquire(
        &self,
        tenant: &Arc<str>,
        share: Share,
        patient: bool,
    ) -> Result<Permit, Full> {
        let receiver = {
            let mut lanes = self.0.lock();
            let Lanes {
                free,
                by_tenant,
                turn,
                ..
            } = &mut *lanes;
            let lane = by_tenant.entry(Arc::clone(tenant)).or_default();
            lane.most = share.running.max(1);
            if *free > 0 && lane.running < lane.most && lane.waiting.is_empty() {
                *free -= 1;
                lane.running += 1;
                return Ok(self.permit(tenant));
            }
            if !patient && lane.waiting.len() >= share.waiting {
                // Those that gave up do not count.
                lane.waiting.retain(|waiter| !waiter.is_closed());
            }
            if !patient && lane.waiting.len() >= share.waiting {
                let full = Full {
                    running: lane.most,
                    waiting: lane.waiting.len(),
                };
                if lane.running == 0 && lane.waiting.is_empty() {
                    by_tenant.remove(tenant);
                }
                return Err(full);
            }
            if lane.waiting.is_empty() && !turn.contains(tenant) {
                turn.push_back(Arc::clone(tenant));
            }
            let (sender, receiver) = oneshot::channel();
            lane.waiting.push_back(sender);
            receiver
        };
        // A sender is dropped only when a permit could not be sent, and then its receiver is gone.
        receiver.await.map_err(|_| Full {
            running: share.running,
            waiting: share.waiting,
        })
    }

    fn permit(&self, tenant: &Arc<str>) -> Permit {
        Permit {
            lanes: Arc::clone(&self.0),
            tenant: Arc::clone(tenant),
        }
    }
}

impl Lanes {
    /// The next call that may run now: in turn, leaving out tenants that have all they may.
    fn next(&mut self) -> Option<(Arc<str>, oneshot::Sender<Permit>)> {
        for _ in 0..self.turn.len() {
            if self.free == 0 {
                return None;
            }
            let tenant = self.turn.pop_front()?;
            let Some(lane) = self.by_tenant.get_mut(&tenant) else {
                continue;
            };
            if lane.running >= lane.most {
                self.turn.push_back(tenant);
                continue;
            }
            while lane.waiting.front().is_some_and(oneshot::Sender::is_closed) {
                lane.waiting.pop_front();
            }
            let waiter = lane.waiting.pop_front();
            if !lane.waiting.is_empty() {
                self.turn.push_back(Arc::clone(&tenant));
            }
            let Some(waiter) = waiter else {
                if lane.running == 0 {
                    self.by_tenant.remove(&tenant);
                }
                continue;
            };
            lane.running += 1;
            self.free -= 1;
            return Some((tenant, waiter));
        }
        None
    }

    fn give_back(&mut self, tenant: &Arc<str>) {
        self.free += 1;
        if let Some(lane) = self.by_tenant.get_mut(tenant) {
            lane.running -= 1;
            if lane.running == 0 && lane.waiting.is_empty() {
                self.by_tenant.remove(tenant);
            }
        }
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.lanes.lock().give_back(&self.tenant);
        loop {
            let next = self.lanes.lock().next();
            let Some((tenant, waiter)) = next else { return };
            let permit = Self {
                lanes: Arc::clone(&self.lanes),
                tenant,
            };
            // Whoever gave up meanwhile leaves it to the next, by dropping it.
            if waiter.send(permit).is_ok() {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHARE: Share = Share {
        running: 10,
        waiting: 100,
    };

    fn tenant(name: &str) -> Arc<str> {
        name.into()
    }

    /// Starts calls that wait, and tells their order.
    async fn order(
        queue: &Arc<FairQueue>,
        waiting: Vec<&'static str>,
        held: Permit,
    ) -> Vec<String> {
        let (sender, mut receiver) = tokio::sync::mpsc::unbounded_channel();
        let mut calls = Vec::new();
        for name in waiting {
            let (queue, sender) = (Arc::clone(queue), sender.clone());
            calls.push(tokio::spawn(async move {
                let permit = queue.acquire(&tenant(name), SHARE, false).await.ok();
                sender.send(name.to_owned()).unwrap();
                drop(permit);
            }));
            tokio::task::yield_now().await;
        }
        drop((held, sender));
        let mut order = Vec::new();
        while let Some(name) = receiver.recv().await {
            order.push(name);
        }
        order
    }

    #[tokio::test]
    async fn tenants_take_turns_whoever_came_first() {
        let queue = Arc::new(FairQueue::new(1));
        let held = queue
            .acquire(&tenant("x"), SHARE, false)
            .await
            .ok()
            .unwrap();
        let waiting = vec!["a", "a", "a", "a", "b", "c", "b"];
        let order = order(&queue, waiting, held).await;
        assert_eq!(order, ["a", "b", "c", "a", "b", "a", "a"]);
        assert_eq!(queue.running(), 0);
        assert!(
            queue.0.lock().by_tenant.is_empty(),
            "nothing is left of a tenant"
        );
    }

    #[tokio::test]
    async fn a_tenant_at_its_share_waits_while_others_run() {
        let queue = FairQueue::new(3);
        let one = Share {
            running: 1,
            waiting: 1,
        };
        let a = queue.acquire(&tenant("a"), one, false).await.ok().unwrap();
        let tenant_a = tenant("a");
        let second = queue.acquire(&tenant_a, one, false);
        tokio::pin!(second);
        tokio::select! {
            biased;
            _ = &mut second => panic!("more than its share"),
            () = std::future::ready(()) => {}
        }
        let full = queue.acquire(&tenant("a"), one, false).await.err();
        assert_eq!(
            full,
            Some(Full {
                running: 1,
                waiting: 1
            })
        );
        let b = queue.acquire(&tenant("b"), one, false).await;
        assert!(b.is_ok(), "another tenant feels nothing");
        drop(a);
        assert!(second.await.is_ok());
    }

    #[tokio::test]
    async fn whoever_gives_up_leaves_its_place() {
        let queue = FairQueue::new(1);
        let one = Share {
            running: 1,
            waiting: 1,
        };
        let held = queue.acquire(&tenant("a"), one, false).await.ok().unwrap();
        {
            let tenant_b = tenant("b");
            let waiting = queue.acquire(&tenant_b, one, false);
            tokio::pin!(waiting);
            tokio::select! {
                biased;
                _ = &mut waiting => panic!("there is none"),
                () = std::future::ready(()) => {}
            }
        }
        let tenant_b = tenant("b");
        let next = queue.acquire(&tenant_b, one, false);
        tokio::pin!(next);
        tokio::select! {
            biased;
            _ = &mut next => panic!("there is none"),
            () = std::future::ready(()) => {}
        }
        assert_eq!(queue.waiting(), 1, "who gave up waits no more");
        drop(held);
        assert!(next.await.is_ok());
        assert_eq!((queue.running(), queue.waiting()), (0, 0));
    }
}
