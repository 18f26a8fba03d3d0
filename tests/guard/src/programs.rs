//! Where the programs of a server are: installed, or unpacked into `target/tools` by `cargo xtask
//! test`.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Programs that belong together, in one folder.
#[derive(Debug)]
pub struct Programs {
    folder: PathBuf,
    /// Where their libraries are, if that is no place that the system knows.
    libraries: Option<OsString>,
}

impl Programs {
    /// The installed ones: in a folder on the PATH, or in one of those below `/` where distributions
    /// put them, as `places` says.
    pub fn installed(names: &[&str], places: impl Fn(&Path) -> Vec<PathBuf>) -> Option<Self> {
        let path = env::var_os("PATH").unwrap_or_default();
        let folders = places(Path::new("/")).into_iter();
        let mut folders = folders.chain(env::split_paths(&path));
        let folder = folders.find(|folder| is_whole(folder, names))?;
        Some(Self {
            folder,
            libraries: None,
        })
    }

    /// The installed ones, or else those of a package in `target/tools`.
    ///
    /// # Panics
    /// If there are none.
    pub fn find(package: &str, names: &[&str], places: impl Fn(&Path) -> Vec<PathBuf>) -> Self {
        if let Some(installed) = Self::installed(names, &places) {
            return installed;
        }
        let root = tools().join(package);
        let mut folders = places(&root).into_iter();
        let folder = folders.find(|folder| is_whole(folder, names));
        let folder = folder.unwrap_or_else(|| {
            panic!("{package} is missing: run `cargo xtask test`, which unpacks it")
        });
        let libraries = children(&root.join("usr/lib"))
            .into_iter()
            .filter(|it| it.to_string_lossy().ends_with("-linux-gnu"))
            // Some of them find others below them by the place that they would be installed at.
            .flat_map(|it| [it.join("pulseaudio"), it]);
        Self {
            folder,
            libraries: env::join_paths(libraries).ok(),
        }
    }

    /// One of them.
    #[must_use]
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Lets a command that runs one of them find their libraries.
    pub fn prepare(&self, command: &mut Command) {
        if let Some(libraries) = &self.libraries {
            command.env("LD_LIBRARY_PATH", libraries);
        }
    }
}

/// The folder that tools are unpacked into.
///
/// # Panics
/// Never, in a checkout.
#[must_use]
pub fn tools() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let root = here.ancestors().nth(2).expect("the checkout");
    root.join("target/tools")
}

/// What is in a folder; nothing if it is not there.
#[must_use]
pub fn children(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}

fn is_whole(folder: &Path, names: &[&str]) -> bool {
    names.iter().all(|name| folder.join(name).is_file())
}
