//! Signatures of components, by minisign.
//!
//! Invariant: a [`Signer`] is a key that was named by the operator, and whose holder signed exactly
//! the bytes that were looked at.

use crate::limits::SIGNATURE_BYTES;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use std::ffi::OsString;
use std::fmt;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

/// How the name of a signature ends, after that of its file.
pub const END: &str = ".minisig";

/// The key of somebody who is trusted. Keys are equal if their bytes are, not their ids alone.
#[derive(Clone, PartialEq, Eq)]
pub struct PublicKey {
    key: minisign_verify::PublicKey,
    id: KeyId,
}

/// What minisign calls a key by.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct KeyId(u64);

/// Who signed a component.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signer(PublicKey);

/// Why a component does not count as signed.
#[derive(Debug, thiserror::Error)]
pub enum SignatureError {
    /// There is no signature.
    #[error(
        "it is not signed; sign it with `minisign -Sm NAME.wasm`, which writes NAME.wasm.minisig \
         beside it, or push it with --signature"
    )]
    NotSigned,
    /// There is something else.
    #[error("its signature is none of minisign: {0}")]
    Malformed(String),
    /// It is of the old kind.
    #[error(
        "its signature by key {0} is of the legacy kind, of which no hash is signed; sign it again, \
         with `minisign -S` without -l"
    )]
    Legacy(KeyId),
    /// Somebody else signed it.
    #[error("it is signed by key {0}, which is not trusted here; trusted: {trusted}", trusted = list(.1))]
    Untrusted(KeyId, Vec<KeyId>),
    /// Something else was signed.
    #[error(
        "its signature by key {0} does not fit the file: one of them was changed after it was signed"
    )]
    Mismatch(KeyId),
    /// It cannot be read.
    #[error("cannot read the signature {0}: {1}")]
    Io(PathBuf, #[source] io::Error),
    /// No key.
    #[error(
        "{0:?} is no minisign public key (RW and 54 more characters), nor a file with one: {1}"
    )]
    Key(String, String),
}

impl PublicKey {
    /// Reads a key, as minisign shows it, or the file that holds it (`minisign.pub`).
    ///
    /// # Errors
    /// [`SignatureError::Key`].
    pub fn read(text: &str, beside: &dyn Fn(PathBuf) -> PathBuf) -> Result<Self, SignatureError> {
        if let Ok(key) = text.parse() {
            return Ok(key);
        }
        let bad = |reason: String| SignatureError::Key(text.to_owned(), reason);
        let file = bounded(&beside(PathBuf::from(text))).map_err(|error| bad(error.to_string()))?;
        let key = file.lines().nth(1).unwrap_or_default();
        key.parse().map_err(bad)
    }

    /// What it is called by.
    #[must_use]
    pub fn id(&self) -> KeyId {
        self.id
    }
}

impl std::str::FromStr for PublicKey {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let key = minisign_verify::PublicKey::from_base64(text.trim());
        let key = key.map_err(|error| error.to_string())?;
        let id = KeyId::in_base64(text.trim()).ok_or("it has no id")?;
        Ok(Self { key, id })
    }
}

impl KeyId {
    /// Both keys and signatures begin with two bytes for the algorithm and eight for the key.
    fn in_base64(text: &str) -> Option<Self> {
        let bytes = BASE64_STANDARD.decode(text).ok()?;
        let id = bytes.get(2..10)?.try_into().ok()?;
        Some(Self(u64::from_le_bytes(id)))
    }
}

impl Signer {
    /// The key.
    #[must_use]
    pub fn key(&self) -> &PublicKey {
        &self.0
    }

    /// Is it one of these?
    #[must_use]
    pub fn is_among(&self, keys: &[PublicKey]) -> bool {
        keys.contains(&self.0)
    }
}

/// Who signed these bytes, of those whose keys are given.
///
/// # Errors
/// [`SignatureError`]: nobody did, or nobody of them.
pub fn verify(
    bytes: &[u8],
    signature: Option<&str>,
    keys: &[PublicKey],
) -> Result<Signer, SignatureError> {
    let text = signature.ok_or(SignatureError::NotSigned)?;
    let malformed = |reason: String| SignatureError::Malformed(reason);
    if text.len() as u64 > SIGNATURE_BYTES {
        return Err(malformed(format!(
            "it has {} bytes; the limit is {SIGNATURE_BYTES} (SIGNATURE_BYTES)",
            text.len()
        )));
    }
    let signature = minisign_verify::Signature::decode(text);
    let signature = signature.map_err(|error| malformed(error.to_string()))?;
    let id = key_of(text).ok_or_else(|| malformed("it names no key".to_owned()))?;
    // Ids are not unique: they are not made from the keys.
    let mut tried = Vec::new();
    for key in keys.iter().filter(|key| key.id == id) {
        // A legacy signature of 64 bytes is also one of whatever has these for a hash; so each
        // signature is read in one way only.
        match key.key.verify(bytes, &signature, false) {
            Ok(()) => return Ok(Signer(key.clone())),
            Err(minisign_verify::Error::UnexpectedAlgorithm) => {
                return Err(SignatureError::Legacy(id));
            }
            Err(error) => tried.push(error),
        }
    }
    match tried.is_empty() {
        true => Err(SignatureError::Untrusted(
            id,
            keys.iter().map(PublicKey::id).collect(),
        )),
        false => Err(SignatureError::Mismatch(id)),
    }
}

