//! Components by their digests, for tasks that outlive the file they started with.
//!
//! Invariant: a file holds the bytes that its name says, or is not there: it is written beside and
//! renamed, and checked when it is read.

use super::load::digest;
use crate::files;
use crate::limits::DATABASE_COMPONENT_KEPT;
use crate::store::{Shared, StoreError};
use crate::task::Millis;
use std::fmt::Display;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicI64;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, SystemTime};
use tokio::sync::Mutex;
use tokio::task::spawn_blocking;

/// Why a component is not kept, or not found.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// The folder or a file of it cannot be used.
    #[error("cannot keep components in {0}: {1}")]
    Io(PathBuf, io::Error),
    /// There is none of that digest.
    #[error("no component with digest {0} is kept")]
    Missing(String),
    /// A file was changed.
    #[error("{0} was changed: it does not have the digest in its name; remove it")]
    Changed(PathBuf),
    /// It is not here, and other nodes' cannot be had.
    #[error(transparent)]
    Store(StoreError),
}

impl ArchiveError {
    /// Why, for whoever must not know paths.
    #[must_use]
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Io(..) => "it cannot be read",
            Self::Missing(_) => "it is not kept",
            Self::Changed(_) => "the kept file was changed",
            Self::Store(_) => "the task store is not available",
        }
    }
}

/// How names end.
const END: &str = ".wasm";
/// By how much longer something is promised than asked, milliseconds.
const PROMISE_MORE: Millis = 60_000;

/// A folder of components.
#[derive(Clone, Debug)]
pub struct Archive(PathBuf);

impl Archive {
    /// In a folder, which is made if need be.
    ///
    /// # Errors
    /// [`ArchiveError::Io`].
    pub fn open(folder: &Path) -> Result<Self, ArchiveError> {
        files::make_folder(folder).map_err(|error| ArchiveError::Io(folder.to_owned(), error))?;
        Ok(Self(folder.to_owned()))
    }

    fn path(&self, digest: &str) -> PathBuf {
        self.0.join(name(digest))
    }

    /// Keeps a component.
    ///
    /// # Errors
    /// [`ArchiveError::Io`].
    pub fn keep(&self, digest: &str, bytes: &[u8]) -> Result<(), ArchiveError> {
        let length = fs::metadata(self.path(digest)).map(|metadata| metadata.len());
        if length.is_ok_and(|length| length == bytes.len() as u64) {
            return Ok(());
        }
        files::write(&self.0, &name(digest), bytes)
            .map_err(|error| ArchiveError::Io(self.0.clone(), error))
    }

