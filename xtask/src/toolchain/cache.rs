//! The cache folder: what takes minutes to make and outlives a checkout. One process at a time
//! changes it, and what is in it is whole: a thing is made beside its place, then moved there.

use std::env;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::process::say;

/// `$COFFERDAM_CACHE`, `$XDG_CACHE_HOME/cofferdam` or `~/.cache/cofferdam`, held until dropped.
pub(crate) struct Cache {
    folder: PathBuf,
    _lock: File,
}

impl Cache {
    /// Waits until no other process holds the folder.
    pub(crate) fn lock() -> Result<Self> {
        let folder = folder().context("there is no home folder; set COFFERDAM_CACHE")?;
        let open = || -> std::io::Result<File> {
            fs::create_dir_all(&folder)?;
            let lock = File::create(folder.join("lock"))?;
            if lock.try_lock().is_err() {
                say!("waiting for another process that uses {}", folder.display());
                lock.lock()?;
            }
            Ok(lock)
        };
        let lock = open().with_context(|| format!("the cache folder {}", folder.display()))?;
        Ok(Self {
            folder,
            _lock: lock,
        })
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }
}

fn folder() -> Option<PathBuf> {
    let set = |name| {
        env::var_os(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    set("COFFERDAM_CACHE")
        .or_else(|| Some(set("XDG_CACHE_HOME")?.join("cofferdam")))
        .or_else(|| Some(env::home_dir()?.join(".cache/cofferdam")))
}

/// Makes a folder at `place`, where none is, by filling one beside it.
pub(crate) fn make(place: &Path, fill: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
    let mut part = place.as_os_str().to_owned();
    part.push(".part");
    let part = PathBuf::from(part);
    // A part that is there was left by a run that was stopped.
    if part.exists() {
        fs::remove_dir_all(&part)?;
    }
    fs::create_dir_all(&part)?;
    fill(&part)?;
    fs::rename(&part, place).with_context(|| format!("moving {}", part.display()))
}
