//! The catalog that serves, and how the next one comes into its place.
//!
//! Invariants: what serves changes at once, between two calls; a call goes on with what it began with.
//! One reload goes on at a time, beside the calls. A file is read again only if it was changed, or if an
//! operator asks for it.

use super::file::{File, settle};
use super::find::{Found, Look, Unreadable, Why, fetch, find};
use super::load::Loader;
use super::shelves::{self, Looked};
use super::versions::Versions;
use super::{Archive, Catalog, Changes, Component, Refused, Updates};
use crate::config::{Location, Source};
use crate::folders::{Folder, FolderError};
use crate::registry::Mirror;
use crate::runtime::Runtime;
use crate::settings::Settings;
use crate::signature::PublicKey;
use crate::store::Shared;
use arc_swap::ArcSwap;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Weak};
use tokio::sync::{Mutex as AsyncMutex, watch};

/// Why there is no catalog.
#[derive(Debug, thiserror::Error)]
pub enum CatalogError {
    /// A path that cannot be read.
    #[error("cannot read {0}: {1}; give a .wasm file or a folder of them")]
    Path(String, String),
    /// A folder whose files cannot be served.
    #[error("cannot serve the files of {0}")]
    Folder(PathBuf, #[source] FolderError),
    /// Components, but none that serves.
    #[error("no component can serve:{}", .0.iter().map(|it| format!("\n  {}: {}", it.name, it.reason)).collect::<String>())]
    NoneServes(Vec<Refused>),
}

/// Of a component that was not to be had when its registry was asked.
const NOT_ASKED: &str = "it was not to be had from its registry, which is asked again later";

/// What a catalog is made of.
pub struct CatalogParts {
    /// Where components come from.
    pub sources: Vec<Source>,
    /// Folders whose files are served.
    pub folders: Vec<Arc<Folder>>,
    /// The sandbox.
    pub runtime: Arc<Runtime>,
    /// Checked settings.
    pub settings: Settings,
    /// Where components are kept for the calls and tasks that began with them.
    pub archive: Archive,
    /// Where components of registries are kept.
    pub mirror: Mirror,
    /// Whoever is trusted by some tenant, beside those whom sources trust.
    pub keys: Vec<PublicKey>,
    /// Where other nodes keep components, if there may be others.
    pub shared: Option<Arc<dyn Shared>>,
}

/// The tools that are served now, and those of components that were.
pub struct LiveCatalog {
    current: ArcSwap<Catalog>,
    changes: watch::Sender<()>,
    pub(super) sources: Vec<Source>,
    /// Held while registries are asked, until what they gave is in place: before `files`.
    pub(super) mirror: AsyncMutex<Mirror>,
    pub(super) keys: Vec<PublicKey>,
    pub(super) loader: Loader,
    /// Held while a catalog is made, and while what is not needed is removed.
    pub(super) files: AsyncMutex<Vec<File>>,
    /// Every component that was loaded and is not gone.
    pub(super) alive: Mutex<HashMap<String, Vec<Weak<Component>>>>,
    pub(super) old: Versions,
}

impl LiveCatalog {
    /// Loads the components of some sources. Reads, compiles, and asks each for its tools.
    ///
    /// # Errors
    /// [`CatalogError`]. A file that cannot serve beside others that can is no error.
    pub async fn load(parts: CatalogParts) -> Result<Self, CatalogError> {
        let CatalogParts {
            sources,
            folders,
            runtime,
            settings,
            archive,
            mirror,
            keys,
            shared,
        } = parts;
        let looked = shelves::first(&folders).await;
        let looked = looked.map_err(|(path, error)| CatalogError::Folder(path, error))?;
        let live = Self {
            current: ArcSwap::default(),
            changes: watch::Sender::new(()),
            sources,
            mirror: AsyncMutex::new(mirror),
            keys,
            loader: Loader {
                runtime,
                settings,
                archive,
                shared,
                updates: Arc::default(),
            },
            files: AsyncMutex::default(),
            alive: Mutex::default(),
            old: Versions::default(),
        };
        let mirror = live.mirror.lock().await;
        let mut fetched = fetch(&live.sources, &mirror).await;
        drop(mirror);
        let not_asked = || Err(Why::Registry(NOT_ASKED.to_owned()));
        let fetched = |source| fetched.remove(&source).unwrap_or_else(not_asked);
        let (found, mut unreadable) = find(&live.sources, fetched);
        let no_path = |it: &Unreadable| matches!(it.why, Why::Path(_));
        if let Some(index) = unreadable.iter().position(no_path) {
            let Unreadable { source, why } = unreadable.swap_remove(index);
            let path = live.sources[source].location.to_string();
            return Err(CatalogError::Path(path, why.reason()));
        }
        let mut files = live.files.lock().await;
        live.change(&mut files, found, unreadable, Look::Everything, looked)
            .await;
        drop(files);
        let catalog = live.now();
        catalog.refused.iter().for_each(Refused::log);
        if catalog.components.is_empty() && !catalog.refused.is_empty() {
            return Err(CatalogError::NoneServes(catalog.refused.clone()));
        }
        for name in live.loader.settings.tasks.detach_after_ms.keys() {
            if catalog.tool(name).is_none() {
                tracing::warn!("tasks.detach-after-ms.{name}: there is no tool of that name");
            }
        }
        Ok(live)
    }

