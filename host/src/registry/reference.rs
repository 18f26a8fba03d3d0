//! What names a component in a registry: `oci://HOST[:PORT]/REPOSITORY[:TAG][@sha256:HEX]`.
//!
//! Invariant: a [`Reference`] has a tag or a digest, or both, and every part of it is of the
//! grammar of the distribution specification, so that it can stand in a URL as it is.

use crate::limits::REFERENCE_BYTES;
use sha2::{Digest as _, Sha256};
use std::fmt;
use std::net::{IpAddr, Ipv6Addr};
use std::str::FromStr;

/// What a reference begins with.
const SCHEME: &str = "oci://";
/// The longest tag, in the distribution specification.
const TAG_BYTES: usize = 128;

/// A component in a registry.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Reference {
    host: String,
    repository: String,
    tag: Option<String>,
    digest: Option<Digest>,
}

/// A SHA-256 digest, shown as `sha256:` and lower-case hexadecimal.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest(String);

/// Why a text is no reference.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{text:?} is no reference to a component in a registry: {reason}; write \
     oci://HOST[:PORT]/REPOSITORY:TAG, or …@sha256:HEX to pin what a tag stands for"
)]
pub struct ReferenceError {
    text: String,
    reason: String,
}

impl Reference {
    /// Is this meant as one? A path is not.
    #[must_use]
    pub fn is_meant(text: &str) -> bool {
        text.starts_with(SCHEME)
    }

    /// The registry: a name or an address, and a port if one was given.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Where in the registry.
    #[must_use]
    pub fn repository(&self) -> &str {
        &self.repository
    }

    /// What it is called there; others may call something else so later.
    #[must_use]
    pub fn tag(&self) -> Option<&str> {
        self.tag.as_deref()
    }

    /// The manifest that it must be.
    #[must_use]
    pub fn digest(&self) -> Option<&Digest> {
        self.digest.as_ref()
    }

    /// The same, pinned to a manifest.
    #[must_use]
    pub fn pinned(&self, digest: Digest) -> Self {
        Self {
            digest: Some(digest),
            ..self.clone()
        }
    }

    /// The same by its tag alone, if it has one.
    #[must_use]
    pub fn unpinned(&self) -> Option<Self> {
        self.tag.is_some().then(|| Self {
            digest: None,
            ..self.clone()
        })
    }

    /// Is the registry on this machine?
    #[must_use]
    pub fn is_loopback(&self) -> bool {
        is_loopback(without_port(&self.host))
    }
}

/// Does a name or an address, without a port, stand for this machine?
pub(super) fn is_loopback(host: &str) -> bool {
    let address = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || address.parse().is_ok_and(|it: IpAddr| it.is_loopback())
}

fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if !port.ends_with(']') => name,
        _ => host,
    }
}

impl FromStr for Reference {
    type Err = ReferenceError;

    fn from_str(text: &str) -> Result<Self, ReferenceError> {
        parse(text).map_err(|reason| ReferenceError {
            text: text.chars().take(REFERENCE_BYTES).collect(),
            reason,
        })
    }
}

fn parse(text: &str) -> Result<Reference, String> {
    if text.len() > REFERENCE_BYTES {
        return Err(format!(
            "it has {} bytes; the limit is {REFERENCE_BYTES} (REFERENCE_BYTES)",
            text.len()
        ));
    }
    let rest = text
        .strip_prefix(SCHEME)
        .ok_or_else(|| format!("it does not begin with {SCHEME}"))?;
    let (rest, digest) = match rest.split_once('@') {
        None => (rest, None),
        Some((rest, digest)) => (rest, Some(digest.parse()?)),
    };
    let (host, rest) = rest.split_once('/').ok_or("it names no repository")?;
    let (repository, tag) = match rest.rsplit_once(':') {
        None => (rest, None),
        Some((repository, tag)) => (repository, Some(tag)),
    };
    check_host(host)?;
    if !repository.split('/').all(is_component) {
        return Err(format!(
            "its repository {repository:?} must be lower-case names with / between them, of a-z 0-9 \
             and single . _ - inside"
        ));
    }
    if let Some(tag) = tag.filter(|tag| !is_tag(tag)) {
        return Err(format!(
            "its tag {tag:?} must be 1 to {TAG_BYTES} of A-Z a-z 0-9 _ . -, and not begin with . or -"
        ));
    }
    if tag.is_none() && digest.is_none() {
        return Err("it has neither a tag nor a digest".to_owned());
    }
    Ok(Reference {
        host: host.to_ascii_lowercase(),
        repository: repository.to_owned(),
        tag: tag.map(str::to_owned),
        digest,
    })
}

fn check_host(host: &str) -> Result<(), String> {
    let name = without_port(host);
    let port = &host[name.len()..];
    let is_label = |label: &str| {
        let inner = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
        !label.is_empty()
            && label.bytes().all(inner)
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    let address = name.strip_prefix('[').and_then(|it| it.strip_suffix(']'));
    let is_host = match address {
        Some(address) => address.parse::<Ipv6Addr>().is_ok(),
        None => name.split('.').all(is_label),
    };
    if !is_host {
        return Err(format!("its registry {host:?} is no host name or address"));
    }
    let number = port.strip_prefix(':').unwrap_or("1").parse::<u16>();
    if !number.is_ok_and(|number| number > 0) {
        return Err(format!("its registry {host:?} has a port that is none"));
    }
    Ok(())
}

/// `[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*`
fn is_component(name: &str) -> bool {
    let is_word = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let bytes = name.as_bytes();
    let ends = bytes.first().zip(bytes.last());
    if !ends.is_some_and(|(first, last)| is_word(*first) && is_word(*last)) {
        return false;
    }
    let separators = name.split(|letter: char| letter.is_ascii() && is_word(letter as u8));
    separators
        .into_iter()
        .all(|it| matches!(it, "" | "." | "_" | "__") || it.bytes().all(|byte| byte == b'-'))
}

fn is_tag(tag: &str) -> bool {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let mut bytes = tag.bytes();
    tag.len() <= TAG_BYTES
        && bytes.next().is_some_and(is_word)
        && bytes.all(|byte| is_word(byte) || b".-".contains(&byte))
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{SCHEME}{}/{}", self.host, self.repository)?;
        if let Some(tag) = &self.tag {
            write!(f, ":{tag}")?;
        }
        match &self.digest {
            None => Ok(()),
            Some(digest) => write!(f, "@{digest}"),
        }
    }
}

