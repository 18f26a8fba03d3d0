//! Bytes that hold something as long as they are there.
//!
//! Invariant: what is held is let go when the last clone is dropped: for a body when nothing reads it
//! any more, for an answer when the connection has written it or has ended.

use bytes::Bytes;

struct Held<G> {
    bytes: Bytes,
    _guard: G,
}

impl<G> AsRef<[u8]> for Held<G> {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

/// The same bytes, holding a guard.
pub(super) fn hold<G: Send + 'static>(bytes: Bytes, guard: G) -> Bytes {
    Bytes::from_owner(Held {
        bytes,
        _guard: guard,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::places::Places;

    #[test]
    fn the_last_clone_lets_go() {
        let places = Places::new(Some(1));
        let bytes = hold(Bytes::from_static(b"abc"), places.take());
        let rest = bytes.slice(1..);
        drop(bytes);
        assert!(rest == "bc" && places.take().is_none());
        drop(rest);
        assert!(places.take().is_some());
    }
}