/// The key that a signature says it was made with: whether it was, only the key tells.
#[must_use]
pub fn key_of(signature: &str) -> Option<KeyId> {
    KeyId::in_base64(signature.lines().nth(1)?)
}

/// Where the signature of a file is: `NAME.wasm.minisig`, beside it.
#[must_use]
pub fn path(file: &Path) -> PathBuf {
    let mut path = OsString::from(file);
    path.push(END);
    PathBuf::from(path)
}

/// The signature in a file.
///
/// # Errors
/// [`SignatureError::Io`].
pub fn read(path: &Path) -> Result<String, SignatureError> {
    bounded(path).map_err(|error| SignatureError::Io(path.to_owned(), error))
}

/// The signature beside a file, if there is one.
///
/// # Errors
/// [`SignatureError::Io`].
pub fn beside(file: &Path) -> Result<Option<String>, SignatureError> {
    let path = path(file);
    match bounded(&path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(SignatureError::Io(path, error)),
    }
}

/// A small file's text.
fn bounded(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    let mut file = File::open(path)?.take(SIGNATURE_BYTES + 1);
    file.read_to_string(&mut text)?;
    match text.len() as u64 > SIGNATURE_BYTES {
        true => Err(io::Error::other(format!(
            "it has more than {SIGNATURE_BYTES} bytes (SIGNATURE_BYTES)"
        ))),
        false => Ok(text),
    }
}

fn list(ids: &[KeyId]) -> String {
    let ids: Vec<_> = ids.iter().map(KeyId::to_string).collect();
    match ids.is_empty() {
        true => "none".to_owned(),
        false => ids.join(", "),
    }
}

impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016X}", self.0)
    }
}

impl fmt::Debug for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PublicKey({})", self.id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use minisign::KeyPair;

    /// A published key, and its legacy signature of the bytes `test`.
    const KEY: &str = "RWQf6LRCGA9i53mlYecO4IzT51TGPpvWucNSCh1CBM0QTaLn73Y7GFO3";
    const LEGACY: &str = "untrusted comment: signature from minisign secret key
