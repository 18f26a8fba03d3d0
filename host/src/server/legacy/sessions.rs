//! Sessions over HTTP (MCP 2025-11-25, "Session management").
//!
//! Invariants: `Mcp-Session-Id` is what the client said in `initialize`, sealed for its caller; so a
//! session costs nothing while no request of it runs, outlives a restart, and is good on every node
//! with the same key. What a node remembers beside is the log level, and what a client subscribed to, of so
//! many sessions.

use super::running::Running;
use super::session::Session;
use crate::call::Sealer;
use crate::limits::{LEGACY_SESSIONS, LEGACY_URI_BYTES};
use crate::protocol::legacy::{Handshake, Revision};
use crate::protocol::{ClientFeatures, Level};
use crate::task::Principal;
use indexmap::IndexMap;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::{Arc, Weak};

/// Names the form of what is sealed; another form gets another name.
const FORM: &str = "cofferdam session 1";

/// Tells sessions apart.
pub(super) type Key = [u8; 16];

/// Those of this node.
#[derive(Default)]
pub(crate) struct Sessions(Mutex<Known>);

#[derive(Default)]
struct Known {
    /// Of which something runs now.
    active: HashMap<Key, Weak<Session>>,
    /// The one that was set last is the last one.
    levels: IndexMap<Key, Level>,
    /// Those that subscribed to resources, with the bytes of their URIs: they are remembered until their
    /// client opens its stream, and while it has none for a moment. The last one is the last one.
    subscribed: IndexMap<Key, (Arc<Session>, usize)>,
}

impl Sessions {
    /// The id of a new session; `None` if it cannot be sealed, which does not happen.
    pub(super) fn begin(sealer: &Sealer, caller: &Principal, said: Handshake) -> Option<String> {
        let key: Key = rand::random();
        let plain = postcard::to_allocvec(&(key, said.revision.name(), said.features)).ok()?;
        sealer.seal(&about(caller), &plain)
    }

    /// The session of an id, if it is one of this caller's.
    pub(super) fn find(
        &self,
        sealer: &Sealer,
        caller: &Principal,
        id: &str,
    ) -> Option<Arc<Session>> {
        let plain = sealer.open(&about(caller), id)?;
        let (key, revision, features): (Key, &str, ClientFeatures) =
            postcard::from_bytes(&plain).ok()?;
        let revision = Revision::from_name(revision)?;
        let mut known = self.0.lock();
        if let Some(session) = known.active.get(&key).and_then(Weak::upgrade) {
            return Some(session);
        }
        if known.active.len() == known.active.capacity() {
            known.active.retain(|_, session| session.strong_count() > 0);
        }
        let handshake = Handshake { revision, features };
        let level = known.levels.get(&key).copied();
        let running = Arc::<Running>::default();
        let session = Arc::new(Session::new(Some(key), handshake, running, level));
        known.active.insert(key, Arc::downgrade(&session));
        Some(session)
    }

    /// Sets a session's level, and remembers it for requests to come.
    pub(super) fn set_level(&self, session: &Session, level: Level) {
        session.set_level(level);
        let Some(key) = session.key else {
            return;
        };
        let levels = &mut self.0.lock().levels;
        levels.shift_remove(&key);
        if levels.len() >= LEGACY_SESSIONS {
            levels.shift_remove_index(0);
        }
        levels.insert(key, level);
    }
}

impl Sessions {
    /// Remembers what a session subscribed to, for a stream to come.
    pub(super) fn remember(&self, session: &Arc<Session>) {
        let Some(key) = session.key else {
            return;
        };
        let subscribed = &mut self.0.lock().subscribed;
        subscribed.shift_remove(&key);
        let bytes = session.subscribed_bytes();
        if bytes > 0 {
            subscribed.insert(key, (Arc::clone(session), bytes));
        }
        let mut all: usize = subscribed.values().map(|(_, bytes)| bytes).sum();
        while subscribed.len() > LEGACY_SESSIONS || all > LEGACY_URI_BYTES {
            let first = subscribed.shift_remove_index(0);
            all -= first.map_or(all, |(_, (_, bytes))| bytes);
        }
    }
}

fn about(caller: &Principal) -> Vec<u8> {
    let parts = [FORM, &caller.tenant, &caller.subject];
    serde_json::to_vec(&parts).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_good_for_its_caller_only_and_on_every_node_with_the_key() {
        let principal = |subject: &str| Principal {
            subject: subject.into(),
            ..Principal::anonymous()
        };
        let (one, other) = (principal("one"), principal("other"));
        let said = Handshake {
            revision: Revision::V20250618,
            features: ClientFeatures::ELICITATION_FORM,
        };
        let sealer = Sealer::new([7; 32]);
        let id = Sessions::begin(&sealer, &one, said).unwrap();
        let node = Sessions::default();
        let session = node.find(&Sealer::new([7; 32]), &one, &id).unwrap();
        assert_eq!(session.handshake, said);
        let again = node.find(&sealer, &one, &id).unwrap();
        assert!(Arc::ptr_eq(&session, &again));
        assert!(node.find(&sealer, &other, &id).is_none());
        assert!(node.find(&Sealer::new([8; 32]), &one, &id).is_none());
        assert!(node.find(&sealer, &one, &format!("{id}A")).is_none());

        // What is remembered of a session in which nothing runs.
        node.set_level(&session, Level::Error);
        drop((session, again));
        let session = node.find(&sealer, &one, &id).unwrap();
        assert_eq!(session.level(), Level::Error);
    }

    #[test]
    fn subscriptions_wait_for_a_stream_and_are_bounded() {
        let sealer = Sealer::new([7; 32]);
        let (caller, node) = (Principal::anonymous(), Sessions::default());
        let said = Handshake {
            revision: Revision::V20251125,
            features: ClientFeatures::empty(),
        };
        let begin = || Sessions::begin(&sealer, &caller, said).unwrap();
        let first = begin();
        let session = node.find(&sealer, &caller, &first).unwrap();
        session.subscribe("a:b").unwrap();
        node.remember(&session);
        let known = Arc::downgrade(&session);
        drop(session);
        let again = node.find(&sealer, &caller, &first).unwrap();
        assert_eq!(again.subscribed_bytes(), 3);
        drop(again);
        for n in 0..=LEGACY_URI_BYTES / 1_000_000 {
            let session = node.find(&sealer, &caller, &begin()).unwrap();
            let uri = format!("a:{n}{}", "b".repeat(1_000_000));
            session.subscribe(&uri).unwrap();
            node.remember(&session);
        }
        assert!(known.upgrade().is_none(), "the first one is forgotten");
        let bytes: usize = node.0.lock().subscribed.values().map(|it| it.1).sum();
        assert!(bytes <= LEGACY_URI_BYTES && bytes > 0, "{bytes}");
    }

    #[test]
    fn memory_does_not_grow_with_sessions() {
        let sealer = Sealer::new([7; 32]);
        let (caller, node) = (Principal::anonymous(), Sessions::default());
        let said = Handshake {
            revision: Revision::V20251125,
            features: ClientFeatures::empty(),
        };
        for _ in 0..LEGACY_SESSIONS + 100 {
            let id = Sessions::begin(&sealer, &caller, said).unwrap();
            let session = node.find(&sealer, &caller, &id).unwrap();
            node.set_level(&session, Level::Debug);
        }
        let known = node.0.lock();
        assert_eq!(known.levels.len(), LEGACY_SESSIONS);
        assert!(known.active.capacity() < 64, "{}", known.active.capacity());
    }
}
