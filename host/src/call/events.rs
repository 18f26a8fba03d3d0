//! What a request streams before its reply.
//!
//! Invariants: nothing is allocated until something is streamed; the queue is bounded, and whoever
//! fills it either waits or drops.

use crate::limits::STREAM_BACKLOG;
use bytes::Bytes;
use parking_lot::Mutex;
use std::collections::VecDeque;
use tokio::sync::Notify;

/// The notifications of one request, on their way to its stream.
pub struct Events {
    /// The client accepts a stream.
    open: bool,
    queue: Mutex<VecDeque<Bytes>>,
    filled: Notify,
    drained: Notify,
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
        let mut queue = self.queue.lock();
        if queue.len() < STREAM_BACKLOG {
            queue.push_back(message);
            drop(queue);
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
        loop {
            {
                let mut queue = self.queue.lock();
                if queue.len() < STREAM_BACKLOG {
                    queue.push_back(message);
                    break;
                }
            }
            self.drained.notified().await;
        }
        self.filled.notify_one();
        Ok(())
    }

    /// Takes the oldest notification, if there is one.
    pub fn take(&self) -> Option<Bytes> {
        let message = self.queue.lock().pop_front();
        if message.is_some() {
            self.drained.notify_one();
        }
        message
    }

    /// True if nothing waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.queue.lock().is_empty()
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
        assert_eq!(events.queue.lock().len(), STREAM_BACKLOG);
        let send = events.send(Bytes::from_static(b"last"));
        tokio::pin!(send);
        tokio::select! {
            biased;
            _ = &mut send => panic!("sent into a full queue"),
            () = std::future::ready(()) => {}
        }
        assert!(events.take().is_some());
        send.await.unwrap();
        while events.queue.lock().len() > 1 {
            events.take();
        }
        assert_eq!(events.take().unwrap(), "last");
        assert!(Events::new(false).send(Bytes::new()).await.is_err());
    }
}
