//! What a request streams before its reply.
//!
//! Invariants: nothing is allocated until something is streamed; the queue is bounded, in messages and
//! in bytes, and whoever fills it either waits or drops.

use crate::limits::{STREAM_BACKLOG, STREAM_BACKLOG_BYTES};
use bytes::Bytes;
use parking_lot::Mutex;
use std::collections::VecDeque;
use tokio::sync::Notify;

/// The notifications of one request, on their way to its stream.
pub struct Events {
    /// The client accepts a stream.
    open: bool,
    queue: Mutex<Queue>,
    filled: Notify,
    drained: Notify,
}

#[derive(Default)]
struct Queue {
    messages: VecDeque<Bytes>,
    bytes: usize,
}

impl Queue {
    /// Takes a message if there is room: a large one if nothing else waits.
    fn push(&mut self, message: &Bytes) -> bool {
        let room = self.messages.len() < STREAM_BACKLOG
            && self.bytes.saturating_add(message.len()) <= STREAM_BACKLOG_BYTES;
        let room = room || self.messages.is_empty();
        if room {
            self.bytes += message.len();
            self.messages.push_back(message.clone());
        }
        room
    }

    fn pop(&mut self) -> Option<Bytes> {
        let message = self.messages.pop_front()?;
        self.bytes -= message.len();
        Some(message)
    }
}

/// The client does not accept a stream.
#[derive(Debug, thiserror::Error)]
#[error("the client does not accept text/event-stream")]
pub struct EventsClosed;

impl Events {
    /// A queue; closed if the client does not accept a stream.
    #[must_use]
    pub fn new(open: bool) -> Self {
        Self {
            open,
            queue: Mutex::default(),
            filled: Notify::new(),
            drained: Notify::new(),
        }
    }

    /// True if the client accepts a stream.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.open
    }

    /// Queues a notification, unless the queue is full or closed.
    pub fn offer(&self, message: Bytes) {
        if !self.open {
            return;
        }
        let queued = self.queue.lock().push(&message);
        if queued {
            self.filled.notify_one();
        }
    }

    /// Queues a notification, waiting for room.
    ///
    /// # Errors
    /// [`EventsClosed`].
    pub async fn send(&self, message: Bytes) -> Result<(), EventsClosed> {
        if !self.open {
            return Err(EventsClosed);
        }
        while !self.queue.lock().push(&message) {
            self.drained.notified().await;
        }
        self.filled.notify_one();
        Ok(())
    }

    /// Takes the oldest notification, if there is one.
    pub fn take(&self) -> Option<Bytes> {
        let message = self.queue.lock().pop();
        if message.is_some() {
            self.drained.notify_one();
        }
        message
    }

    /// True if nothing waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.queue.lock().messages.is_empty()
    }

    /// Resolves when there may be a notification.
    pub async fn filled(&self) {
        self.filled.notified().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_full_queue_drops_offers_and_holds_up_sends() {
        let events = Events::new(true);
        for _ in 0..=STREAM_BACKLOG {
            events.offer(Bytes::from_static(b"x"));
        }
        assert_eq!(events.queue.lock().messages.len(), STREAM_BACKLOG);
        let send = events.send(Bytes::from_static(b"last"));
        tokio::pin!(send);
        tokio::select! {
            biased;
            _ = &mut send => panic!("sent into a full queue"),
            () = std::future::ready(()) => {}
        }
        assert!(events.take().is_some());
        send.await.unwrap();
        while events.queue.lock().messages.len() > 1 {
            events.take();
        }
        assert_eq!(events.take().unwrap(), "last");
        assert!(Events::new(false).send(Bytes::new()).await.is_err());
    }

    #[test]
    fn a_queue_is_full_of_bytes_too() {
        let events = Events::new(true);
        let large = Bytes::from(vec![b'x'; STREAM_BACKLOG_BYTES / 4 + 1]);
        let held = || std::iter::from_fn(|| events.take()).count();
        for _ in 0..10 {
            events.offer(large.clone());
        }
        assert_eq!(held(), 3);
        // A result may be larger than all that: it waits alone.
        let larger = Bytes::from(vec![b'x'; 2 * STREAM_BACKLOG_BYTES]);
        events.offer(larger);
        events.offer(large.clone());
        assert_eq!(held(), 1);
        events.offer(large);
        assert_eq!(held(), 1, "what was taken makes room");
    }
}
