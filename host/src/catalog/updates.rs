//! Who hears of what components say that changed.
//!
//! Invariant: a change is noted for every listener that it concerns, at most once until that looks; so
//! memory is bounded by what is listened to, a component that tells without end costs its listeners
//! nothing but one look in a while, and the last change is never lost. What components of this node say
//! goes to other nodes, too ([`Outbox`]); what others say stays here.

use super::outbox::{Outbox, Saying};
use crate::limits::{CHANGE_INTERVAL, URI_BYTES};
use crate::protocol::Kind;
use indexmap::IndexSet;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

/// Something that a component says changed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Update {
    /// What.
    pub what: What,
    /// Stands for the source of the component that says so. None: it may be any, as what other nodes
    /// said was missed.
    pub source: Option<Arc<str>>,
}

/// What changed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum What {
    /// What the resource of this URI holds.
    Resource(Arc<str>),
    /// What a list shows of the component.
    List(Kind),
}

/// All listeners of a server.
#[derive(Default)]
pub struct Updates {
    by_uri: Mutex<HashMap<Arc<str>, Vec<Arc<Mailbox>>>>,
    lists: Mutex<Vec<Arc<Mailbox>>>,
    outbox: Outbox,
}

#[derive(Default)]
struct Mailbox {
    changed: Mutex<IndexSet<Update>>,
    notify: Notify,
}

impl Mailbox {
    fn put(&self, update: Update) {
        if self.changed.lock().insert(update) {
            self.notify.notify_one();
        }
    }
}

impl Updates {
    /// Listens to what changes of lists, and to no resource yet.
    #[must_use]
    pub fn listen(self: &Arc<Self>) -> UpdateListener {
        let mailbox = Arc::new(Mailbox::default());
        self.lists.lock().push(Arc::clone(&mailbox));
        UpdateListener {
            updates: Arc::clone(self),
            mailbox,
            uris: Mutex::default(),
        }
    }

    /// What other nodes are to be told.
    #[must_use]
    pub fn outbox(&self) -> &Outbox {
        &self.outbox
    }

    /// A component of this node says that something changed.
    pub fn say(&self, source: &Arc<str>, what: What) {
        let update = Update {
            what,
            source: Some(Arc::clone(source)),
        };
        self.note(&update);
        if may_be_told(&update.what) {
            self.outbox.put(Saying::One(update));
        }
    }

    /// Something changed: whoever listens here will hear of it.
    pub fn note(&self, update: &Update) {
        match &update.what {
            What::Resource(uri) => {
                let by_uri = self.by_uri.lock();
                let mailboxes = by_uri.get(uri).into_iter().flatten();
                mailboxes.for_each(|it| it.put(update.clone()));
            }
            What::List(_) => {
                let lists = self.lists.lock();
                lists.iter().for_each(|it| it.put(update.clone()));
            }
        }
    }

    /// Any resource of a source may have changed, or of all.
    pub fn note_resources(&self, source: Option<&Arc<str>>) {
        for (uri, mailboxes) in &*self.by_uri.lock() {
            let update = Update {
                what: What::Resource(Arc::clone(uri)),
                source: source.cloned(),
            };
            mailboxes.iter().for_each(|it| it.put(update.clone()));
        }
    }

    /// Anything may have changed.
    pub fn note_anything(&self) {
        self.note_resources(None);
        for what in Kind::ALL.map(What::List) {
            self.note(&Update { what, source: None });
        }
    }
}

/// False of what no resource can be called: messages among nodes are short texts.
fn may_be_told(what: &What) -> bool {
    match what {
        What::Resource(uri) => uri.len() <= URI_BYTES && !uri.contains(char::is_control),
        What::List(_) => true,
    }
}

/// One listener. Dropping it ends the listening.
pub struct UpdateListener {
    updates: Arc<Updates>,
    mailbox: Arc<Mailbox>,
    uris: Mutex<IndexSet<Arc<str>>>,
}

impl UpdateListener {
    /// Listens to a resource, too.
    pub fn add(&self, uri: Arc<str>) {
        if self.uris.lock().insert(Arc::clone(&uri)) {
            let mut by_uri = self.updates.by_uri.lock();
            by_uri
                .entry(uri)
                .or_default()
                .push(Arc::clone(&self.mailbox));
        }
    }

    /// Listens to a resource no more.
    pub fn remove(&self, uri: &str) {
        if self.uris.lock().shift_remove(uri) {
            self.forget(uri);
        }
    }

    /// How many resources it listens to.
    #[must_use]
    pub fn resources(&self) -> usize {
        self.uris.lock().len()
    }

    /// What changed since the last look, which may not be the moment before: waits until there is
    /// something.
    pub async fn next(&self, last: &mut Option<Instant>) -> Vec<Update> {
        if let Some(last) = *last {
            sleep_until(last + CHANGE_INTERVAL).await;
        }
        loop {
            let changed = std::mem::take(&mut *self.mailbox.changed.lock());
            if !changed.is_empty() {
                *last = Some(Instant::now());
                return changed.into_iter().collect();
            }
            self.mailbox.notify.notified().await;
        }
    }

    fn forget(&self, uri: &str) {
        let mut by_uri = self.updates.by_uri.lock();
        if let Some(mailboxes) = by_uri.get_mut(uri) {
            mailboxes.retain(|mailbox| !Arc::ptr_eq(mailbox, &self.mailbox));
            if mailboxes.is_empty() {
                by_uri.remove(uri);
            }
        }
    }
}

impl Drop for UpdateListener {
    fn drop(&mut self) {
        let mut lists = self.updates.lists.lock();
        lists.retain(|mailbox| !Arc::ptr_eq(mailbox, &self.mailbox));
        drop(lists);
        for uri in std::mem::take(&mut *self.uris.lock()) {
            self.forget(&uri);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resource(updates: &Updates, source: &Arc<str>, uri: &str) {
        updates.say(source, What::Resource(uri.into()));
    }

    #[tokio::test]
    async fn many_changes_of_one_resource_are_one_note_in_a_while() {
        let updates = Arc::new(Updates::default());
        let source: Arc<str> = "s".into();
        let listener = updates.listen();
        listener.add("a:b".into());
        for _ in 0..1_000 {
            resource(&updates, &source, "a:b");
            resource(&updates, &source, "a:other");
            updates.say(&source, What::List(Kind::Resources));
        }
        let mut last = None;
        let started = Instant::now();
        let first = listener.next(&mut last).await;
        assert_eq!(first.len(), 2, "{first:?}");
        resource(&updates, &source, "a:b");
        resource(&updates, &source, "a:b");
        let second = listener.next(&mut last).await;
        assert_eq!(second.len(), 1);
        assert!(started.elapsed() >= CHANGE_INTERVAL);
        listener.remove("a:b");
        resource(&updates, &source, "a:b");
        assert!(listener.mailbox.changed.lock().is_empty());
        listener.add("a:c".into());
        drop(listener);
        assert!(updates.by_uri.lock().is_empty() && updates.lists.lock().is_empty());
    }

    #[tokio::test]
    async fn what_was_missed_may_be_anything() {
        let updates = Arc::new(Updates::default());
        let listener = updates.listen();
        listener.add("a:b".into());
        updates.note_anything();
        let changed = listener.next(&mut None).await;
        assert_eq!(changed.len(), Kind::ALL.len() + 1, "{changed:?}");
        assert!(changed.iter().all(|update| update.source.is_none()));
        let resource = What::Resource("a:b".into());
        assert!(changed.iter().any(|update| update.what == resource));
    }
}
