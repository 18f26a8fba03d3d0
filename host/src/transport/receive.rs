//! Bodies on their way in: bounded each, and all together.
//!
//! Invariant: the room for a byte is taken before the byte is kept, from the server's and from the
//! tenant's, and given back when nothing holds the body any more: once its request was answered.

use super::hold::hold;
use crate::limits::REFUSED_TIME;
use crate::places::{Place, Places};
use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt as _;
use hyper::body::Body;
use std::error::Error;

/// Room for the body of one request.
pub(super) struct Room {
    tenant: Place,
    server: Place,
}

/// What has no room left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Full {
    Tenant,
    Server,
}

impl Room {
    /// Room of which nothing is taken yet.
    pub(super) fn new(tenant: &Places, server: &Places) -> Self {
        Self {
            tenant: tenant.none(),
            server: server.none(),
        }
    }

    fn take(&mut self, bytes: usize) -> Result<(), Full> {
        if !self.tenant.more(bytes) {
            return Err(Full::Tenant);
        }
        if !self.server.more(bytes) {
            return Err(Full::Server);
        }
        Ok(())
    }
}

/// Why there is no body.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// It is larger than a body may be.
    TooLarge,
    /// There is no room for it now.
    Full(Full),
    /// It is malformed, or ends early; the reader's words.
    Malformed(String),
}

/// Reads a body of at most so many bytes. It keeps its room until it is dropped. What has no room is
/// read to its end as well, and not kept, so that its client is there to hear so.
pub(super) async fn receive<B>(mut body: B, most: usize, room: Room) -> Result<Bytes, Fault>
where
    B: Body<Data = Bytes> + Unpin,
    B::Error: Error,
{
    let mut length = 0;
    let mut kept = Ok((Pieces::default(), room));
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| Fault::Malformed(words(&error)))?;
        let Ok(piece) = frame.into_data() else {
            continue;
        };
        length += piece.len();
        if length > most {
            return Err(Fault::TooLarge);
        }
        if let Ok((whole, room)) = &mut kept {
            match room.take(piece.len()) {
                Ok(()) => whole.add(piece),
                Err(full) => kept = Err(full),
            }
        }
    }
    let (whole, room) = kept.map_err(Fault::Full)?;
    Ok(hold(whole.into_bytes(), room))
}

/// Reads a body of at most so many bytes that nobody wants, for a while: its request is refused, and a
/// client or a proxy that still sends would not see that if its connection were closed.
pub(super) async fn pass_over<B>(mut body: B, most: usize)
where
    B: Body<Data = Bytes> + Unpin,
{
    let mut left = most;
    let read = async {
        while let Some(Ok(frame)) = body.frame().await {
            let length = frame.data_ref().map_or(0, Bytes::len);
            match left.checked_sub(length) {
                Some(rest) => left = rest,
                None => return,
            }
        }
    };
    // Whoever is slower is cut off.
    let _ = tokio::time::timeout(REFUSED_TIME, read).await;
}

/// What has come: one piece as it is, or a copy of all, so that many small pieces take no more than
/// their bytes.
#[derive(Default)]
struct Pieces {
    first: Bytes,
    all: BytesMut,
}

impl Pieces {
    fn add(&mut self, piece: Bytes) {
        if self.first.is_empty() && self.all.is_empty() {
            self.first = piece;
            return;
        }
        if self.all.is_empty() {
            self.all.extend_from_slice(&std::mem::take(&mut self.first));
        }
        self.all.extend_from_slice(&piece);
    }

    fn into_bytes(self) -> Bytes {
        if self.all.is_empty() {
            self.first
        } else {
            self.all.freeze()
        }
    }
}

/// The words of an error's cause, where it has one: they say what is malformed.
fn words(error: &dyn Error) -> String {
    error.source().unwrap_or(error).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::body::Frame;
    use std::collections::VecDeque;
    use std::io;
    use std::pin::Pin;
    use std::task::{Context, Poll};

    /// A body that is there in pieces.
    struct Pieced(VecDeque<Result<Bytes, io::Error>>);

    impl Body for Pieced {
        type Data = Bytes;
        type Error = io::Error;

        fn poll_frame(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
            let piece = self.0.pop_front();
            Poll::Ready(piece.map(|piece| piece.map(Frame::data)))
        }
    }

    fn body(pieces: &[&'static str]) -> Pieced {
        let pieces = pieces
            .iter()
            .map(|piece| Ok(Bytes::from_static(piece.as_bytes())));
        Pieced(pieces.collect())
    }

    #[tokio::test]
    async fn a_body_keeps_its_room_until_it_is_gone() {
        let (tenant, server) = (Places::new(Some(8)), Places::new(Some(10)));
        let receive = |pieces| receive(body(pieces), 100, Room::new(&tenant, &server));
        let first = receive(&["abc", "", "de"]).await.unwrap();
        assert_eq!(first, "abcde");
        assert_eq!(receive(&["abcd"]).await, Err(Fault::Full(Full::Tenant)));
        let second = receive(&["abc"]).await.unwrap();
        let clone = first.clone();
        drop(first);
        assert!(receive(&["a"]).await.is_err());
        drop(clone);
        assert_eq!(receive(&["a", "b", "c"]).await.unwrap(), "abc");
        drop(second);

        let other = Places::new(None);
        let held = super::receive(body(&["abcdef"]), 100, Room::new(&other, &server)).await;
        assert_eq!(receive(&["abcde"]).await, Err(Fault::Full(Full::Server)));
        drop(held);
        assert_eq!(
            receive(&["abcde"]).await.unwrap(),
            "abcde",
            "a refusal takes nothing"
        );
    }

    #[tokio::test]
    async fn what_has_no_room_is_read_to_its_end_and_keeps_none() {
        let (tenant, server) = (Places::new(Some(4)), Places::new(Some(4)));
        let mut body = body(&["abc", "def", "g"]);
        let full = receive(&mut body, 100, Room::new(&tenant, &server)).await;
        assert_eq!(full, Err(Fault::Full(Full::Tenant)));
        assert!(body.0.is_empty() && tenant.none().more(4) && server.none().more(4));
    }

    #[tokio::test]
    async fn a_body_is_bounded_and_its_faults_have_words() {
        let endless = Places::new(None);
        let room = || Room::new(&endless, &endless);
        assert_eq!(
            receive(body(&["abc", "de"]), 5, room()).await.unwrap(),
            "abcde"
        );
        let larger = receive(body(&["abc", "def"]), 5, room()).await;
        assert_eq!(larger, Err(Fault::TooLarge));
        assert_eq!(receive(body(&[]), 5, room()).await.unwrap(), "");
        let mut broken = body(&["a"]);
        broken.0.push_back(Err(io::Error::other("no size")));
        let broken = receive(broken, 5, room()).await;
        assert_eq!(broken, Err(Fault::Malformed("no size".to_owned())));
    }
}
