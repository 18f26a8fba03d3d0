//! Files of the data directory.
//!
//! Invariant: a file is whole or not there, whenever the machine stops; nobody but the server's user
//! can read or change it.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;

/// Bytes of a key.
pub const KEY_BYTES: usize = 32;

/// Makes a folder and those above it, if need be.
///
/// # Errors
/// The system's.
pub fn make_folder(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

/// Writes a file of a folder, in place of an older one: beside it first, and on the disk before it is
/// renamed.
///
/// # Errors
/// The system's.
pub fn write(folder: &Path, name: &str, bytes: &[u8]) -> io::Result<()> {
    let part = folder.join(format!("{name}.part"));
    let mut file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&part)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(&part, folder.join(name))?;
    File::open(folder)?.sync_all()
}

/// The key in a file. A new file gets a new key; of several who make it at once, all get the same.
///
/// # Errors
/// The file cannot be read or made, or is no key.
pub fn key(path: &Path) -> io::Result<[u8; KEY_BYTES]> {
    if let Err(error) = make_key(path)
        && error.kind() != io::ErrorKind::AlreadyExists
    {
        return Err(error);
    }
    known_key(path)
}

/// The key in a file that is there.
///
/// # Errors
/// The file cannot be read, or is no key.
pub fn known_key(path: &Path) -> io::Result<[u8; KEY_BYTES]> {
    let mut bytes = Vec::new();
    let file = File::open(path)?;
    file.take(KEY_BYTES as u64 + 1).read_to_end(&mut bytes)?;
    bytes.try_into().map_err(|_| {
        let reason = format!("it is no key: a key has {KEY_BYTES} bytes; remove it for a new one");
        io::Error::new(io::ErrorKind::InvalidData, reason)
    })
}

/// Makes a key, whole or not at all, unless there is one.
fn make_key(path: &Path) -> io::Result<()> {
    if path.exists() {
        return Ok(());
    }
    let folder = path.parent().filter(|it| !it.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    // Only its owner can read such a file.
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(&rand::random::<[u8; KEY_BYTES]>())?;
    file.as_file().sync_all()?;
    file.persist_noclobber(path).map_err(|error| error.error)?;
    File::open(folder)?.sync_all()
}

/// True if only this process's user can have written an open file, and nobody else can now.
///
/// # Errors
/// The system's.
pub fn is_own(file: &File) -> io::Result<bool> {
    let metadata = file.metadata()?;
    let user = rustix::process::geteuid().as_raw();
    Ok(metadata.is_file() && metadata.uid() == user && metadata.mode() & 0o022 == 0)
}

/// Removes what is in a folder under names that are not to be kept. Gives how many files.
///
/// # Errors
/// The system's.
pub fn prune(folder: &Path, keep: impl Fn(&str) -> bool) -> io::Result<usize> {
    let mut removed = 0;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        if !name.to_str().is_some_and(&keep) && entry.file_type()?.is_file() {
            fs::remove_file(entry.path())?;
            removed += 1;
        }
    }
    Ok(removed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn a_file_is_replaced_as_a_whole() {
        let folder = tempfile::tempdir().unwrap();
        for text in ["one", "two"] {
            write(folder.path(), "a", text.as_bytes()).unwrap();
            let read = fs::read_to_string(folder.path().join("a")).unwrap();
            assert_eq!(read, text);
        }
        assert_eq!(prune(folder.path(), |name| name == "a").unwrap(), 0);
        assert_eq!(prune(folder.path(), |_| false).unwrap(), 1);
    }

    #[test]
    fn a_key_stays_what_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        let made = key(&path).unwrap();
        assert_eq!(key(&path).unwrap(), made);
        fs::write(&path, "short").unwrap();
        assert_eq!(key(&path).unwrap_err().kind(), io::ErrorKind::InvalidData);
    }

    #[test]
    fn all_who_make_a_key_at_once_have_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        let keys = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..8)
                .map(|_| scope.spawn(|| key(&path).unwrap()))
                .collect();
            let keys = threads.into_iter().map(|thread| thread.join().unwrap());
            keys.collect::<std::collections::HashSet<_>>()
        });
        assert_eq!(keys.len(), 1);
        assert!(is_own(&File::open(&path).unwrap()).unwrap());
    }

    #[test]
    fn a_file_that_others_may_write_is_not_own() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), "a", b"").unwrap();
        let file = File::open(folder.path().join("a")).unwrap();
        assert!(is_own(&file).unwrap());
        file.set_permissions(fs::Permissions::from_mode(0o620))
            .unwrap();
        assert!(!is_own(&file).unwrap());
    }
}
