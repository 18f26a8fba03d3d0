//! Components from OCI registries.
//!
//! Invariant: whatever a registry says is checked before it counts: bytes against their digest,
//! sizes against `limits`, and where it leads against what may be asked. What was had once is had
//! again without it.
//!
//! The way to a registry is our own, on `ureq`, and not that of a crate such as `oci-client`: those
//! read manifests, tokens and errors into memory without a bound, and follow redirects anywhere.

mod client;
#[cfg(test)]
mod client_tests;
mod credentials;
#[cfg(test)]
mod fake;
mod manifest;
mod mirror;
#[cfg(test)]
mod mirror_tests;
mod reference;
mod session;
mod token;

pub use client::{Client, Pull};
pub use manifest::{Manifest, ManifestError};
pub use mirror::{FetchError, Fetched, Mirror, MovedTag};
pub use reference::{Digest, Reference, ReferenceError};

use crate::limits::{REGISTRY_REDIRECTS, REGISTRY_TIME};
use crate::runtime::Defect;
use std::path::PathBuf;

/// Why a registry did not give or take a component.
#[derive(Debug, thiserror::Error)]
pub enum RegistryError {
    /// Nobody is there, or the connection broke.
    #[error("cannot reach the registry {host}: {reason}")]
    Unreachable {
        /// The registry.
        host: String,
        /// What the system says.
        reason: String,
    },
    /// It was too slow.
    #[error("the registry {0} took longer than {REGISTRY_TIME:?} (REGISTRY_TIME)")]
    Late(String),
    /// It has no such thing.
    #[error("the registry has no {0}; check the name, or push it")]
    Missing(String),
    /// It has nothing of that digest, and something else by that tag.
    #[error(
        "{reference}: the registry has no such manifest, and {tag:?} stands for {actual}, not for \
         {pinned}; pin that if it is meant"
    )]
    Pin {
        /// What was asked for.
        reference: String,
        /// Its tag.
        tag: String,
        /// What it must be.
        pinned: Digest,
        /// What there is.
        actual: Digest,
    },
    /// It does not let us.
    #[error(
        "the registry {host} refused {what} {how}: {answer}; run `docker login {host}`, or set \
         DOCKER_CONFIG to the folder of a config.json with credentials"
    )]
    Denied {
        /// The registry.
        host: String,
        /// What was asked for.
        what: String,
        /// With which kind of credentials.
        how: &'static str,
        /// Status and error codes.
        answer: String,
    },
    /// It answers otherwise than it should.
    #[error("the registry {host} answered to {what}: {answer}")]
    Refused {
        /// The registry.
        host: String,
        /// What was asked for.
        what: String,
        /// Status and error codes.
        answer: String,
    },
    /// It leads elsewhere, and elsewhere again.
    #[error("the registry {0} redirects more than {REGISTRY_REDIRECTS} times (REGISTRY_REDIRECTS)")]
    Redirects(String),
    /// It leads to where we do not go.
    #[error(
        "the registry {host} leads to {place}, which is not followed: only https is, and http from \
         this machine to itself"
    )]
    Insecure {
        /// The registry.
        host: String,
        /// Scheme and host of the place.
        place: String,
    },
    /// What it says is larger than it may be.
    #[error("{what} has more than {limit} bytes ({name})")]
    TooLarge {
        /// What.
        what: String,
        /// The limit.
        limit: u64,
        /// Its name.
        name: &'static str,
    },
    /// What it says makes no sense.
    #[error("the registry {host} answered to {what} with what cannot be understood: {reason}")]
    Malformed {
        /// The registry.
        host: String,
        /// What was asked for.
        what: String,
        /// What is wrong.
        reason: String,
    },
    /// It is no component.
    #[error("{0} cannot be had: {1}")]
    Manifest(String, #[source] ManifestError),
    /// Other bytes than were asked for.
    #[error(
        "{what} is {actual}, not {expected}: the registry is broken, or what it sent was changed on \
         the way"
    )]
    Digest {
        /// What.
        what: String,
        /// What it should be.
        expected: String,
        /// What it is.
        actual: String,
    },
    /// Our own credentials cannot be read.
    #[error("cannot read the credentials for the registry {0}: {1}")]
    Credentials(String, String),
    /// The certificates cannot be read.
    #[error("cannot use the authorities of {0}: {1}")]
    Authorities(PathBuf, String),
    /// What came cannot be kept.
    #[error("cannot write the component: {0}")]
    Write(#[source] std::io::Error),
    /// What is pushed is no component.
    #[error("it is not pushed: {0}")]
    Defect(#[from] Defect),
    /// A digest is what comes out of a push.
    #[error("{0} cannot be pushed to: name a tag, and no digest")]
    NotATag(String),
}

impl RegistryError {
    /// Is it that the registry could not be asked, or did not want to answer? What was had before
    /// is then as good as it was. If it did answer, and wrongly, that is another matter.
    #[must_use]
    pub fn is_silence(&self) -> bool {
        match self {
            Self::Unreachable { .. }
            | Self::Late(_)
            | Self::Missing(_)
            | Self::Denied { .. }
            | Self::Refused { .. }
            | Self::Redirects(_)
            | Self::Insecure { .. }
            | Self::Credentials(..) => true,
            Self::Pin { .. }
            | Self::TooLarge { .. }
            | Self::Malformed { .. }
            | Self::Manifest(..)
            | Self::Digest { .. }
            | Self::Authorities(..)
            | Self::Write(_)
            | Self::Defect(_)
            | Self::NotATag(_) => false,
        }
    }
}
