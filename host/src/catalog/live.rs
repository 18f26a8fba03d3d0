//! The catalog that serves, and how the next one comes into its place.
//!
//! Invariants: what serves changes at once, between two calls; a call goes on with what it began with.
//! One reload goes on at a time, beside the calls. A file is read again only if it was changed, or if an
//! operator asks for it. What nothing needs any more is removed, from memory and from the disk.

use super::choose::{Choice, Clash, Offer, choose};
use super::find::{Found, Look, Stamp, Unreadable, Why, fetch, find};
use super::load::{Loader, digest, source_id};
use super::shelves::{self, Looked};
use super::versions::Versions;
use super::{
    Archive, Catalog, Changes, Component, Name, Offers, Prompt, Refused, Route, Served, Tool,
    Updates, VersionError,
};
use crate::config::{Location, Source};
use crate::folders::{Folder, FolderError, Shelf};
use crate::limits::COMPONENT_BYTES;
use crate::registry::Mirror;
use crate::runtime::Runtime;
use crate::settings::Settings;
use crate::signature::{self, PublicKey, SignatureError, Signer};
use crate::store::Shared;
use arc_swap::ArcSwap;
use parking_lot::Mutex;
use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::{Arc, Weak};
use std::time::SystemTime;
use tokio::sync::{Mutex as AsyncMutex, watch};
use tokio::task::spawn_blocking;

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

/// A file as it was last seen.
struct File {
    found: Found,
    stamp: Option<Stamp>,
    /// What is there, or why it cannot serve.
    there: Result<Arc<Served>, String>,
    /// What serves.
    active: Option<Arc<Served>>,
}

/// The tools that are served now, and those of components that were.
pub struct LiveCatalog {
    current: ArcSwap<Catalog>,
    changes: watch::Sender<()>,
    sources: Vec<Source>,
    /// Held while registries are asked, until what they gave is in place: before `files`.
    mirror: AsyncMutex<Mirror>,
    keys: Vec<PublicKey>,
    loader: Loader,
    /// Held while a catalog is made, and while what is not needed is removed.
    files: AsyncMutex<Vec<File>>,
    /// Every component that was loaded and is not gone.
    alive: Mutex<HashMap<String, Vec<Weak<Component>>>>,
    old: Versions,
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

    /// A tool of the component with this digest, by its name there, as it was served under a name by a
    /// source. If it is not served now, it is loaded, and may reach what the tool may that is served
    /// under its name now, or else what its source grants. If that is gone, too, it may reach nothing,
    /// or, if there may be other nodes, it is for one that knows better.
    ///
    /// # Errors
    /// [`VersionError`].
    pub async fn version(
        &self,
        digest: &str,
        name: &str,
        served_as: &str,
        source: &str,
    ) -> Result<Arc<Tool>, VersionError> {
        let catalog = self.now();
        if let Some(tool) = catalog.tool_of(digest, name, served_as) {
            return Ok(Arc::clone(tool));
        }
        let newer = catalog.tool(served_as).map(|it| Arc::clone(&it.component));
        drop(catalog);
        let offers = self.old_version(digest, newer.as_deref(), source).await?;
        let mut tools = offers.tools.iter();
        let tool = tools.find(|tool| tool.own_name == name).cloned();
        tool.ok_or_else(|| VersionError::Nothing(digest.to_owned(), "tool"))
    }

    /// The version of a prompt that a call began with, where `newer` serves now.
    ///
    /// # Errors
    /// [`VersionError`].
    pub async fn version_of_prompt(
        &self,
        digest: &str,
        newer: &Prompt,
        source: &str,
    ) -> Result<Arc<Prompt>, VersionError> {
        let component = &newer.component;
        let offers = self.old_version(digest, Some(component), source).await?;
        let prompt = offers.prompt(&newer.own_name).cloned();
        prompt.ok_or_else(|| VersionError::Nothing(digest.to_owned(), "prompt"))
    }

    /// What a URI led to in the component that a call began with, where `newer` serves it now.
    ///
    /// # Errors
    /// [`VersionError`].
    pub async fn version_of_resource(
        &self,
        digest: &str,
        newer: &Component,
        uri: &str,
        source: &str,
    ) -> Result<Route, VersionError> {
        let offers = self.old_version(digest, Some(newer), source).await?;
        let route = offers.route(uri);
        route.ok_or_else(|| VersionError::Nothing(digest.to_owned(), "resource"))
    }

