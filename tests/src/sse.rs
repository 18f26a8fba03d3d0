//! Server-sent events, parsed strictly: the server sends `data` and comments, nothing else.

use serde_json::Value;

use crate::http::Body;
use crate::patient;

/// One thing on a stream.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// A JSON-RPC message.
    Message(Value),
    /// A comment, which keeps the connection alive.
    Comment(String),
    /// The stream broke off (no regular end of the body).
    Broken,
}

/// The events of one response.
pub struct Events {
    body: Body,
    buffer: Vec<u8>,
}

impl Events {
    pub(crate) fn new(body: Body) -> Self {
        Self {
            body,
            buffer: Vec::new(),
        }
    }

    /// The next event, comments included; none at a regular end.
    ///
    /// # Panics
    /// If nothing comes for long, or what comes is no event of this protocol.
    pub async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(end) = self.buffer.windows(2).position(|pair| pair == b"\n\n") {
                let block: Vec<u8> = self.buffer.drain(..end + 2).collect();
                return Some(parse(std::str::from_utf8(&block[..end]).expect("UTF-8")));
            }
            match patient("an event", self.body.piece()).await {
                Ok(Some(bytes)) => self.buffer.extend_from_slice(&bytes),
                Ok(None) => {
                    let rest = String::from_utf8_lossy(&self.buffer);
                    assert!(rest.is_empty(), "the stream ended within {rest:?}");
                    return None;
                }
                Err(_) => return Some(Event::Broken),
            }
        }
    }

    /// The next message; comments are passed over. None at a regular end.
    ///
    /// # Panics
    /// As [`Events::next`], and if the stream breaks off.
    pub async fn message(&mut self) -> Option<Value> {
        loop {
            match self.next().await? {
                Event::Message(message) => return Some(message),
                Event::Comment(_) => {}
                Event::Broken => panic!("the stream broke off"),
            }
        }
    }
}

fn parse(block: &str) -> Event {
    if let Some(comment) = block.strip_prefix(':') {
        return Event::Comment(comment.trim().to_owned());
    }
    let mut data = None;
    for line in block.lines() {
        match line.split_once(": ") {
            Some(("event", "message")) => {}
            Some(("data", text)) if data.is_none() => data = Some(text),
            _ => panic!("an event has one line of data and no id, but: {block:?}"),
        }
    }
    let data = data.unwrap_or_else(|| panic!("an event without data: {block:?}"));
    let message =
        serde_json::from_str(data).unwrap_or_else(|error| panic!("not JSON ({error}): {data}"));
    Event::Message(message)
}