    /// Reads a component.
    ///
    /// # Errors
    /// [`ArchiveError`].
    pub fn read(&self, name: &str) -> Result<Vec<u8>, ArchiveError> {
        let path = self.path(name);
        let bytes = fs::read(&path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => ArchiveError::Missing(name.to_owned()),
            _ => ArchiveError::Io(path.clone(), error),
        })?;
        if digest(&bytes) != name {
            return Err(ArchiveError::Changed(path));
        }
        Ok(bytes)
    }

    /// True if everything is accepted by `keep`, by its digest.
    ///
    /// # Errors
    /// [`ArchiveError::Io`].
    pub fn has_only(&self, keep: impl Fn(&str) -> bool) -> Result<bool, ArchiveError> {
        let failed = |error| ArchiveError::Io(self.0.clone(), error);
        for entry in fs::read_dir(&self.0).map_err(failed)? {
            let name = entry.map_err(failed)?.file_name();
            let digest = name.to_str().and_then(|name| name.strip_suffix(END));
            if !digest.is_some_and(&keep) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Removes what `keep` does not accept, by its digest, and nobody was promised. Gives how many.
    ///
    /// # Errors
    /// [`ArchiveError::Io`].
    pub fn prune(&self, keep: impl Fn(&str) -> bool) -> Result<usize, ArchiveError> {
        let now = SystemTime::now();
        let promised = |name: &str| {
            let modified = fs::metadata(self.0.join(name)).and_then(|it| it.modified());
            modified.is_ok_and(|until| until > now)
        };
        files::prune(&self.0, |name| {
            let digest = name.strip_suffix(END);
            digest.is_some_and(|digest| keep(digest) || promised(name))
        })
        .map_err(|error| ArchiveError::Io(self.0.clone(), error))
    }

    /// Promises a client that asks again before some time that the component will be there. The
    /// promise is in the file's time, which lies ahead as long as it holds.
    fn promise(&self, digest: &str, until: SystemTime) -> io::Result<()> {
        File::options()
            .append(true)
            .open(self.path(digest))?
            .set_modified(until)
    }
}

fn name(digest: &str) -> String {
    format!("{digest}{END}")
}

/// A component that is kept, and until when that was promised.
pub(super) struct Kept {
    archive: Archive,
    /// Promised to clients.
    promised: AtomicI64,
    /// Where other nodes find it, if there may be others.
    shared: Option<Arc<dyn Shared>>,
    /// Promised to other nodes.
    shared_until: AtomicI64,
    /// Held by whoever promises.
    sharing: Mutex<()>,
}

impl Kept {
    pub(super) fn new(archive: Archive, shared: Option<Arc<dyn Shared>>) -> Self {
        Self {
            archive,
            promised: AtomicI64::new(0),
            shared,
            shared_until: AtomicI64::new(0),
            sharing: Mutex::default(),
        }
    }

    /// Makes sure that other nodes can have the component with this digest, this one, until some time.
    pub(super) async fn share(&self, digest: &str, until: Millis) -> Result<(), StoreError> {
        let Some(shared) = &self.shared else {
            return Ok(());
        };
        let is_promised = || self.shared_until.load(Relaxed) >= until;
        if is_promised() {
            return Ok(());
        }
        // The first calls come together: one of them has it done.
        let _one = self.sharing.lock().await;
        if is_promised() {
            return Ok(());
        }
        // Not for every task anew.
        let more = DATABASE_COMPONENT_KEPT.as_millis() as u64;
        let until = until.saturating_add_unsigned(more);
        if !shared.promise_component(digest, until).await? {
            let (archive, name) = (self.archive.clone(), digest.to_owned());
            let read = spawn_blocking(move || archive.read(&name)).await;
            let lost = |error: &dyn Display| {
                tracing::error!("cannot share a component with other nodes: {error}");
                StoreError::Unavailable("the component cannot be read".to_owned())
            };
            let bytes = read.map_err(|error| lost(&error))?;
            let bytes = bytes.map_err(|error| lost(&error))?;
            shared.keep_component(digest, &bytes, until).await?;
        }
        self.shared_until.store(until, Relaxed);
        Ok(())
    }

    /// Promises that the component with this digest, this one, will be there until some time.
    pub(super) fn promise(&self, digest: &str, until: Millis) {
        if self.promised.load(Relaxed) >= until {
            return;
        }
        // Not for every question anew.
        let until = until.saturating_add(PROMISE_MORE);
        let millis = u64::try_from(until).unwrap_or(0);
        let time = SystemTime::UNIX_EPOCH + Duration::from_millis(millis);
        match self.archive.promise(digest, time) {
            Ok(()) => self.promised.store(until, Relaxed),
            Err(error) => tracing::warn!("cannot keep {digest} for later: {error}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task::now;

    #[test]
    fn what_is_kept_is_read_and_what_is_changed_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let archive = Archive::open(&folder.path().join("components")).unwrap();
        let (one, two) = (digest(b"one"), digest(b"two"));
        archive.keep(&one, b"one").unwrap();
        archive.keep(&two, b"two").unwrap();
        assert_eq!(archive.read(&one).unwrap(), b"one");
        fs::write(archive.path(&two), b"owt").unwrap();
        assert!(matches!(archive.read(&two), Err(ArchiveError::Changed(_))));
        assert_eq!(archive.prune(|digest| digest == one).unwrap(), 1);
        assert!(matches!(archive.read(&two), Err(ArchiveError::Missing(_))));
        assert_eq!(archive.read(&one).unwrap(), b"one");
    }

    #[test]
    fn a_half_written_file_is_written_anew() {
        let folder = tempfile::tempdir().unwrap();
        let archive = Archive::open(folder.path()).unwrap();
        let one = digest(b"one");
        fs::write(archive.path(&one), b"o").unwrap();
        archive.keep(&one, b"one").unwrap();
        assert_eq!(archive.read(&one).unwrap(), b"one");
    }
    #[test]
    fn what_was_promised_is_kept_for_so_long() {
        let folder = tempfile::tempdir().unwrap();
        let archive = Archive::open(folder.path()).unwrap();
        let one = digest(b"one");
        archive.keep(&one, b"one").unwrap();
        let kept = Kept::new(archive.clone(), None);
        kept.promise(&one, now() + 60_000);
        assert_eq!(archive.prune(|_| false).unwrap(), 0);
        archive.promise(&one, SystemTime::now()).unwrap();
        assert_eq!(archive.prune(|_| false).unwrap(), 1);
    }
}
