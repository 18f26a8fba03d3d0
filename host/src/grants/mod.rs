//! What the operator lets the components of one source reach, beside their calls.
//!
//! Invariants: nothing is granted that the configuration does not name; what is granted to one source
//! no other one sees; a grant whose answers a journal cannot give again says so. One file a
//! capability: `new` checks it when the server starts, `prepare` gives it to an instance.

mod destinations;
mod directories;
mod environment;
mod http;
mod needs;
mod policy;
mod sockets;
mod summary;

pub use destinations::{Addresses, Destination, DestinationError, NotPublic, Scheme};
pub use directories::{Directories, Directory};
pub use environment::{Environment, Secret};
pub use http::Http;
pub use needs::{Need, need};
pub use policy::{Candidate, GrantPolicy};
pub(crate) use sockets::Names;
pub use sockets::Sockets;
pub use summary::Granted;

use std::sync::Arc;

/// Why a grant was refused.
#[derive(Debug, thiserror::Error)]
pub enum GrantError {
    /// A variable's name.
    #[error("{0:?} is no name for a variable: letters, digits and _, no digit first")]
    Name(String),
    /// A name that is there twice.
    #[error("{0:?} is granted twice")]
    Twice(String),
    /// A secret that is not there.
    #[error("the secret {0} is not in the environment variable {1}")]
    NoVariable(String, String),
    /// A secret that cannot be read.
    #[error("the secret {0} cannot be read from {1}: {2}")]
    NoFile(String, String, std::io::Error),
    /// A folder that cannot be granted.
    #[error("the directory {0} cannot be granted: {1}")]
    Directory(String, std::io::Error),
    /// What the guest would call it.
    #[error("{0:?}: a guest's directory is an absolute path without . and ..")]
    GuestPath(String),
    /// A host or a network.
    #[error(transparent)]
    Destination(#[from] DestinationError),
    /// A limit out of range.
    #[error("http.limits.{0}: must be at least {1}, got {2}")]
    HttpLimit(&'static str, usize, usize),
    /// Certificates that cannot be used.
    #[error("the authorities in {0} cannot be used: {1}")]
    Authorities(String, String),
    /// An import that needs a grant.
    #[error("it imports {0}, which nothing grants: add [{1}] to its source in the configuration")]
    Import(String, &'static str),
    /// TLS itself.
    #[error("TLS cannot be used: {0}")]
    Tls(String),
}

/// The grants of one source.
#[derive(Clone, Debug, Default)]
pub struct Grants {
    /// Variables and secrets.
    pub environment: Environment,
    /// Folders.
    pub directories: Directories,
    /// Outbound HTTP.
    pub http: Option<Arc<Http>>,
    /// TCP connections.
    pub sockets: Option<Arc<Sockets>>,
}

impl Grants {
    /// True if a later run can be given the same answers: what is read from folders and sockets is
    /// not kept.
    #[must_use]
    pub fn replays(&self) -> bool {
        self.directories.is_empty() && self.sockets.is_none()
    }

    /// Looks at what a component imports. WASI may be imported whole, as many languages do, and has
    /// nothing to give without a grant; a component that speaks HTTP means to.
    ///
    /// # Errors
    /// [`GrantError::Import`], for the first import that needs a grant there is not.
    pub fn check_imports<'a>(
        &self,
        imports: impl IntoIterator<Item = &'a str>,
    ) -> Result<(), GrantError> {
        let missing = imports.into_iter().find_map(|import| match need(import) {
            Need::Needs(key) if self.http.is_none() => Some((import, key)),
            _ => None,
        });
        match missing {
            Some((import, key)) => Err(GrantError::Import(import.to_owned(), key)),
            None => Ok(()),
        }
    }
}
