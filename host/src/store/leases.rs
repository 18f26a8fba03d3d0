//! Who holds which task, in a store of one process.
//!
//! Invariant: what is held is held by a node that has a lease. Nothing of it outlives the process, as
//! the nodes do not.

use crate::task::{Millis, NodeId, TaskId};
use std::collections::HashMap;

/// The leases of nodes, and what they hold.
#[derive(Default)]
pub(super) struct Leases {
    until: HashMap<NodeId, Millis>,
    held: HashMap<TaskId, NodeId>,
}

impl Leases {
    /// Who holds it, if its lease is over or not.
    pub(super) fn holder(&self, id: TaskId) -> Option<NodeId> {
        self.held.get(&id).copied()
    }

    /// May this node claim it? Not from another one whose lease is not over.
    pub(super) fn may_claim(&self, id: TaskId, node: Option<NodeId>, now: Millis) -> bool {
        self.holder(id).is_none_or(|holder| {
            Some(holder) == node || self.until.get(&holder).is_none_or(|until| *until <= now)
        })
    }

    /// The node, if it has a lease.
    pub(super) fn known(&self, node: Option<NodeId>) -> Option<NodeId> {
        node.filter(|node| self.until.contains_key(node))
    }

    /// Notes who holds it now: the node, if it has a lease, or nobody. Gives who did.
    pub(super) fn hold(&mut self, id: TaskId, node: Option<NodeId>) -> Option<NodeId> {
        match self.known(node) {
            Some(node) => self.held.insert(id, node),
            None => self.held.remove(&id),
        }
    }

    /// Sets a node's lease. False: it had none.
    pub(super) fn renew(&mut self, node: NodeId, until: Millis) -> bool {
        self.until.insert(node, until).is_some()
    }

    /// Ends the leases that are over. Gives what was held under them.
    pub(super) fn end(&mut self, now: Millis) -> Vec<TaskId> {
        let before = self.until.len();
        self.until.retain(|_, until| *until > now);
        if self.until.len() == before {
            return Vec::new();
        }
        let Self { until, held } = self;
        let freed = held.extract_if(|_, node| !until.contains_key(node));
        freed.map(|(id, _)| id).collect()
    }

    /// Ends a node's lease. Gives what was held under it.
    pub(super) fn retire(&mut self, node: NodeId) -> Vec<TaskId> {
        self.until.remove(&node);
        let freed = self.held.extract_if(|_, holder| *holder == node);
        freed.map(|(id, _)| id).collect()
    }

    /// When the first lease of the other nodes is over.
    pub(super) fn next_end(&self, node: NodeId) -> Option<Millis> {
        let others = self.until.iter().filter(|(other, _)| **other != node);
        others.map(|(_, until)| *until).min()
    }
}
