//! Who hears of changes to tasks.
//!
//! Invariant: a change is noted for every listener of the task, at most once until it looks; what
//! it then sends is what the store says. So memory is bounded by the ids listened to, a slow
//! listener skips states but never the last one, and a listener never holds up a writer.

use super::id::TaskId;
use indexmap::IndexSet;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use tokio::sync::Notify;

/// All listeners of a server.
#[derive(Default)]
pub struct Listeners {
    by_task: Mutex<HashMap<TaskId, Vec<Arc<Mailbox>>>>,
}

#[derive(Default)]
struct Mailbox {
    changed: Mutex<IndexSet<TaskId>>,
    notify: Notify,
}

impl Listeners {
    /// Listens to some tasks. Every one counts as changed at first.
    pub fn listen(self: &Arc<Self>, ids: Vec<TaskId>) -> Listener {
        let listener = self.watch(ids);
        for id in &listener.ids {
            listener.mailbox.put(*id);
        }
        listener
    }

    /// Listens to some tasks from now on: none counts as changed yet.
    pub fn watch(self: &Arc<Self>, ids: Vec<TaskId>) -> Listener {
        let mailbox = Arc::new(Mailbox::default());
        let mut by_task = self.by_task.lock();
        for id in &ids {
            by_task.entry(*id).or_default().push(Arc::clone(&mailbox));
        }
        drop(by_task);
        Listener {
            listeners: Arc::clone(self),
            mailbox,
            ids,
        }
    }

    /// Notes that a task changed.
    pub fn publish(&self, id: TaskId) {
        if let Some(mailboxes) = self.by_task.lock().get(&id) {
            mailboxes.iter().for_each(|mailbox| mailbox.put(id));
        }
    }

    /// Notes that every task may have changed.
    pub fn publish_all(&self) {
        for (id, mailboxes) in &*self.by_task.lock() {
            mailboxes.iter().for_each(|mailbox| mailbox.put(*id));
        }
    }
}

impl Mailbox {
    fn put(&self, id: TaskId) {
        self.changed.lock().insert(id);
        self.notify.notify_one();
    }
}

/// One listener. Dropping it ends the listening.
pub struct Listener {
    listeners: Arc<Listeners>,
    mailbox: Arc<Mailbox>,
    ids: Vec<TaskId>,
}

impl Listener {
    /// The next task that changed.
    pub async fn next(&self) -> TaskId {
        loop {
            let next = self.mailbox.changed.lock().shift_remove_index(0);
            match next {
                Some(id) => return id,
                None => self.mailbox.notify.notified().await,
            }
        }
    }

    /// The task could not be looked at: it counts as changed still.
    pub fn put_back(&self, id: TaskId) {
        self.mailbox.put(id);
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        let mut by_task = self.listeners.by_task.lock();
        for id in &self.ids {
            if let Some(mailboxes) = by_task.get_mut(id) {
                mailboxes.retain(|mailbox| !Arc::ptr_eq(mailbox, &self.mailbox));
                if mailboxes.is_empty() {
                    by_task.remove(id);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn many_changes_of_one_task_are_one_note() {
        let listeners = Arc::new(Listeners::default());
        let (a, b) = (TaskId::random(), TaskId::random());
        let listener = listeners.listen(vec![a]);
        assert_eq!(listener.next().await, a, "the present state comes first");
        for _ in 0..1_000 {
            listeners.publish(a);
            listeners.publish(b);
        }
        assert_eq!(listener.next().await, a);
        assert!(listener.mailbox.changed.lock().is_empty());
        drop(listener);
        assert!(
            listeners.by_task.lock().is_empty(),
            "nothing is left of a listener"
        );
    }
}