    /// What a component offers that may not serve now. It may reach what `newer` may, which serves in its
    /// place, or else what its source grants. The limits of its calls are kept with them.
    async fn old_version(
        &self,
        digest: &str,
        newer: Option<&Component>,
        source: &str,
    ) -> Result<Arc<Offers>, VersionError> {
        let grants = newer.map(|newer| Arc::clone(&newer.grants));
        let grants = grants.or_else(|| {
            let mut sources = self.sources.iter();
            let source = sources.find(|it| source_id(it) == source);
            source.map(|source| Arc::clone(&source.grants))
        });
        let grants = match grants {
            Some(grants) => grants,
            None if self.loader.shared.is_some() => {
                return Err(VersionError::Unknown(digest.to_owned()));
            }
            None => Arc::default(),
        };
        let offers = self.old.offers(&self.loader, digest, grants).await?;
        self.note_alive(&offers.component);
        Ok(offers)
    }

    /// Removes what nothing needs: neither what serves or runs now, nor what `needed` names, by
    /// digests, which is asked after that; nor what a client was promised.
    ///
    /// # Errors
    /// Those of `needed`.
    pub async fn prune<E>(
        &self,
        needed: impl Future<Output = Result<HashSet<String>, E>>,
    ) -> Result<(), E> {
        let files = self.files.lock().await;
        self.old.rest().await;
        let mut keep: HashSet<String> = {
            let mut alive = self.alive.lock();
            alive.retain(|_, components| {
                components.retain(|component| component.strong_count() > 0);
                !components.is_empty()
            });
            alive.keys().cloned().collect()
        };
        let archive = &self.loader.archive;
        if archive
            .has_only(|digest| keep.contains(digest))
            .unwrap_or(false)
        {
            return Ok(());
        }
        // A call that ran until now may have left a task; so tasks are looked at after it.
        keep.extend(needed.await?);
        let removed = archive.prune(|digest| keep.contains(digest));
        if let Err(error) = removed {
            tracing::warn!("{error}");
        }
        // What is fetched meanwhile is not to be taken for what nobody needs.
        if let Ok(mirror) = self.mirror.try_lock()
            && let Err(error) = mirror.prune(|digest| keep.contains(digest))
        {
            tracing::warn!("{error}");
        }
        let removed = self
            .loader
            .runtime
            .prune_cache(|digest| keep.contains(digest));
        if let Err(error) = removed {
            tracing::warn!("cannot remove compiled components: {error}");
        }
        drop(files);
        Ok(())
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

    /// What a file has come to.
    async fn look(&self, found: Found, known: Option<File>, look: Look) -> File {
        let again = look == Look::Everything;
        let stamp = Stamp::of(&found.path);
        let active = known.as_ref().and_then(|known| known.active.clone());
        let (stamp, there) = match (stamp, known) {
            (Err(error), _) => (None, Err(error.to_string())),
            (Ok(stamp), Some(known))
                if known.stamp == Some(stamp) && !(again && known.there.is_err()) =>
            {
                (Some(stamp), known.there)
            }
            (Ok(stamp), _) => {
                let there = self.load_file(&found, stamp, active.as_ref()).await;
                (Some(stamp), there)
            }
        };
        File {
            found,
            stamp,
            there,
            active,
        }
    }

    async fn load_file(
        &self,
        found: &Found,
        stamp: Stamp,
        active: Option<&Arc<Served>>,
    ) -> Result<Arc<Served>, String> {
        if stamp.size() > COMPONENT_BYTES {
            let size = stamp.size();
            return Err(format!(
                "the file has {size} bytes; the limit is {COMPONENT_BYTES}"
            ));
        }
        let path = found.path.clone();
        let (bytes, digest) = spawn_blocking(move || read(path, stamp))
            .await
            .map_err(|error| error.to_string())??;
        let source = &self.sources[found.source];
        let signer = self.signer(found, source, &bytes)?;
        let same =
            |active: &&Arc<Served>| active.digest == digest && active.signer() == signer.as_ref();
        if let Some(active) = active.filter(same) {
            return Ok(Arc::clone(active));
        }
        let loader = &self.loader;
        let offers = loader.offers(&found.name, &digest, &bytes, source, signer);
        let offers = offers.await?;
        self.loader
            .archive
            .keep(&digest, &bytes)
            .map_err(|error| error.to_string())?;
        self.note_alive(&offers.component);
        Ok(Arc::new(Served {
            name: found.name.clone(),
            digest,
            since: SystemTime::now(),
            offers,
        }))
    }

    /// Who signed a component.
    ///
    /// # Errors
    /// Nobody whom its source trusts.
    fn signer(
        &self,
        found: &Found,
        source: &Source,
        bytes: &[u8],
    ) -> Result<Option<Signer>, String> {
        let keys = [&*source.signed_by, &*self.keys].concat();
        if keys.is_empty() {
            return Ok(None);
        }
        let signature = match &source.location {
            Location::Path(_) => signature::beside(&found.path),
            Location::Registry(_) => Ok(found.signature.clone()),
        };
        let signer = signature.and_then(|text| signature::verify(bytes, text.as_deref(), &keys));
        match signer {
            // Tenants decide for themselves.
            signer if source.signed_by.is_empty() => Ok(signer.ok()),
            Ok(signer) if signer.is_among(&source.signed_by) => Ok(Some(signer)),
            Ok(signer) => {
                let trusted = source.signed_by.iter().map(PublicKey::id).collect();
                Err(SignatureError::Untrusted(signer.key().id(), trusted).to_string())
            }
            Err(error) => Err(error.to_string()),
        }
    }

    fn note_alive(&self, component: &Arc<Component>) {
        let mut alive = self.alive.lock();
        let known = alive.entry(component.digest.clone()).or_default();
        if !known.iter().any(|it| it.ptr_eq(&Arc::downgrade(component))) {
            known.push(Arc::downgrade(component));
        }
    }
}

/// Reads a file as it was when it was looked at, and digests it.
fn read(path: PathBuf, stamp: Stamp) -> Result<(Vec<u8>, String), String> {
    let bytes = std::fs::read(&path).map_err(|error| error.to_string())?;
    let after = Stamp::of(&path).map_err(|error| error.to_string())?;
    if after != stamp || bytes.len() as u64 != stamp.size() {
        return Err("it is being written".to_owned());
    }
    let digest = digest(&bytes);
    Ok((bytes, digest))
}

/// Lets every file's new version serve that can. Gives those that cannot, and why.
/// What is a folder's, no component takes.
fn settle(files: &mut [File], shelves: &[Arc<Shelf>]) -> Vec<Refused> {
    fn names(served: &Arc<Served>) -> Vec<Name<'_>> {
        served.offers.names().collect()
    }
    let folders = shelves.iter().map(|shelf| {
        let names = vec![Name::Template(shelf.folder().template())];
        Offer {
            old: Some(names.clone()),
            new: Some(names),
            same: true,
        }
    });
    let offers: Vec<_> = files
        .iter()
        .map(|file| Offer {
            old: file.active.as_ref().map(names),
            new: file.there.as_ref().ok().map(names),
            same: match (&file.active, &file.there) {
                (Some(active), Ok(there)) => Arc::ptr_eq(active, there),
                _ => false,
            },
        })
        .chain(folders)
        .collect();
    let reasons: Vec<_> = choose(&offers, |choices| shadow(&offers, choices))
        .into_iter()
        .zip(&*files)
        .map(|(choice, file)| match (choice, &file.there) {
            (Choice::New, _) => None,
            (Choice::Old(Some((name, other))), _) => {
                let other = match files.get(other) {
                    Some(file) => file.found.name.clone(),
                    None => shelves[other - files.len()]
                        .folder()
                        .path()
                        .display()
                        .to_string(),
                };
                Some(format!("{name} is served by {other} already"))
            }
            (Choice::Old(None), Err(reason)) => Some(reason.replace('\n', " ")),
            (Choice::Old(None), Ok(_)) => None,
        })
        .collect();
    let mut refused = Vec::new();
    for (file, reason) in files.iter_mut().zip(reasons) {
        match (reason, &file.there) {
            (Some(reason), _) => refused.push(Refused {
                name: file.found.name.clone(),
                reason,
                serving: file.active.as_ref().map(|active| active.digest.clone()),
            }),
            (None, Ok(there)) => {
                file.active = Some(Arc::clone(there));
                // It serves, and is not what its reference stands for.
                refused.extend(file.found.stale.iter().map(|reason| Refused {
                    name: file.found.name.clone(),
                    reason: reason.clone(),
                    serving: Some(there.digest.clone()),
                }));
            }
            (None, Err(_)) => {}
        }
    }
    refused
}

/// A new version with a resource that another file's template stands for, or with a template that stands
/// for another file's resource: it would take what is the other's.
fn shadow<'a>(offers: &[Offer<Name<'a>>], choices: &[Choice<Name<'a>>]) -> Option<Clash<Name<'a>>> {
    let is_new = |index: usize| choices[index] == Choice::New && !offers[index].same;
    let names = |index: usize| offers[index].names(&choices[index]);
    let news = (0..offers.len()).filter(|index| is_new(*index));
    let pairs = news.flat_map(|new| (0..offers.len()).map(move |other| (new, other)));
    for (new, other) in pairs.filter(|(new, other)| new != other) {
        // Of two new ones the first stays.
        if is_new(other) && new < other {
            continue;
        }
        let theirs = names(other);
        let mut ours = names(new).iter();
        if let Some(name) = ours.find(|it| theirs.iter().any(|other| it.shadows(other))) {
            return Some((new, *name, other));
        }
    }
    None
}
