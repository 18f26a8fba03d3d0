//! Task ids: 256 random bits (but for what a first character may not be), as 43 URL-safe characters.
//!
//! Invariant: an id is a secret as good as a bearer token (SEP-2663, security), so it has no
//! `Display` and its `Debug` shows nothing: only the wire form, asked for by name, spells it out.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rand::Rng as _;
use serde::{Serialize, Serializer};
use std::fmt;

/// The id of a task.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TaskId([u8; 32]);

impl TaskId {
    /// A fresh id from the operating system's seeded generator. It does not begin with `-`, which a
    /// command line would take for an option.
    #[must_use]
    pub fn random() -> Self {
        const DASH: u8 = 62;
        let mut bytes = [0; 32];
        loop {
            rand::rng().fill_bytes(&mut bytes);
            if bytes[0] >> 2 != DASH {
                return Self(bytes);
            }
        }
    }

    /// Reads the wire form. Nothing but the exact form of a 32-byte id is an id.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        if text.len() != 43 {
            return None;
        }
        URL_SAFE_NO_PAD.decode(text).ok()?.try_into().ok().map(Self)
    }

    /// The wire form.
    #[must_use]
    pub fn to_wire(self) -> String {
        URL_SAFE_NO_PAD.encode(self.0)
    }

    /// The bytes, for a store.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// From a store's bytes.
    #[must_use]
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }
}

impl fmt::Debug for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TaskId(…)")
    }
}

impl Serialize for TaskId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.to_wire())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_no_option_of_a_command() {
        let dash = TaskId::from_bytes([62 << 2; 32]);
        assert!(dash.to_wire().starts_with('-'));
        for _ in 0..2_000 {
            assert!(!TaskId::random().to_wire().starts_with('-'));
        }
    }

    #[test]
    fn the_wire_form_is_43_safe_characters_and_comes_back() {
        let id = TaskId::random();
        let text = id.to_wire();
        assert_eq!(text.len(), 43);
        assert!(
            text.bytes()
                .all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
        );
        assert_eq!(TaskId::parse(&text), Some(id));
        assert!(!format!("{id:?}").contains(&text));
    }

    #[test]
    fn other_texts_are_no_ids() {
        for text in [
            "",
            "x",
            &"!".repeat(43),
            &"A".repeat(44),
            &"é".repeat(21),
            &"B".repeat(43),
        ] {
            assert_eq!(TaskId::parse(text), None, "{text}");
        }
    }
}
