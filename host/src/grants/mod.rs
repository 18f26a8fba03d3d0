//! What the operator lets the components of one source reach, beside their calls.
//!
//! Invariants: nothing is granted that the configuration does not name; what is granted to one source
//! no other one sees; a grant whose answers a journal cannot give again says so. One file a
//! capability: `new` checks it when the server starts, `prepare` gives it to an instance.

mod directories;
mod environment;

pub use directories::{Directories, Directory};
pub use environment::{Environment, Secret};

use wasmtime_wasi::WasiCtxBuilder;

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
}

/// The grants of one source.
#[derive(Clone, Debug, Default)]
pub struct Grants {
    /// Variables and secrets.
    pub environment: Environment,
    /// Folders.
    pub directories: Directories,
}

impl Grants {
    /// Gives them to an instance that is being made.
    ///
    /// # Errors
    /// A folder that is not there any more.
    pub(crate) fn prepare(&self, wasi: &mut WasiCtxBuilder) -> wasmtime::Result<()> {
        self.environment.prepare(wasi);
        self.directories.prepare(wasi)
    }

    /// True if a later run can be given the same answers: what is read from folders is not kept.
    #[must_use]
    pub fn replays(&self) -> bool {
        self.directories.is_empty()
    }
}
