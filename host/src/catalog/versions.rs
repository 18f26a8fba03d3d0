//! Components that are not served any more: tasks finish on the version they started with.
//!
//! Invariant: an old version is in memory while something runs it, and for a while after; its files are
//! there for as long as anything may need it.

use super::load::Loader;
use super::{ArchiveError, Offers};
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
    /// The component offers no such thing.
    #[error("The component that the call started with ({0}) offers no {1} of that name any more")]
    Nothing(String, &'static str),
}

/// Old versions that were needed lately.
#[derive(Default)]
pub(super) struct Versions(Mutex<HashMap<Version, Loaded>>);

/// A component's digest, and whose grants it has: what one source was granted is not another's, though
/// both had the same component.
type Version = (String, usize);

struct Loaded {
    offers: Arc<Offers>,
    /// Somebody asked for it since the last look.
    used: bool,
}

impl Versions {
    /// What the component with this digest offers; it may reach what `grants` say.
    pub(super) async fn offers(
        &self,
        loader: &Loader,
        digest: &str,
        grants: Arc<Grants>,
    ) -> Result<Arc<Offers>, VersionError> {
        // Components hold their grants, so no others are at that place as long as they are here.
        let key = (digest.to_owned(), Arc::as_ptr(&grants).addr());
        // Whoever comes while it compiles waits for it.
        let mut versions = self.0.lock().await;
        if let Some(loaded) = versions.get_mut(&key) {
            loaded.used = true;
            return Ok(Arc::clone(&loaded.offers));
        }
        let offers = load(loader, digest, grants).await?;
        let loaded = Loaded {
            offers: Arc::clone(&offers),
            used: true,
        };
        versions.insert(key, loaded);
        Ok(offers)
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
) -> Result<Arc<Offers>, VersionError> {
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
        .offers(&name, digest, &bytes, &source, None)
        .await
        .map_err(|reason| VersionError::Refused(digest.to_owned(), reason))
}
