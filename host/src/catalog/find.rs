//! From what the operator named to the files that are there now.

use crate::config::{Location, Source};
use crate::registry::{Mirror, MovedTag, Reference};
use crate::signature;
use std::collections::{HashMap, HashSet};
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// How much is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// Files that were changed.
    Files,
    /// Registries as well, and files that were refused.
    Everything,
}

/// A component's file.
#[derive(Clone, Debug)]
pub(super) struct Found {
    /// Which source it belongs to.
    pub(super) source: usize,
    /// What it is called: its path, or its reference, as the operator would write it.
    pub(super) name: String,
    /// Where its bytes are.
    pub(super) path: PathBuf,
    /// The signature that a registry keeps with it.
    pub(super) signature: Option<String>,
    /// Why this is not what its reference stands for now, but what it stood for.
    pub(super) stale: Option<String>,
}

impl Found {
    /// True if both are the same file, whatever is in it.
    pub(super) fn is(&self, other: &Self) -> bool {
        self.source == other.source && self.name == other.name
    }
}

/// By what a file, and its signature beside it, are known to be the same as before, without reading
/// them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    component: OneStamp,
    signature: Option<OneStamp>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct OneStamp {
    file: (u64, u64),
    size: u64,
    /// When its content was changed, and when anything of it was, nanoseconds.
    times: (i128, i128),
}

impl Stamp {
    pub(super) fn of(path: &Path) -> io::Result<Self> {
        Ok(Self {
            component: OneStamp::of(path)?,
            signature: OneStamp::of(&signature::path(path)).ok(),
        })
    }

    pub(super) fn size(&self) -> u64 {
        self.component.size
    }
}

impl OneStamp {
    fn of(path: &Path) -> io::Result<Self> {
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
}

/// A source that cannot be read at all.
pub(super) struct Unreadable {
    pub(super) source: usize,
    pub(super) why: Why,
}

/// Why not.
pub(super) enum Why {
    /// Its file or folder cannot be read.
    Path(io::Error),
    /// It cannot be had from its registry.
    Registry(String),
}

impl Why {
    /// True if there is nothing any more.
    pub(super) fn is_gone(&self) -> bool {
        matches!(self, Self::Path(error) if error.kind() == io::ErrorKind::NotFound)
    }

    pub(super) fn reason(&self) -> String {
        match self {
            Self::Path(error) => error.to_string(),
            Self::Registry(reason) => reason.clone(),
        }
    }
}

/// Files in the order they were named; those of a folder by name. A file named twice counts once. What
/// there is in registries is told by `fetched`, for each source of one.
pub(super) fn find(
    sources: &[Source],
    mut fetched: impl FnMut(usize) -> Result<Found, Why>,
) -> (Vec<Found>, Vec<Unreadable>) {
    let (mut found, mut unreadable) = (Vec::new(), Vec::new());
    let mut seen = HashSet::new();
    for (index, source) in sources.iter().enumerate() {
        let files = match &source.location {
            Location::Path(path) => files(path).map_err(Why::Path).map(|files| {
                let files = files.into_iter().map(|path| Found {
                    source: index,
                    name: path.display().to_string(),
                    path,
                    signature: None,
                    stale: None,
                });
                files.collect()
            }),
            Location::Registry(_) => fetched(index).map(|found| vec![found]),
        };
        match files {
            Ok(files) => found.extend::<Vec<_>>(files),
            Err(why) => unreadable.push(Unreadable { source: index, why }),
        }
    }
    found.retain(|file| {
        let path = fs::canonicalize(&file.path).unwrap_or_else(|_| file.path.clone());
        seen.insert((path, &sources[file.source].prefix))
    });
    (found, unreadable)
}

/// What every source of a registry stands for now.
pub(super) async fn fetch(
    sources: &[Source],
    mirror: &Mirror,
) -> HashMap<usize, Result<Found, Why>> {
    let mut fetched = HashMap::new();
    for (index, source) in sources.iter().enumerate() {
        if let Location::Registry(reference) = &source.location {
            fetched.insert(index, fetch_one(index, source, reference, mirror).await);
        }
    }
    fetched
}

async fn fetch_one(
    index: usize,
    source: &Source,
    reference: &Reference,
    mirror: &Mirror,
) -> Result<Found, Why> {
    let moved = match source.follow {
        true => MovedTag::Follow,
        false => MovedTag::Refuse,
    };
    let fetched = mirror.fetch(&source.registry, reference, moved).await;
    let fetched = fetched.map_err(|error| Why::Registry(error.to_string()))?;
    Ok(Found {
        source: index,
        name: reference.to_string(),
        path: fetched.path,
        signature: fetched.signature,
        stale: fetched.stale,
    })
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
