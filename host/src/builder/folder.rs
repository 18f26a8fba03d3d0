//! The data directory, and what is in it beside tasks and components.
//!
//! Invariant: one process has it at a time, and nobody but its user can read it.

use super::BuildError;
use crate::call::Sealer;
use crate::config::{DataFolder, STATE_KEY, StateKeys};
use crate::files;
use crate::limits::DATA_FOLDERS;
use crate::store::{LockError, Shared, Store, lock_file};
use crate::task::NodeId;
use std::fs::File;
use std::path::{Path, PathBuf};

/// Makes a data directory this process's own.
pub(super) fn own(data: DataFolder) -> Result<(PathBuf, File), BuildError> {
    let parent = match data {
        DataFolder::At(data) => return lock(&data).map(|lock| (data, lock)),
        DataFolder::FirstFreeIn(parent) => parent,
    };
    let mut number = 1;
    loop {
        let data = parent.join(number.to_string());
        match lock(&data) {
            Err(BuildError::Lock(_, LockError::Taken(_))) if number < DATA_FOLDERS => number += 1,
            other => return other.map(|lock| (data, lock)),
        }
    }
}

fn lock(data: &Path) -> Result<File, BuildError> {
    let folder = || data.to_owned();
    files::make_folder(data).map_err(|error| BuildError::Folder(folder(), error))?;
    lock_file(&data.join("lock")).map_err(|error| BuildError::Lock(folder(), error))
}

/// Seals with the key that was named; else with the one that nodes of the store have in common, or
/// with the data directory's own. What the nodes' key sealed is opened in any case.
pub(super) async fn sealer(
    keys: &StateKeys,
    shared: Option<&dyn Shared>,
    data: &Path,
) -> Result<Sealer, BuildError> {
    let unusable = |path: &Path, error| BuildError::Key(path.to_owned(), error);
    let own = |path: &Path| files::key(path).map_err(|error| unusable(path, error));
    let common = match shared {
        Some(shared) => Some(shared.key().await?),
        None => None,
    };
    let mut sealer = match (&keys.now, common) {
        (Some(path), Some(common)) => Sealer::new(own(path)?).and_old(common),
        (Some(path), None) => Sealer::new(own(path)?),
        (None, Some(common)) => Sealer::new(common),
        (None, None) => Sealer::new(own(&data.join(STATE_KEY))?),
    };
    for path in &keys.old {
        let key = files::known_key(path).map_err(|error| unusable(path, error))?;
        sealer = sealer.and_old(key);
    }
    Ok(sealer)
}

/// Takes over from the node that used the data directory before, which is gone: what it held is free at
/// once.
pub(super) async fn succeed(
    store: &dyn Store,
    node: NodeId,
    data: &Path,
) -> Result<(), BuildError> {
    const NAME: &str = "node";
    if let Ok(bytes) = std::fs::read(data.join(NAME))
        && let Ok(before) = bytes.try_into()
    {
        store.retire(NodeId::from_bytes(before)).await?;
    }
    files::write(data, NAME, node.as_bytes())
        .map_err(|error| BuildError::Folder(data.to_owned(), error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_process_has_a_folder_and_the_next_one_finds_it() {
        let parent = tempfile::tempdir().unwrap();
        let take = || own(DataFolder::FirstFreeIn(parent.path().to_owned())).unwrap();
        let (first, second) = (take(), take());
        assert!(first.0.ends_with("1") && second.0.ends_with("2"));
        drop(first);
        assert!(take().0.ends_with("1"));
        let taken = own(DataFolder::At(second.0.clone())).unwrap_err();
        assert!(matches!(taken, BuildError::Lock(..)), "{taken}");
    }
}
