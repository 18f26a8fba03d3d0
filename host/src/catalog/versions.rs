//! Components that are not served any more: tasks finish on the version they started with.
//!
//! Invariant: an old version is in memory while something runs it, and for a while after; its files are
//! there for as long as anything may need it.

use super::load::Loader;
use super::{ArchiveError, Tool};
use crate::config::{Location, Source};
use crate::grants::Grants;
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use tokio::sync::Mutex;

/// Why a version of a tool cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum VersionError {
    /// Its component is not kept, or was changed.
    #[error("The component that the call started with ({0}) cannot be had: {reason}", reason = .1.reason())]
    Archive(String, #[source] ArchiveError),
    /// Its component does not serve any more.
    #[error("The component that the call started with ({0}) does not serve any more: {1}")]
    Refused(String, String),
    /// This node has neither the tool nor its source, and so knows not what it may reach.
    #[error(
        "This server does not know where the component that the call started with ({0}) belongs"
    )]
    Unknown(String),
    /// The component offers no such tool.
    #[error("The component that the call started with ({0}) offers no tool of that name any more")]
    NoTool(String),
}

/// Old versions that were needed lately.
#[derive(Default)]
pub(super) struct Versions(Mutex<HashMap<Version, Loaded>>);

/// A component's digest, and whose grants it has: what one source was granted is not another's, though
/// both had the same component.
type Version = (String, usize);

struct Loaded {
    tools: Vec<Arc<Tool>>,
    /// Somebody asked for it since the last look.
    used: bool,
}

impl Versions {
    /// A tool of the component with this digest, by its name there; it may reach what `grants` say.
    pub(super) async fn tool(
        &self,
        loader: &Loader,
        digest: &str,
        name: &str,
        grants: Arc<Grants>,
    ) -> Result<Arc<Tool>, VersionError> {
        // Tools hold their grants, so no others are at that place as long as they are here.
        let key = (digest.to_owned(), Arc::as_ptr(&grants).addr());
        // Whoever comes while it compiles waits for it.
        let mut versions = self.0.lock().await;
        if !versions.contains_key(&key) {
            let tools = load(loader, digest, grants).await?;
            versions.insert(key.clone(), Loaded { tools, used: true });
        }
        let loaded = versions.get_mut(&key);
        let tool = loaded.and_then(|loaded| {
            loaded.used = true;
            let mut tools = loaded.tools.iter();
            tools.find(|tool| tool.own_name == name).cloned()
        });
        tool.ok_or_else(|| VersionError::NoTool(digest.to_owned()))
    }

    /// Lets go of versions that nobody asked for since the last time.
    pub(super) async fn rest(&self) {
        let mut versions = self.0.lock().await;
        versions.retain(|_, loaded| std::mem::take(&mut loaded.used));
    }
}

async fn load(
    loader: &Loader,
    digest: &str,
    grants: Arc<Grants>,
) -> Result<Vec<Arc<Tool>>, VersionError> {
    let bytes = loader.kept(digest).await.map_err(|error| {
        // The client is told no path of the server.
        tracing::error!("{error}");
        VersionError::Archive(digest.to_owned(), error)
    })?;
    let name = format!("{digest}.wasm");
    let location = Location::Path(PathBuf::from(&name));
    let mut source = Source::new(location, &loader.settings);
    source.grants = grants;
    loader
        .tools(&name, digest, &bytes, &source, None)
        .await
        .map_err(|reason| VersionError::Refused(digest.to_owned(), reason))
}
