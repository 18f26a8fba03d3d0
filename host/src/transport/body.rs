//! Bodies: one JSON message, or a stream of events that ends with it.
//!
//! Invariant: the work on a request belongs to its body once the stream began, so a client that
//! closes the stream stops it; but it goes on by itself, so one that does not read holds up nothing
//! but its own events.

use super::hold::hold;
use crate::call::Events;
use crate::places::Place;
use crate::server::{Answering, Response};
use bytes::{BufMut as _, Bytes, BytesMut};
use hyper::body::{Body, Frame, SizeHint};
use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::time::{Instant, Sleep, sleep};
use tokio_util::task::AbortOnDropHandle;

/// A response body.
pub(super) enum ResponseBody {
    /// One message, or nothing.
    Whole(Option<Bytes>),
    /// Events, then the reply.
    Stream(Box<EventStream>),
}

impl ResponseBody {
    /// The same, holding a place until it is taken or given up.
    pub(super) fn holding(self, place: Place) -> Self {
        match self {
            Self::Whole(Some(bytes)) => Self::Whole(Some(hold(bytes, place))),
            Self::Whole(None) => Self::Whole(None),
            Self::Stream(mut stream) => {
                stream.place = Some(place);
                Self::Stream(stream)
            }
        }
    }
}

/// A stream of events (WHATWG server-sent events).
pub(super) struct EventStream {
    work: Option<AbortOnDropHandle<Response>>,
    events: Arc<Events>,
    filled: Pin<Box<dyn Future<Output = ()> + Send>>,
    reply: Option<Bytes>,
    keep_alive: Duration,
    silence: Pin<Box<Sleep>>,
    place: Option<Place>,
}

impl EventStream {
    pub(super) fn new(work: Answering, events: Arc<Events>, keep_alive: Duration) -> Self {
        let filled = wait(Arc::clone(&events));
        let silence = Box::pin(sleep(keep_alive));
        Self {
            work: Some(AbortOnDropHandle::new(tokio::spawn(work))),
            events,
            filled,
            reply: None,
            keep_alive,
            silence,
            place: None,
        }
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<Bytes>> {
        loop {
            if let Some(message) = self.events.take() {
                return self.next(&message);
            }
            let Some(work) = &mut self.work else {
                return match self.reply.take() {
                    Some(reply) => self.next(&reply),
                    None => Poll::Ready(None),
                };
            };
            if let Poll::Ready(response) = Pin::new(work).poll(context) {
                // Events that came before the reply go before it. Work that panicked has none, and
                // the stream ends.
                self.work = None;
                self.reply = response.ok().and_then(|response| response.body);
                continue;
            }
            if self.filled.as_mut().poll(context).is_ready() {
                self.filled = wait(Arc::clone(&self.events));
                continue;
            }
            if self.silence.as_mut().poll(context).is_ready() {
                self.restart_silence();
                return Poll::Ready(Some(Bytes::from_static(b":\n\n")));
            }
            return Poll::Pending;
        }
    }

    fn next(&mut self, message: &[u8]) -> Poll<Option<Bytes>> {
        self.restart_silence();
        Poll::Ready(Some(event(message)))
    }

    fn restart_silence(&mut self) {
        self.silence
            .as_mut()
            .reset(Instant::now() + self.keep_alive);
    }
}

/// A message as an event. It is JSON on one line.
pub(super) fn event(message: &[u8]) -> Bytes {
    let mut event = BytesMut::with_capacity(message.len() + 24);
    event.put_slice(b"event: message\ndata: ");
    event.put_slice(message);
    event.put_slice(b"\n\n");
    event.freeze()
}

fn wait(events: Arc<Events>) -> Pin<Box<dyn Future<Output = ()> + Send>> {
    Box::pin(async move { events.filled().await })
}

impl Body for ResponseBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let next = match self.get_mut() {
            Self::Whole(body) => Poll::Ready(body.take()),
            Self::Stream(stream) => stream.poll(context),
        };
        next.map(|bytes| bytes.map(|bytes| Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Self::Whole(None))
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(body) => SizeHint::with_exact(body.as_ref().map_or(0, Bytes::len) as u64),
            Self::Stream(_) => SizeHint::default(),
        }
    }
}
