//! Tools by the digest of their component: tasks finish on the version they started with.

use super::load::tools_of;
use super::{Archive, ArchiveError, Catalog, Tool};
use crate::config::{Location, Source};
use crate::grants::Grants;
use crate::runtime::Runtime;
use crate::settings::Settings;
use arc_swap::ArcSwap;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::path::PathBuf;
use std::sync::Arc;
use tokio::sync::Mutex;

/// Why a version of a tool cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum VersionError {
    /// Its component is not kept, or was changed.
    #[error("The component that the task started with ({0}) cannot be had: {reason}", reason = .1.reason())]
    Archive(String, #[source] ArchiveError),
    /// Its component does not serve any more.
    #[error("The component that the task started with ({0}) does not serve any more: {1}")]
    Refused(String, String),
    /// The component offers no such tool.
    #[error("The component that the task started with ({0}) offers no tool of that name any more")]
    NoTool(String),
}

/// The tools that are served now, and those of components that were.
pub struct Versions {
    catalog: Arc<ArcSwap<Catalog>>,
    archive: Archive,
    runtime: Arc<Runtime>,
    settings: Settings,
    /// Components that are not served any more.
    old: Mutex<HashMap<Version, Vec<Arc<Tool>>>>,
}

/// A component's digest, and whose grants it has: what one source was granted is not another's, though
/// both had the same component.
type Version = (String, usize);

impl Versions {
    /// Those of a catalog and an archive.
    #[must_use]
    pub fn new(
        catalog: Arc<ArcSwap<Catalog>>,
        archive: Archive,
        runtime: Arc<Runtime>,
        settings: Settings,
    ) -> Self {
        Self {
            catalog,
            archive,
            runtime,
            settings,
            old: Mutex::default(),
        }
    }

    /// A tool of the component with this digest, by its name there. It may reach
    /// what the tool may that is served under its name now. Compiles the component if it is not served now.
    ///
    /// # Errors
    /// [`VersionError`].
    pub async fn tool(
        &self,
        digest: &str,
        name: &str,
        served_as: &str,
    ) -> Result<Arc<Tool>, VersionError> {
        if let Some(tool) = self.catalog.load().tool_of(digest, name, served_as) {
            return Ok(Arc::clone(tool));
        }
        // Whoever comes while it compiles waits for it.
        let mut old = self.old.lock().await;
        let newer = self.catalog.load().tool(served_as).cloned();
        // What its newer version may reach. The limits of its calls are kept with them.
        let grants = newer.map(|newer| Arc::clone(&newer.component.grants));
        // Tools hold their grants, so no others are at that place as long as they are here.
        let place = grants.as_ref().map_or(0, |it| Arc::as_ptr(it).addr());
        let key = (digest.to_owned(), place);
        let tools = match old.entry(key) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => new.insert(self.load(digest, grants).await?),
        };
        let mut tools = tools.iter();
        let tool = tools.find(|tool| tool.own_name == name).cloned();
        tool.ok_or_else(|| VersionError::NoTool(digest.to_owned()))
    }

    async fn load(
        &self,
        digest: &str,
        grants: Option<Arc<Grants>>,
    ) -> Result<Vec<Arc<Tool>>, VersionError> {
        let bytes = self.archive.read(digest).map_err(|error| {
            // The client is told no path of the server.
            tracing::error!("{error}");
            VersionError::Archive(digest.to_owned(), error)
        })?;
        let path = PathBuf::from(format!("{digest}.wasm"));
        let mut source = Source::new(Location::Path(path.clone()), &self.settings);
        if let Some(grants) = grants {
            source.grants = grants;
        }
        tools_of(&bytes, &path, &source, &self.runtime, &self.settings)
            .await
            .map_err(|reason| VersionError::Refused(digest.to_owned(), reason))
    }
}
