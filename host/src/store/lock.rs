//! One process at a time.
//!
//! Invariant: what a lock file stands for is used by one process only; the system releases the lock
//! when that process ends, however it ends.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

/// Why a lock was not taken.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Another process has it.
    #[error("another server uses it ({0} is locked); stop that server first")]
    Taken(PathBuf),
    /// The file cannot be made or locked.
    #[error("cannot lock {0}")]
    Io(PathBuf, #[source] io::Error),
}

/// Takes the lock of a file, which is made if need be. Dropping the file gives the lock back.
///
/// # Errors
/// [`LockError`].
pub fn lock_file(path: &Path) -> Result<File, LockError> {
    let failed = |error| LockError::Io(path.to_owned(), error);
    let file = OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .mode(0o600)
        .open(path)
        .map_err(failed)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(LockError::Taken(path.to_owned())),
        Err(TryLockError::Error(error)) => Err(failed(error)),
    }
}
