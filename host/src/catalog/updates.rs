//! Who hears of what components say that changed.
//!
//! Invariant: a change is noted for every listener that it concerns, at most once until that looks; so
//! memory is bounded by what is listened to, a component that tells without end costs its listeners
//! nothing but one look in a while, and the last change is never lost. What components of this node say
//! goes to other nodes, too ([`Outbox`]); what others say stays here.

use super::outbox::Outbox;
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

    /// A component of this node says that a resource changed. What nobody hears of is not copied.
    pub fn say_resource(&self, source: &Arc<str>, uri: &str) {
        self.note_resource(Some(source), uri);
        if may_be_told(uri) {
            self.outbox.put(|| What::Resource(uri.into()), source);
        }
    }

    /// A component of this node says that a list changed.
    pub fn say_list(&self, source: &Arc<str>, kind: Kind) {
        self.note_list(Some(source), kind);
        self.outbox.put(|| What::List(kind), source);
    }

    /// Something changed: whoever listens here will hear of it.
    pub fn note(&self, update: &Update) {
        let source = update.source.as_ref();
        match &update.what {
            What::Resource(uri) => self.note_resource(source, uri),
            What::List(kind) => self.note_list(source, *kind),
        }
    }

    /// The same of a resource. Without a source, any may have said so.
    pub fn note_resource(&self, source: Option<&Arc<str>>, uri: &str) {
        if let Some((uri, mailboxes)) = self.by_uri.lock().get_key_value(uri) {
            put(mailboxes, What::Resource(Arc::clone(uri)), source);
        }
    }

    fn note_list(&self, source: Option<&Arc<str>>, kind: Kind) {
        put(&self.lists.lock(), What::List(kind), source);
    }

    /// Any resource of a source may have changed, or of all.
    pub fn note_resources(&self, source: Option<&Arc<str>>) {
        for (uri, mailboxes) in &*self.by_uri.lock() {
            put(mailboxes, What::Resource(Arc::clone(uri)), source);
        }
    }

    /// Anything may have changed.
    pub fn note_anything(&self) {
        self.note_resources(None);
        for kind in Kind::ALL {
            self.note_list(None, kind);
        }
    }
}

fn put(mailboxes: &[Arc<Mailbox>], what: What, source: Option<&Arc<str>>) {
    let update = Update {
        what,
        source: source.cloned(),
    };
    mailboxes.iter().for_each(|it| it.put(update.clone()));
}

/// False of what no resource can be called: messages among nodes are short texts.
fn may_be_told(uri: &str) -> bool {
    uri.len() <= URI_BYTES && !uri.contains(char::is_control)
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

    #[tokio::test]
    async fn many_changes_of_one_resource_are_one_note_in_a_while() {
        let updates = Arc::new(Updates::default());
        let source: Arc<str> = "s".into();
        let listener = updates.listen();
        listener.add("a:b".into());
        for _ in 0..1_000 {
            updates.say_resource(&source, "a:b");
            updates.say_resource(&source, "a:other");
            updates.say_list(&source, Kind::Resources);
        }
        let mut last = None;
        let started = Instant::now();
        let first = listener.next(&mut last).await;
        assert_eq!(first.len(), 2, "{first:?}");
        updates.say_resource(&source, "a:b");
        updates.say_resource(&source, "a:b");
        let second = listener.next(&mut last).await;
        assert_eq!(second.len(), 1);
        assert!(started.elapsed() >= CHANGE_INTERVAL);
        listener.remove("a:b");
        updates.say_resource(&source, "a:b");
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
