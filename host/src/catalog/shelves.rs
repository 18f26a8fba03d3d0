//! Folders that are served, looked at again.
//!
//! Invariant: a folder that cannot be looked at has not lost its files; one that is gone has. Whoever
//! listens to a file hears that it is another one, or gone, or there.

use super::{Refused, Updates};
use crate::folders::{Folder, FolderError, Shelf};
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use tokio::task::spawn_blocking;

/// Folders as they are now.
#[derive(Default)]
pub(super) struct Looked {
    pub(super) shelves: Vec<Arc<Shelf>>,
    pub(super) refused: Vec<Refused>,
    changed: Vec<(Arc<str>, Vec<Arc<str>>)>,
}

impl Looked {
    /// Tells whoever listens to what changed. Each node looks at its own folders.
    pub(super) fn tell(&self, updates: &Updates) {
        for (source, uris) in &self.changed {
            uris.iter()
                .for_each(|uri| updates.note_resource(Some(source), uri));
        }
    }
}

/// A folder that cannot be served.
pub(super) type Unserved = (PathBuf, FolderError);

/// Looks at folders for the first time.
///
/// # Errors
/// One that cannot be served.
pub(super) async fn first(folders: &[Arc<Folder>]) -> Result<Looked, Unserved> {
    let mut looked = Looked::default();
    for folder in folders {
        let shelf = look(folder).await;
        let shelf = shelf.map_err(|error| (folder.path().to_owned(), error))?;
        looked.shelves.push(Arc::new(shelf));
    }
    Ok(looked)
}

/// Looks at folders again.
pub(super) async fn again(before: &[Arc<Shelf>]) -> Looked {
    let mut looked = Looked::default();
    for then in before {
        let folder = then.folder();
        let now = look(folder).await.or_else(|error| {
            looked.refused.push(Refused {
                name: folder.path().display().to_string(),
                reason: error.to_string(),
                serving: None,
            });
            match &error {
                FolderError::Unreadable(error) if error.kind() == io::ErrorKind::NotFound => {
                    Ok(Shelf::gone(folder))
                }
                _ => Err(()),
            }
        });
        let Ok(now) = now else {
            looked.shelves.push(Arc::clone(then));
            continue;
        };
        let changed = now.changes_since(then);
        if !changed.is_empty() {
            looked.changed.push((Arc::clone(folder.source()), changed));
        }
        looked.shelves.push(Arc::new(now));
    }
    looked
}

async fn look(folder: &Arc<Folder>) -> Result<Shelf, FolderError> {
    let folder = Arc::clone(folder);
    let looked = spawn_blocking(move || folder.look()).await;
    looked.unwrap_or_else(|error| Err(FolderError::Unreadable(error.into())))
}
