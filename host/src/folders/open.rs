//! Files of a folder, opened one name after the other.
//!
//! Invariants: every name is looked up in the folder that was opened before it, and no link is followed,
//! so that nothing that is swapped meanwhile leads out; nothing but a file is opened for reading, and no
//! opening waits for somebody else, as that of a FIFO would.

use super::path::FilePath;
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{self, AtFlags, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;
use std::fs::File;
use std::path::Path;

/// How a folder is opened.
const FOLDER: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::CLOEXEC);
/// How a file is opened, once it is known to be one.
const FILE: OFlags = OFlags::RDONLY
    .union(OFlags::NOFOLLOW)
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY)
    .union(OFlags::CLOEXEC);

/// Opens the folder that an operator named. If that is a link, they meant where it leads.
pub(super) fn root(path: &Path) -> Result<OwnedFd, Errno> {
    fs::open(path, FOLDER, Mode::empty())
}

/// Opens a folder in another one.
pub(super) fn folder(parent: impl AsFd, name: &[u8]) -> Result<OwnedFd, Errno> {
    fs::openat(parent, name, FOLDER | OFlags::NOFOLLOW, Mode::empty())
}

/// Looks at what has a name in a folder, without opening it or following it.
pub(super) fn look(folder: impl AsFd, name: &[u8]) -> Result<Stat, Errno> {
    fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)
}

pub(super) fn is_file(stat: &Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile
}

pub(super) fn is_folder(stat: &Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode) == FileType::Directory
}

/// Opens a file. What is none is as if it were not there.
pub(super) fn file(root: impl AsFd, path: &FilePath) -> Result<(File, Stat), Errno> {
    let (folders, name) = path.split();
    let mut last = None;
    for name in folders {
        last = Some(match &last {
            None => folder(&root, name)?,
            Some(parent) => folder(parent, name)?,
        });
    }
    let parent = last.as_ref().map_or(root.as_fd(), AsFd::as_fd);
    // Opening a device may do something already.
    if !is_file(&look(parent, name)?) {
        return Err(Errno::NOENT);
    }
    let file = fs::openat(parent, name, FILE, Mode::empty())?;
    let stat = fs::fstat(&file)?;
    match is_file(&stat) {
        true => Ok((File::from(file), stat)),
        false => Err(Errno::NOENT),
    }
}
