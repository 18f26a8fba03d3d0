//! Components by their digests, for tasks that outlive the file they started with.
//!
//! Invariant: a file holds the bytes that its name says, or is not there: it is written beside and
//! renamed, and checked when it is read.

use super::load::digest;
use std::collections::HashSet;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

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
}

impl ArchiveError {
    /// Why, for whoever must not know paths.
    #[must_use]
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Io(..) => "it cannot be read",
            Self::Missing(_) => "it is not kept",
            Self::Changed(_) => "the kept file was changed",
        }
    }
}

/// A folder of components.
#[derive(Clone, Debug)]
pub struct Archive(PathBuf);

impl Archive {
    /// In a folder, which is made if need be.
    ///
    /// # Errors
    /// [`ArchiveError::Io`].
    pub fn open(folder: &Path) -> Result<Self, ArchiveError> {
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(folder)
            .map_err(|error| ArchiveError::Io(folder.to_owned(), error))?;
        Ok(Self(folder.to_owned()))
    }

    fn path(&self, digest: &str) -> PathBuf {
        self.0.join(format!("{digest}.wasm"))
    }

    /// Keeps a component.
    ///
    /// # Errors
    /// [`ArchiveError::Io`].
    pub fn keep(&self, digest: &str, bytes: &[u8]) -> Result<(), ArchiveError> {
        let path = self.path(digest);
        let failed = |error| ArchiveError::Io(self.0.clone(), error);
        let length = fs::metadata(&path).map(|metadata| metadata.len());
        if length.is_ok_and(|length| length == bytes.len() as u64) {
            return Ok(());
        }
        let part = path.with_extension("part");
        let mut file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&part)
            .map_err(failed)?;
        file.write_all(bytes)
            .and_then(|()| file.sync_all())
            .and_then(|()| fs::rename(&part, &path))
            .and_then(|()| fs::File::open(&self.0)?.sync_all())
            .map_err(failed)
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

    /// Removes what is neither in `needed` nor accepted by `keep`. Gives how many.
    ///
    /// # Errors
    /// [`ArchiveError::Io`].
    pub fn prune(
        &self,
        needed: &HashSet<String>,
        keep: impl Fn(&str) -> bool,
    ) -> Result<usize, ArchiveError> {
        let failed = |error| ArchiveError::Io(self.0.clone(), error);
        let mut removed = 0;
        for entry in fs::read_dir(&self.0).map_err(failed)? {
            let path = entry.map_err(failed)?.path();
            let name = path.file_name().and_then(|name| name.to_str());
            let Some(digest) = name.and_then(|name| name.strip_suffix(".wasm")) else {
                continue;
            };
            if !needed.contains(digest) && !keep(digest) {
                fs::remove_file(&path).map_err(failed)?;
                removed += 1;
            }
        }
        Ok(removed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let needed = HashSet::from([one.clone()]);
        assert_eq!(archive.prune(&needed, |_| false).unwrap(), 1);
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
}
