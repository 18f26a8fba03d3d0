//! Tells when the files of components may have changed.
//!
//! Invariant: whatever is done to a watched file or folder is told after it, once the folder was
//! quiet for [`WATCH_QUIET`] (or [`WATCH_LONGEST`] after the first change). Files that are replaced by
//! a rename, links that point elsewhere, and folders that are made anew are followed. In folders whose files
//! are served, no link is.

use super::find::is_component;
use crate::config::{Location, Source};
use crate::folders::Folder;
use crate::limits::{WATCH_LONGEST, WATCH_QUIET};
use crate::signature;
use notify::event::ModifyKind;
use notify::{Config, Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::sync::Notify;
use tokio::time::{Instant, timeout, timeout_at};

/// Why files cannot be watched.
#[derive(Debug, thiserror::Error)]
#[error(
    "cannot watch for changes of components: {0}; reload with SIGHUP or `cofferdam reload`, or set \
     server.watch=false"
)]
pub struct WatchError(#[from] notify::Error);

/// Watches the files of some sources.
pub struct Watch {
    places: Vec<Place>,
    changed: Arc<Notify>,
    watcher: RecommendedWatcher,
    /// There was a change that was not told yet.
    pending: bool,
}

impl Watch {
    /// Watches from now on.
    ///
    /// # Errors
    /// [`WatchError`]: the system watches no more files.
    pub fn new(sources: &[Source], folders: &[Arc<Folder>]) -> Result<Self, WatchError> {
        let places = places(sources, folders);
        let changed = Arc::new(Notify::new());
        let (tell, watched) = (Arc::clone(&changed), places.clone());
        let tell = move |event: notify::Result<Event>| {
            // An error may have hidden a change.
            if event.map_or(true, |event| matters(&event, &watched)) {
                tell.notify_one();
            }
        };
        // A link in a folder may lead to all that the system has.
        let config = Config::default().with_follow_symlinks(false);
        let mut watcher = RecommendedWatcher::new(tell, config)?;
        watch(&mut watcher, &places)?;
        Ok(Self {
            places,
            changed,
            watcher,
            pending: false,
        })
    }

    /// Waits until something changed, and is quiet again. Whoever gives up waiting loses nothing.
    pub async fn changed(&mut self) {
        if !self.pending {
            self.changed.notified().await;
            self.pending = true;
        }
        let latest = Instant::now() + WATCH_LONGEST;
        let quiet = async { while timeout(WATCH_QUIET, self.changed.notified()).await.is_ok() {} };
        let _ = timeout_at(latest, quiet).await;
        // A folder that was made anew is another one to the system. Before whoever waits looks, so that
        // no change after that is missed.
        if let Err(error) = watch(&mut self.watcher, &self.places) {
            tracing::warn!("{}", WatchError(error));
        }
        self.pending = false;
    }
}

/// A file or a folder that a source names, or a folder whose files are served.
#[derive(Clone)]
struct Place {
    path: PathBuf,
    /// The folder that it is in.
    parent: PathBuf,
    /// Whatever is in it counts, and in the folders in it.
    whole: bool,
}

fn places(sources: &[Source], folders: &[Arc<Folder>]) -> Vec<Place> {
    let sources = sources.iter().filter_map(|source| match &source.location {
        Location::Path(path) => Some((&**path, false)),
        Location::Registry(_) => None,
    });
    let folders = folders.iter().filter(|folder| folder.is_listed());
    let folders = folders.map(|folder| (folder.path(), true));
    let places = sources.chain(folders).map(|(path, whole)| {
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        Place {
            parent: path.parent().unwrap_or(&path).to_owned(),
            path,
            whole,
        }
    });
    places.collect()
}

/// Watches what is there of the places. Fails if something is there and cannot be watched.
fn watch(watcher: &mut RecommendedWatcher, places: &[Place]) -> notify::Result<()> {
    for place in places {
        let within = match place.whole {
            true => RecursiveMode::Recursive,
            false => RecursiveMode::NonRecursive,
        };
        for (folder, mode) in [
            (&place.parent, RecursiveMode::NonRecursive),
            (&place.path, within),
        ] {
            if folder.is_dir() {
                watcher.watch(folder, mode)?;
            }
        }
    }
    Ok(())
}

/// True if there may be another component after an event. In the folders there may be files that
/// others write to all the time; only what comes, goes or is renamed counts of these, as a link may
/// lead over it.
fn matters(event: &Event, places: &[Place]) -> bool {
    let is_ours = |path: &Path| {
        let name = path.to_string_lossy();
        let path = Path::new(name.strip_suffix(signature::END).unwrap_or(&name));
        let mut places = places.iter();
        places.any(|place| {
            path == place.path
                || (path.parent() == Some(&place.path) && is_component(path))
                || (place.whole && path.starts_with(&place.path))
        })
    };
    match event.kind {
        EventKind::Access(_) => false,
        EventKind::Modify(ModifyKind::Data(_) | ModifyKind::Metadata(_)) => {
            event.paths.iter().any(|path| is_ours(path))
        }
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use notify::event::{AccessKind, CreateKind, DataChange};

    #[test]
    fn only_what_may_change_a_component_matters() {
        let place = |path: &str| Place {
            path: path.into(),
            parent: Path::new(path).parent().unwrap().into(),
            whole: path.ends_with("texts"),
        };
        let places = [place("/a/tools"), place("/b/one.wasm"), place("/b/texts")];
        let written = EventKind::Modify(ModifyKind::Data(DataChange::Any));
        let matters = |kind, path: &str| matters(&Event::new(kind).add_path(path.into()), &places);
        assert!(matters(written, "/a/tools/x.wasm"));
        assert!(matters(written, "/b/one.wasm"));
        assert!(matters(written, "/b/one.wasm.minisig"));
        assert!(matters(written, "/a/tools/x.wasm.minisig"));
        assert!(matters(written, "/b/texts/a/b.md"));
        assert!(!matters(written, "/b/texts.md"));
        assert!(!matters(written, "/b/two.wasm"));
        assert!(!matters(written, "/a/tools/log"));
        assert!(!matters(written, "/b/cofferdam.sqlite"));
        assert!(matters(
            EventKind::Create(CreateKind::Any),
            "/a/tools/..data"
        ));
        assert!(matters(EventKind::Create(CreateKind::Any), "/a/tools"));
        assert!(!matters(EventKind::Access(AccessKind::Any), "/b/one.wasm"));
    }
}
