//! What clients keep for the server, sealed: an AEAD (XChaCha20-Poly1305) and text that fits a header.
//!
//! Invariant: what opens was sealed by a server with the same key, about the same thing.

use crate::files::KEY_BYTES;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chacha20poly1305::aead::{Aead, KeyInit, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
use rand::Rng as _;

const NONCE_BYTES: usize = 24;

/// The keys.
pub struct Sealer {
    /// Seals, and opens.
    key: XChaCha20Poly1305,
    /// Open what was sealed before.
    old: Vec<XChaCha20Poly1305>,
}

impl Sealer {
    /// With a key.
    #[must_use]
    pub fn new(key: [u8; KEY_BYTES]) -> Self {
        Self {
            key: XChaCha20Poly1305::new(&key.into()),
            old: Vec::new(),
        }
    }

    /// The same, which opens what was sealed with this key, too.
    #[must_use]
    pub fn and_old(mut self, key: [u8; KEY_BYTES]) -> Self {
        self.old.push(XChaCha20Poly1305::new(&key.into()));
        self
    }

    /// Seals, for whom and for what `about` says. `None` only for what is larger than the cipher takes.
    #[must_use]
    pub fn seal(&self, about: &[u8], plain: &[u8]) -> Option<String> {
        let mut sealed = vec![0; NONCE_BYTES];
        rand::rng().fill_bytes(&mut sealed);
        let nonce = XNonce::try_from(&sealed[..]).ok()?;
        let payload = Payload {
            msg: plain,
            aad: about,
        };
        sealed.extend(self.key.encrypt(&nonce, payload).ok()?);
        Some(URL_SAFE_NO_PAD.encode(sealed))
    }

    /// Opens what was sealed about the same; `None` if it was not, or not with these keys.
    #[must_use]
    pub fn open(&self, about: &[u8], sealed: &str) -> Option<Vec<u8>> {
        let bytes = URL_SAFE_NO_PAD.decode(sealed).ok()?;
        let (nonce, msg) = bytes.split_at_checked(NONCE_BYTES)?;
        let nonce = XNonce::try_from(nonce).ok()?;
        let mut keys = std::iter::once(&self.key).chain(&self.old);
        keys.find_map(|key| key.decrypt(&nonce, Payload { msg, aad: about }).ok())
    }
}
