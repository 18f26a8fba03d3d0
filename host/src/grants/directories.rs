//! Folders of the server's machine, to read or also to write.
//!
//! Invariant: a guest sees the folder under the name it was given and nothing above it; symbolic
//! links do not lead out (wasmtime-wasi opens every path beneath the folder).

use super::GrantError;
use std::collections::HashSet;
use std::path::PathBuf;
use wasmtime_wasi::{FsPerms, WasiCtxBuilder};

/// One folder.
#[derive(Clone, Debug)]
pub struct Directory {
    /// Where it is.
    pub host: PathBuf,
    /// What the guest calls it.
    pub guest: String,
    /// May the guest change what is in it?
    pub write: bool,
}

/// The folders of one source.
#[derive(Clone, Debug, Default)]
pub struct Directories(Vec<Directory>);

impl Directories {
    /// Checks that they are there.
    ///
    /// # Errors
    /// [`GrantError`].
    pub fn new(directories: Vec<Directory>) -> Result<Self, GrantError> {
        let mut names = HashSet::new();
        for directory in &directories {
            let guest = &directory.guest;
            let plain =
                guest.starts_with('/') && !guest.split('/').any(|it| it == "." || it == "..");
            if !plain {
                return Err(GrantError::GuestPath(guest.clone()));
            }
            if !names.insert(guest.trim_end_matches('/')) {
                return Err(GrantError::Twice(guest.clone()));
            }
            let failed = |error| GrantError::Directory(directory.host.display().to_string(), error);
            std::fs::read_dir(&directory.host).map_err(failed)?;
        }
        Ok(Self(directories))
    }

    /// The folders.
    pub fn iter(&self) -> impl Iterator<Item = &Directory> {
        self.0.iter()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn prepare(&self, wasi: &mut WasiCtxBuilder) -> wasmtime::Result<()> {
        for directory in &self.0 {
            let permissions = if directory.write {
                FsPerms::ReadWrite
            } else {
                FsPerms::ReadOnly
            };
            wasi.preopened_dir(&directory.host, &directory.guest, permissions)
                .map_err(|error| error.context("a granted directory cannot be opened"))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_there_and_have_names_of_their_own() {
        let folder = tempfile::tempdir().unwrap();
        let grant = |guests: &[&str]| {
            let one = |guest: &&str| Directory {
                host: folder.path().to_owned(),
                guest: (*guest).to_owned(),
                write: false,
            };
            Directories::new(guests.iter().map(one).collect())
        };
        assert!(grant(&["/data", "/other"]).is_ok());
        for bad in [&["data"][..], &["/a/../b"], &["/a", "/a/"], &[""]] {
            assert!(grant(bad).is_err(), "{bad:?}");
        }
        let gone = Directory {
            host: folder.path().join("gone"),
            guest: "/data".to_owned(),
            write: true,
        };
        let error = Directories::new(vec![gone]).unwrap_err().to_string();
        assert!(error.contains("gone"), "{error}");
    }
}