impl Digest {
    /// That of some bytes.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        Self::from_hash(Sha256::new().chain_update(bytes))
    }

    /// That of what was hashed.
    pub(super) fn from_hash(hash: Sha256) -> Self {
        let hex = |byte: &u8| format!("{byte:02x}");
        Self(hash.finalize().iter().map(hex).collect())
    }

    /// 64 lower-case hexadecimal digits.
    #[must_use]
    pub fn hex(&self) -> &str {
        &self.0
    }
}

impl FromStr for Digest {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let is_hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        match text.strip_prefix("sha256:") {
            Some(hex) if hex.len() == 64 && hex.bytes().all(is_hex) => Ok(Self(hex.to_owned())),
            _ => Err(format!(
                "its digest {text:?} must be sha256: and 64 lower-case hexadecimal digits"
            )),
        }
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sha256:{}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex() -> String {
        "0123456789abcdef".repeat(4)
    }

    #[test]
    fn a_reference_is_shown_as_it_was_written() {
        for text in [
            "oci://registry.example/acme/tools/report:1.0".to_owned(),
            "oci://localhost:5000/a:latest".to_owned(),
            "oci://[::1]:5000/a__b/c--d.e:_x.Y-z".to_owned(),
            format!("oci://registry.example/a@sha256:{}", hex()),
            format!("oci://registry.example/a:b@sha256:{}", hex()),
        ] {
            let reference: Reference = text.parse().unwrap();
            assert_eq!(reference.to_string(), text);
        }
    }

    #[test]
    fn parts_are_told_apart() {
        let text = format!("oci://Registry.Example:443/a/b:c@sha256:{}", hex());
        let reference: Reference = text.parse().unwrap();
        assert_eq!(reference.host(), "registry.example:443");
        assert_eq!(reference.repository(), "a/b");
        assert_eq!(reference.tag(), Some("c"));
        assert_eq!(reference.digest().map(Digest::hex), Some(&*hex()));
    }

    #[test]
    fn a_refusal_names_what_is_wrong_and_the_form() {
        for (text, named) in [
            ("registry.example/a:b", "begin with oci://"),
            ("oci://registry.example", "no repository"),
            ("oci:///a:b", "registry"),
            ("oci://a b/c:d", "registry"),
            ("oci://user:word@host/a:b", "digest"),
            ("oci://host:99999/a:b", "port"),
            ("oci://host:0/a:b", "port"),
            ("oci://host:/a:b", "port"),
            ("oci://[::1/a:b", "registry"),
            ("oci://-a/b:c", "registry"),
            ("oci://host/:b", "repository"),
            ("oci://host/A:b", "repository"),
            ("oci://host/a//b:c", "repository"),
            ("oci://host/../b:c", "repository"),
            ("oci://host/a..b:c", "repository"),
            ("oci://host/a___b:c", "repository"),
            ("oci://host/a-:c", "repository"),
            ("oci://host/ä:c", "repository"),
            ("oci://host/a?b:c", "repository"),
            ("oci://host/a:", "tag"),
            ("oci://host/a:.b", "tag"),
            ("oci://host/a:b/c", "tag"),
            ("oci://host/a", "neither a tag nor a digest"),
            ("oci://host/a@sha512:00", "sha256:"),
            ("oci://host/a:b@sha256:0", "sha256:"),
        ] {
            let error = text.parse::<Reference>().unwrap_err().to_string();
            assert!(error.contains(named), "{text}: {error}");
            assert!(
                error.contains("oci://HOST[:PORT]/REPOSITORY:TAG"),
                "{error}"
            );
        }
        let upper = format!("oci://host/a@sha256:{}", hex().to_uppercase());
        assert!(upper.parse::<Reference>().is_err());
        let long = format!("oci://host/{}:b", "a".repeat(REFERENCE_BYTES));
        let error = long.parse::<Reference>().unwrap_err().to_string();
        assert!(error.contains("REFERENCE_BYTES"), "{error}");
        let tag = format!("oci://host/a:{}", "b".repeat(TAG_BYTES + 1));
        assert!(tag.parse::<Reference>().is_err());
    }

    #[test]
    fn this_machine_is_known() {
        let is_loopback = |host: &str| {
            let reference: Reference = format!("oci://{host}/a:b").parse().unwrap();
            reference.is_loopback()
        };
        for host in [
            "localhost",
            "localhost:1",
            "127.0.0.1:5000",
            "127.9.9.9",
            "[::1]",
            "[::1]:5",
        ] {
            assert!(is_loopback(host), "{host}");
        }
        for host in [
            "localhost.example",
            "10.0.0.1:5000",
            "127.0.0.1.example",
            "[::2]",
        ] {
            assert!(!is_loopback(host), "{host}");
        }
    }
}
