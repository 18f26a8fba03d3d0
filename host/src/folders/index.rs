//! The files of a folder, as they are listed.
//!
//! Invariants: what is listed can be read; nothing outside of the folder is looked at, and no more of
//! it than a bound; files are in the order of their URIs.

use super::kind::media_type;
use super::path::FilePath;
use super::{Folder, FolderError, open};
use crate::limits::{FOLDER_DEPTH, FOLDER_ENTRIES, URI_BYTES};
use crate::protocol::raw;
use rustix::fd::{AsFd, BorrowedFd};
use rustix::fs::{Dir, Stat};
use rustix::io::Errno;
use serde_json::json;
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Files by their URIs.
pub(super) type Index = BTreeMap<Arc<str>, Entry>;

/// A file that is listed.
#[derive(Debug)]
pub(super) struct Entry {
    /// MCP's description of it.
    pub(super) definition: Box<RawValue>,
    stamp: Stamp,
}

/// By what it is known that a file is as it was.
#[derive(Debug, PartialEq, Eq)]
struct Stamp {
    file: (i128, i128),
    size: i128,
    times: [i128; 4],
}

impl Stamp {
    fn of(stat: &Stat) -> Self {
        Self {
            file: (stat.st_dev.into(), stat.st_ino.into()),
            size: stat.st_size.into(),
            times: [
                stat.st_mtime.into(),
                stat.st_mtime_nsec.into(),
                stat.st_ctime.into(),
                stat.st_ctime_nsec.into(),
            ],
        }
    }
}

/// Looks at all files of a folder.
///
/// # Errors
/// There is too much in it, or it cannot be read.
pub(super) fn scan(root: BorrowedFd<'_>, folder: &Folder) -> Result<Index, FolderError> {
    let mut index = Index::new();
    let mut looked_at = 0_usize;
    let mut folders = vec![Vec::new()];
    while let Some(path) = folders.pop() {
        let opened = match path.is_empty() {
            true => Ok(None),
            false => enter(root, &path).map(Some),
        };
        // It went away, or is not for the server.
        let Ok(opened) = opened else { continue };
        let here = opened.as_ref().map_or(root, AsFd::as_fd);
        let entries = match Dir::read_from(here) {
            Ok(entries) => entries,
            Err(error) if path.is_empty() => return Err(FolderError::Unreadable(error.into())),
            Err(_) => continue,
        };
        for entry in entries {
            let Ok(entry) = entry else { break };
            let name = entry.file_name().to_bytes();
            if matches!(name, b"." | b"..") {
                continue;
            }
            looked_at += 1;
            if looked_at > FOLDER_ENTRIES {
                return Err(FolderError::TooMany);
            }
            let mut bytes = path.clone();
            if !bytes.is_empty() {
                bytes.push(b'/');
            }
            bytes.extend_from_slice(name);
            let Some(path) = FilePath::new(bytes, folder.hidden) else {
                continue;
            };
            let Ok(stat) = open::look(here, name) else {
                continue;
            };
            if open::is_folder(&stat) {
                let depth = path.bytes().split(|byte| *byte == b'/').count();
                if depth < FOLDER_DEPTH {
                    folders.push(path.bytes().to_vec());
                }
            } else if open::is_file(&stat) && fits(&stat, folder) {
                let uri = format!("{}{}", folder.uri, path.to_uri());
                if uri.len() <= URI_BYTES {
                    let entry = describe(&uri, &path, &stat);
                    index.insert(uri.into(), entry);
                }
            }
        }
    }
    Ok(index)
}

fn fits(stat: &Stat, folder: &Folder) -> bool {
    u64::try_from(stat.st_size).is_ok_and(|size| size <= folder.max_file_bytes)
}

/// Opens a folder by its path, name after name.
fn enter(root: BorrowedFd<'_>, path: &[u8]) -> Result<rustix::fd::OwnedFd, Errno> {
    let mut names = path.split(|byte| *byte == b'/');
    let mut here = open::folder(root, names.next().unwrap_or_default())?;
    for name in names {
        here = open::folder(&here, name)?;
    }
    Ok(here)
}

fn describe(uri: &str, path: &FilePath, stat: &Stat) -> Entry {
    let mut definition = json!({
        "uri": uri,
        "name": path.shown(),
        "mimeType": media_type(path.bytes()),
        "size": stat.st_size,
    });
    if let Ok(time) = jiff::Timestamp::from_second(stat.st_mtime) {
        definition["annotations"] = json!({ "lastModified": time.to_string() });
    }
    Entry {
        definition: raw(&definition),
        stamp: Stamp::of(stat),
    }
}

/// The URIs of files that are not as they were: changed, new or gone.
pub(super) fn changes(before: &Index, now: &Index) -> Vec<Arc<str>> {
    let same = |uri: &Arc<str>, entry: &Entry, other: &Index| {
        other.get(uri).is_some_and(|it| it.stamp == entry.stamp)
    };
    let new = now.iter().filter(|(uri, entry)| !same(uri, entry, before));
    let gone = before.iter().filter(|(uri, _)| !now.contains_key(*uri));
    new.chain(gone).map(|(uri, _)| Arc::clone(uri)).collect()
}
