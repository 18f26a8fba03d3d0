//! What a client of an earlier revision said in `initialize`, and what it and the server have open.
//!
//! Invariant: a question that was sent is answered once, by the client that it was sent to.

use super::running::Running;
use super::sessions::Key;
use crate::call::Events;
use crate::catalog::UpdateListener;
use crate::limits::LISTEN_URIS;
use crate::protocol::legacy::{Handshake, ask};
use crate::protocol::{Level, Response, RpcError};
use indexmap::IndexSet;
use parking_lot::Mutex;
use rand::RngExt as _;
use serde_json::{Map, Value};
use std::collections::HashMap;
use std::sync::{Arc, Weak};
use tokio::sync::oneshot;

/// What is logged to a client that did not say.
const LEVEL: Level = Level::Info;

/// What came of a question: the result, or the client's words of why there is none.
type Answer = Result<Value, String>;

/// A client of an earlier revision.
pub(crate) struct Session {
    /// What tells it from others over HTTP; a pipe has one.
    pub(super) key: Option<Key>,
    pub(super) handshake: Handshake,
    pub(super) running: Arc<Running>,
    level: Mutex<Level>,
    asked: Mutex<HashMap<u64, oneshot::Sender<Answer>>>,
    subscribed: Mutex<Subscribed>,
}

/// Resources of whose changes a client wants to hear.
#[derive(Default)]
struct Subscribed {
    uris: IndexSet<Arc<str>>,
    /// What the client's open stream hears.
    stream: Weak<UpdateListener>,
}

impl Session {
    pub(super) fn new(
        key: Option<Key>,
        handshake: Handshake,
        running: Arc<Running>,
        level: Option<Level>,
    ) -> Self {
        Self {
            key,
            handshake,
            running,
            level: Mutex::new(level.unwrap_or(LEVEL)),
            asked: Mutex::default(),
            subscribed: Mutex::default(),
        }
    }

    /// The client wants to hear of changes of a resource.
    ///
    /// # Errors
    /// `-32602`: it hears of as many as it may.
    pub(super) fn subscribe(&self, uri: &str) -> Result<(), RpcError> {
        let mut subscribed = self.subscribed.lock();
        if subscribed.uris.len() >= LISTEN_URIS && !subscribed.uris.contains(uri) {
            let most = format!("A session may subscribe to {LISTEN_URIS} resources (LISTEN_URIS)");
            return Err(RpcError::invalid_params(most));
        }
        let uri: Arc<str> = uri.into();
        subscribed.uris.insert(Arc::clone(&uri));
        if let Some(stream) = subscribed.stream.upgrade() {
            stream.add(uri);
        }
        Ok(())
    }

    /// Bytes of the URIs that it subscribed to.
    pub(super) fn subscribed_bytes(&self) -> usize {
        let subscribed = self.subscribed.lock();
        subscribed.uris.iter().map(|uri| uri.len()).sum()
    }

    /// It wants to hear of it no more.
    pub(super) fn unsubscribe(&self, uri: &str) {
        let mut subscribed = self.subscribed.lock();
        subscribed.uris.shift_remove(uri);
        if let Some(stream) = subscribed.stream.upgrade() {
            stream.remove(uri);
        }
    }

    /// The client has opened a stream, which hears from now on what it subscribes to.
    pub(super) fn hears(&self, stream: &Arc<UpdateListener>) {
        let mut subscribed = self.subscribed.lock();
        subscribed.stream = Arc::downgrade(stream);
        for uri in &subscribed.uris {
            stream.add(Arc::clone(uri));
        }
    }

    /// Least severe messages that the client wants.
    pub(super) fn level(&self) -> Level {
        *self.level.lock()
    }

    pub(super) fn set_level(&self, level: Level) {
        *self.level.lock() = level;
    }

    /// Takes an answer. One to a question that is not open is passed over.
    pub(super) fn answered(&self, response: &Response<'_>) {
        let id = response.id.get().parse().ok();
        let Some(sender) = id.and_then(|id| self.asked.lock().remove(&id)) else {
            return;
        };
        let answer = match response.outcome {
            Ok(result) => serde_json::from_str(result.get()).map_err(|error| error.to_string()),
            Err(error) => Err(words(error.get())),
        };
        // Whoever asked may be gone.
        let _ = sender.send(answer);
    }

    /// Asks the client, all at once, on the stream of its request, and waits for every answer.
    ///
    /// # Errors
    /// `-32603`: the client did not answer.
    pub(super) async fn ask(
        &self,
        requests: &Map<String, Value>,
        events: &Events,
    ) -> Result<Map<String, Value>, RpcError> {
        let mut open = Vec::with_capacity(requests.len());
        for (key, request) in requests {
            let asked = self.open();
            let message = ask(asked.id, request, self.handshake.revision);
            events.send(message).await.map_err(|_| {
                RpcError::internal(
                    "The tool has a question; to be asked, send \"Accept: text/event-stream\"",
                )
            })?;
            open.push((key, asked));
        }
        let mut answers = Map::new();
        for (key, mut asked) in open {
            let answer = match (&mut asked.answer).await {
                Ok(answer) => answer,
                Err(_) => Err("it went away".to_owned()),
            };
            let answer = answer.map_err(|reason| {
                RpcError::internal(format!("The client did not answer {key:?}: {reason}"))
            })?;
            answers.insert(key.clone(), answer);
        }
        Ok(answers)
    }

    fn open(&self) -> Asked<'_> {
        let (sender, answer) = oneshot::channel();
        // What JavaScript can count to. Nobody else's guess, and no earlier session's number.
        let id = rand::rng().random_range(1..1 << 53);
        self.asked.lock().insert(id, sender);
        Asked {
            session: self,
            id,
            answer,
        }
    }
}

/// A question that is open until this is dropped.
struct Asked<'a> {
    session: &'a Session,
    id: u64,
    answer: oneshot::Receiver<Answer>,
}

impl Drop for Asked<'_> {
    fn drop(&mut self) {
        self.session.asked.lock().remove(&self.id);
    }
}

/// The message of an error object.
fn words(error: &str) -> String {
    const MOST: usize = 512;
    let error: Value = serde_json::from_str(error).unwrap_or_default();
    let mut words = error["message"].as_str().unwrap_or("no reason").to_owned();
    words.truncate(words.floor_char_boundary(MOST));
    words
}
