//! Compiled components, kept for the next start.
//!
//! Invariant: native code is taken from here only if this server's key vouches for all of its bytes, as
//! those of this component, compiled by this version of the program. Whatever does not verify is
//! removed, and compiled anew. No guest can be granted the folder: it is in the data directory.
//!
//! The name of a file tells its component's digest and the code that authenticates the file; so one
//! rename brings both.

use super::compile::Artefact;
use crate::files;
use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd as _;
use std::path::{Path, PathBuf};

/// How names end.
const END: &str = ".cwasm";
/// Keys are those of this version of the program: another may compile otherwise, or allow less.
const CONTEXT: &str = concat!(
    "cofferdam ",
    env!("CARGO_PKG_VERSION"),
    " compiled component"
);

/// A folder of compiled components.
#[derive(Clone, Debug)]
pub struct CompileCache {
    folder: PathBuf,
    key: [u8; files::KEY_BYTES],
}

impl CompileCache {
    /// In a folder, which is made if need be, with its key beside it, in `FOLDER.key`.
    ///
    /// # Errors
    /// The system's; or the key is none.
    pub fn open(folder: &Path) -> io::Result<Self> {
        files::make_folder(folder)?;
        let key = files::key(&folder.with_extension("key"))?;
        Ok(Self {
            folder: folder.to_owned(),
            key: blake3::derive_key(CONTEXT, &key),
        })
    }

    fn hasher(&self, digest: &str) -> blake3::Hasher {
        let mut hasher = blake3::Hasher::new_keyed(&self.key);
        // The digests' length is always the same.
        hasher.update(digest.as_bytes());
        hasher
    }

    /// The verified file of a component, if there is one.
    pub(super) fn find(&self, digest: &str) -> Option<File> {
        for name in self.names(digest).ok()? {
            let path = self.folder.join(&name);
            match self.verified(digest, &name) {
                Ok(Some(file)) => return Some(file),
                Ok(None) => tracing::warn!("{} was changed; compiling anew", path.display()),
                Err(error) => tracing::warn!("{}: {error}; compiling anew", path.display()),
            }
            let _ = fs::remove_file(path);
        }
        None
    }

    /// Keeps a component's native code. Gives its file.
    pub(super) fn keep(&self, digest: &str, artefact: &Artefact) -> io::Result<File> {
        let bytes = artefact.bytes();
        let code = self.hasher(digest).update(bytes).finalize();
        let name = format!("{digest}-{code}{END}");
        files::write(&self.folder, &name, bytes)?;
        File::open(self.folder.join(name))
    }

    /// Forgets a component's native code.
    pub(super) fn forget(&self, digest: &str) {
        for name in self.names(digest).unwrap_or_default() {
            let _ = fs::remove_file(self.folder.join(name));
        }
    }

    /// Removes what belongs to no component that `keep` accepts, by its digest. Gives how many files.
    ///
    /// # Errors
    /// The system's.
    pub fn prune(&self, keep: impl Fn(&str) -> bool) -> io::Result<usize> {
        files::prune(&self.folder, |name| {
            name.ends_with(END) && name.split_once('-').is_some_and(|(digest, _)| keep(digest))
        })
    }

    fn names(&self, digest: &str) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(&self.folder)? {
            let name = entry?.file_name().into_string().unwrap_or_default();
            let rest = name.strip_prefix(digest);
            if rest.is_some_and(|rest| rest.starts_with('-') && rest.ends_with(END)) {
                names.push(name);
            }
        }
        Ok(names)
    }

    fn verified(&self, digest: &str, name: &str) -> io::Result<Option<File>> {
        let file = File::open(self.folder.join(name))?;
        let code = name
            .strip_prefix(digest)
            .and_then(|rest| rest.strip_prefix('-'));
        let code = code.and_then(|rest| rest.strip_suffix(END));
        let code = code.and_then(|code| blake3::Hash::from_hex(code).ok());
        if !files::is_own(&file)? {
            return Ok(None);
        }
        // The very file that is checked here, on all cores: code of big runtimes has tens of megabytes.
        let opened = format!("/proc/self/fd/{}", file.as_raw_fd());
        let mut hasher = self.hasher(digest);
        hasher.update_mmap_rayon(opened)?;
        // Compared in constant time.
        Ok((code == Some(hasher.finalize())).then_some(file))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read as _;

    const A: &str = "aaaa";
    const B: &str = "bbbb";

    fn text(mut file: File) -> String {
        let mut text = String::new();
        file.read_to_string(&mut text).unwrap();
        text
    }

    fn only_file(folder: &Path) -> PathBuf {
        let mut files = fs::read_dir(folder).unwrap();
        files.next().unwrap().unwrap().path()
    }

    #[test]
    fn what_is_kept_is_found_by_its_digest() {
        let folder = tempfile::tempdir().unwrap();
        let cache = CompileCache::open(&folder.path().join("compiled")).unwrap();
        let kept = cache.keep(A, &Artefact::of_test("native")).unwrap();
        assert_eq!(text(kept), "native");
        assert!(cache.find(B).is_none());
        let reopened = CompileCache::open(&folder.path().join("compiled")).unwrap();
        assert_eq!(text(reopened.find(A).unwrap()), "native");
        assert_eq!(reopened.prune(|digest| digest == A).unwrap(), 0);
        assert_eq!(reopened.prune(|_| false).unwrap(), 1);
        assert!(reopened.find(A).is_none());
    }

    #[test]
    fn what_the_key_does_not_vouch_for_is_removed() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let compiled = folder.path().join("compiled");
        type Change = fn(&Path);
        let changes: [Change; 5] = [
            |file| fs::write(file, "evil").unwrap(),
            |file| fs::write(file, "native and more").unwrap(),
            |file| fs::write(file, "").unwrap(),
            // Another component's code.
            |file| {
                let name = file.file_name().unwrap().to_str().unwrap();
                let name = name.replace(A, B);
                fs::copy(file, file.with_file_name(name)).unwrap();
                fs::remove_file(file).unwrap();
            },
            |file| fs::set_permissions(file, fs::Permissions::from_mode(0o666)).unwrap(),
        ];
        for change in changes {
            let cache = CompileCache::open(&compiled).unwrap();
            cache.keep(A, &Artefact::of_test("native")).unwrap();
            change(&only_file(&compiled));
            assert!(cache.find(A).is_none() && cache.find(B).is_none());
            assert_eq!(fs::read_dir(&compiled).unwrap().count(), 0);
        }
    }

    #[test]
    fn another_servers_code_is_foreign() {
        let folder = tempfile::tempdir().unwrap();
        let cache = CompileCache::open(&folder.path().join("one")).unwrap();
        let other = CompileCache::open(&folder.path().join("two")).unwrap();
        cache.keep(A, &Artefact::of_test("native")).unwrap();
        let file = only_file(&folder.path().join("one"));
        let there = folder.path().join("two").join(file.file_name().unwrap());
        fs::rename(file, there).unwrap();
        assert!(other.find(A).is_none());
    }
}