    /// What serves now.
    #[must_use]
    pub fn now(&self) -> arc_swap::Guard<Arc<Catalog>> {
        self.current.load()
    }

    /// Tells of every new catalog from now on.
    #[must_use]
    pub fn changes(&self) -> watch::Receiver<()> {
        self.changes.subscribe()
    }

    /// Who hears of what components say that changed.
    #[must_use]
    pub fn updates(&self) -> &Arc<Updates> {
        &self.loader.updates
    }

    /// Where components come from.
    #[must_use]
    pub fn sources(&self) -> &[Source] {
        &self.sources
    }

    /// Serves what is there now. Files that change while a registry is slow need not wait for it: they
    /// are another reload's.
    pub async fn reload(&self, look: Look) -> Changes {
        let mirror = match look {
            Look::Files => None,
            Look::Everything => Some(self.mirror.lock().await),
        };
        let mut fetched = match &mirror {
            None => HashMap::new(),
            Some(mirror) => fetch(&self.sources, mirror).await,
        };
        let mut files = self.files.lock().await;
        let before = self.current.load_full();
        let (found, unreadable) = find(&self.sources, |source| {
            let known = || self.known(&files, &before, source);
            fetched.remove(&source).unwrap_or_else(known)
        });
        let looked = shelves::again(&before.shelves).await;
        self.change(&mut files, found, unreadable, look, looked)
            .await;
        let changes = Changes::between(&before, &self.now());
        changes.log(before.refused());
        changes
    }

    /// What is known of a registry that is not asked now.
    fn known(&self, files: &[File], before: &Catalog, source: usize) -> Result<Found, Why> {
        let mut found = files.iter().map(|file| &file.found);
        if let Some(found) = found.find(|found| found.source == source) {
            return Ok(found.clone());
        }
        let name = self.sources[source].location.to_string();
        let mut refused = before.refused.iter();
        let refused = refused.find(|refused| refused.name == name);
        let reason = refused.map_or(NOT_ASKED, |refused| &refused.reason);
        Err(Why::Registry(reason.to_owned()))
    }

    /// True if something in a registry may come to stand for something else.
    #[must_use]
    pub fn has_tags(&self) -> bool {
        self.sources.iter().any(|source| match &source.location {
            Location::Registry(reference) => reference.digest().is_none(),
            Location::Path(_) => false,
        })
    }

    /// Makes the catalog of what was found, and puts it in place.
    async fn change(
        &self,
        files: &mut Vec<File>,
        found: Vec<Found>,
        unreadable: Vec<Unreadable>,
        look: Look,
        looked: Looked,
    ) {
        let mut before = std::mem::take(files);
        for found in found {
            let known = before.iter().position(|file| file.found.is(&found));
            let known = known.map(|index| before.swap_remove(index));
            files.push(self.look(found, known, look).await);
        }
        let mut refused = Vec::new();
        for Unreadable { source, why } in unreadable {
            let is_known = before.iter().any(|file| file.found.source == source);
            // A folder that cannot be read has not lost its files; one that is gone has.
            if why.is_gone() || !is_known {
                refused.push(Refused {
                    name: self.sources[source].location.to_string(),
                    reason: why.reason(),
                    serving: None,
                });
                continue;
            }
            for file in before.extract_if(.., |file| file.found.source == source) {
                files.push(File {
                    there: Err(why.reason()),
                    stamp: None,
                    ..file
                });
            }
        }
        files.sort_by_key(|file| file.found.source);
        refused.extend(settle(files, &looked.shelves));
        refused.extend(looked.refused.iter().cloned());
        let components = files.iter().filter_map(|file| file.active.clone());
        let catalog = Catalog::new(components.collect(), looked.shelves.clone(), refused);
        self.current.store(Arc::new(catalog));
        self.changes.send_replace(());
        looked.tell(self.updates());
    }
}