RWQf6LRCGA9i59SLOFxz6NxvASXDJeRtuZykwQepbDEGt87ig1BNpWaVWuNrm73YiIiJbq71Wi+dP9eKL8OC351vwIasSSbXxwA=
trusted comment: timestamp:1555779966\tfile:test
QtKMXWyYcwdpZAlPF7tE2ENJkRd1ujvKjlj1m9RtHTBnZPa5WKU5uWRs5GoP5M/VqE81QFuMKI5k/SfNQUaOAA==";

    fn pair() -> (KeyPair, PublicKey) {
        let pair = KeyPair::generate_unencrypted_keypair().unwrap();
        let key = pair.pk.to_base64().parse().unwrap();
        (pair, key)
    }

    fn sign(pair: &KeyPair, bytes: &[u8]) -> String {
        let signed = minisign::sign(Some(&pair.pk), &pair.sk, bytes, Some("for a test"), None);
        signed.unwrap().into_string()
    }

    #[test]
    fn whoever_signed_is_named() {
        let ((one, key), (_, other)) = (pair(), pair());
        let signature = sign(&one, b"bytes");
        let keys = [other.clone(), key.clone()];
        let signer = verify(b"bytes", Some(&signature), &keys).unwrap();
        assert_eq!(*signer.key(), key);
        assert!(signer.is_among(&keys) && !signer.is_among(&[other]));
    }

    #[test]
    fn what_is_not_signed_by_a_trusted_key_is_refused_and_says_why() {
        let ((one, key), (_, other)) = (pair(), pair());
        let signature = sign(&one, b"bytes");
        let refused = |bytes: &[u8], signature: Option<&str>, keys: &[PublicKey]| {
            verify(bytes, signature, keys).unwrap_err()
        };
        let error = refused(b"bytes", None, std::slice::from_ref(&key));
        assert!(matches!(error, SignatureError::NotSigned), "{error}");

        let error = refused(b"bytes", Some(&signature), std::slice::from_ref(&other));
        let text = error.to_string();
        assert!(
            matches!(error, SignatureError::Untrusted(id, _) if id == key.id()),
            "{text}"
        );
        assert!(text.contains(&key.id().to_string()), "{text}");
        assert!(text.contains(&other.id().to_string()), "{text}");
        let error = refused(b"bytes", Some(&signature), &[]);
        assert!(error.to_string().contains("trusted: none"), "{error}");

        let error = refused(b"other", Some(&signature), std::slice::from_ref(&key));
        assert!(
            matches!(error, SignatureError::Mismatch(id) if id == key.id()),
            "{error}"
        );

        // The trusted comment is signed, too.
        let forged = signature.replace("for a test", "for a tests");
        let error = refused(b"bytes", Some(&forged), std::slice::from_ref(&key));
        assert!(matches!(error, SignatureError::Mismatch(_)), "{error}");

        let long = format!("{signature}{}", "\n".repeat(SIGNATURE_BYTES as usize));
        for malformed in ["", "text", "a\nb\nc\nd", &long] {
            let error = refused(b"bytes", Some(malformed), std::slice::from_ref(&key));
            assert!(matches!(error, SignatureError::Malformed(_)), "{error}");
        }
    }

    #[test]
    fn a_signature_with_any_letter_changed_or_lost_is_refused() {
        let (one, key) = pair();
        let signature = sign(&one, b"bytes");
        let keys = std::slice::from_ref(&key);
        // Its first line is a comment that nobody signed.
        let signed = signature.find('\n').unwrap() + 1;
        let end = signature.trim_end().len();
        for at in signed..end {
            for letter in ["A", "b", "/", "=", " ", "\n", "ä", ""] {
                let mut forged = signature.clone();
                forged.replace_range(at..=at, letter);
                let is_same = forged == signature;
                let verified = verify(b"bytes", Some(&forged), keys);
                assert_eq!(verified.is_ok(), is_same, "{at} {letter:?}: {forged}");
            }
            assert!(verify(b"bytes", Some(&signature[..at]), keys).is_err());
        }
    }

    #[test]
    fn a_key_with_the_id_of_another_is_not_taken_for_it() {
        let ((one, key), (_, other)) = (pair(), pair());
        let mut twin = other;
        twin.id = key.id();
        let signature = sign(&one, b"bytes");
        let signer = verify(b"bytes", Some(&signature), &[twin.clone(), key.clone()]);
        assert_eq!(*signer.unwrap().key(), key);
        assert_ne!(twin, key);
    }

    #[test]
    fn legacy_signatures_are_refused() {
        let key: PublicKey = KEY.parse().unwrap();
        let error = verify(b"test", Some(LEGACY), std::slice::from_ref(&key)).unwrap_err();
        assert!(
            matches!(error, SignatureError::Legacy(id) if id == key.id()),
            "{error}"
        );
    }

    #[test]
    fn ids_are_shown_as_minisign_shows_them() {
        let key: PublicKey = KEY.parse().unwrap();
        assert_eq!(key.id().to_string(), "E7620F1842B4E81F");
    }

    #[test]
    fn a_key_is_named_or_in_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let beside = |path: PathBuf| folder.path().join(path);
        let text = format!("untrusted comment: minisign public key E7620F1842B4E81F\n{KEY}\n");
        std::fs::write(beside("team.pub".into()), text).unwrap();
        let named = PublicKey::read(KEY, &beside).unwrap();
        assert_eq!(PublicKey::read("team.pub", &beside).unwrap(), named);
        std::fs::write(beside("empty.pub".into()), "").unwrap();
        for bad in ["none.pub", "empty.pub", "RWQf", ""] {
            let error = PublicKey::read(bad, &beside).unwrap_err().to_string();
            assert!(error.contains(&format!("{bad:?}")), "{error}");
        }
    }

    #[test]
    fn the_signature_of_a_file_is_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("tool.wasm");
        assert!(beside(&file).unwrap().is_none());
        std::fs::write(folder.path().join("tool.wasm.minisig"), LEGACY).unwrap();
        assert_eq!(beside(&file).unwrap().as_deref(), Some(LEGACY));
        std::fs::write(path(&file), vec![b'a'; SIGNATURE_BYTES as usize + 1]).unwrap();
        let error = beside(&file).unwrap_err().to_string();
        assert!(error.contains("SIGNATURE_BYTES"), "{error}");
    }
}
