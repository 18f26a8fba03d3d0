//! From what the operator named to the files that are there now.

use crate::config::{Location, Source};
use std::collections::HashSet;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// A component's file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Found {
    /// Which source it belongs to.
    pub(super) source: usize,
    /// What it is called: its path, as the operator would write it.
    pub(super) name: String,
    /// Where its bytes are.
    pub(super) path: PathBuf,
}

/// By what a file is known to be the same as before, without reading it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    file: (u64, u64),
    size: u64,
    /// When its content was changed, and when anything of it was, nanoseconds.
    times: (i128, i128),
}

impl Stamp {
    pub(super) fn of(path: &Path) -> io::Result<Self> {
        let metadata = fs::metadata(path)?;
        let nanos =
            |seconds: i64, nanos: i64| i128::from(seconds) * 1_000_000_000 + i128::from(nanos);
        Ok(Self {
            file: (metadata.dev(), metadata.ino()),
            size: metadata.len(),
            times: (
                nanos(metadata.mtime(), metadata.mtime_nsec()),
                nanos(metadata.ctime(), metadata.ctime_nsec()),
            ),
        })
    }

    pub(super) fn size(&self) -> u64 {
        self.size
    }
}

/// A source that cannot be read at all.
pub(super) struct Unreadable {
    pub(super) source: usize,
    pub(super) error: io::Error,
}

/// Files in the order they were named; those of a folder by name. A file named twice counts once.
pub(super) fn find(sources: &[Source]) -> (Vec<Found>, Vec<Unreadable>) {
    let (mut found, mut unreadable) = (Vec::new(), Vec::new());
    let mut seen = HashSet::new();
    for (index, source) in sources.iter().enumerate() {
        let Location::Path(path) = &source.location;
        match files(path) {
            Ok(files) => {
                let files = files.into_iter().filter(|path| {
                    let path = fs::canonicalize(path).unwrap_or_else(|_| path.clone());
                    seen.insert((path, &source.prefix))
                });
                found.extend(files.map(|path| Found {
                    source: index,
                    name: path.display().to_string(),
                    path,
                }));
            }
            Err(error) => unreadable.push(Unreadable {
                source: index,
                error,
            }),
        }
    }
    (found, unreadable)
}

/// The file, if it is there; those of a folder.
fn files(path: &Path) -> io::Result<Vec<PathBuf>> {
    if !fs::metadata(path)?.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let mut files = Vec::new();
    for entry in fs::read_dir(path)? {
        let file = entry?.path();
        let is_file = || fs::metadata(&file).is_ok_and(|it: Metadata| it.is_file());
        if is_component(&file) && is_file() {
            files.push(file);
        }
    }
    files.sort();
    Ok(files)
}

/// True for the name of a component in a folder.
pub(super) fn is_component(path: &Path) -> bool {
    path.extension().is_some_and(|end| end == "wasm")
}
