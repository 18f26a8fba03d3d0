//! The keys of an authorization server (RFC 7517): from a file or a URL, and again when they change.
//!
//! Invariant: an unknown key makes for at most one fetch in a while, however many tokens name one;
//! while a fetch fails, the keys that were there stay good.

use crate::limits::{KEYS_BYTES, KEYS_FRESH, KEYS_PAUSE, KEYS_TIME};
use arc_swap::ArcSwapOption;
use jsonwebtoken::jwk::{Jwk, JwkSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::Mutex;

/// Where keys are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeySource {
    /// A file with a JWK set.
    File(PathBuf),
    /// An `https` URL of one, or an `http` URL of this machine.
    Url(String),
}

impl KeySource {
    /// Reads the keys, if they are in a file. Nothing is asked over a network.
    ///
    /// # Errors
    /// [`KeyError`].
    pub fn look(&self) -> Result<(), KeyError> {
        match self {
            Self::File(_) => fetch(self).map(drop),
            Self::Url(_) => Ok(()),
        }
    }
}

/// Why there are no keys.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// They cannot be fetched.
    #[error("cannot fetch {0}: {1}")]
    Fetch(String, String),
    /// They could not be fetched just now, and are not tried again yet.
    #[error("the last fetch was only just")]
    Pause,
    /// What was fetched is no JWK set.
    #[error("{0} is no JWK set: {1}")]
    Malformed(String, String),
}

/// The keys of one source.
pub(super) struct Keys {
    source: KeySource,
    known: ArcSwapOption<Known>,
    /// When they were last fetched, or failed to be.
    tried: Mutex<Option<Instant>>,
}

struct Known {
    set: JwkSet,
    fetched: Instant,
}

impl Keys {
    pub(super) fn new(source: KeySource) -> Self {
        Self {
            source,
            known: ArcSwapOption::empty(),
            tried: Mutex::new(None),
        }
    }

    /// The key of that name; without a name the only one there is.
    pub(super) async fn find(&self, kid: Option<&str>) -> Result<Option<Jwk>, KeyError> {
        let known = self.known.load_full();
        let fresh = |known: &Known| known.fetched.elapsed() < KEYS_FRESH;
        if let Some(known) = known.as_deref().filter(|known| fresh(known))
            && let Some(key) = pick(&known.set, kid)
        {
            return Ok(Some(key));
        }
        let fetched = self
            .fetch_again(known.as_deref().map(|known| known.fetched))
            .await;
        let now = self.known.load_full();
        match (now, fetched) {
            (Some(known), _) => Ok(pick(&known.set, kid)),
            (None, Err(error)) => Err(error),
            (None, Ok(())) => Ok(None),
        }
    }

    /// Fetches, unless somebody did since `seen`, or only just.
    async fn fetch_again(&self, seen: Option<Instant>) -> Result<(), KeyError> {
        let mut tried = self.tried.lock().await;
        let newer = self.known.load().as_ref().map(|known| known.fetched) > seen;
        let just = tried.is_some_and(|tried| tried.elapsed() < KEYS_PAUSE);
        if newer {
            return Ok(());
        }
        if just {
            return Err(KeyError::Pause);
        }
        *tried = Some(Instant::now());
        let source = self.source.clone();
        let fetched = tokio::task::spawn_blocking(move || fetch(&source)).await;
        let fetched = fetched
            .map_err(|error| KeyError::Fetch("the keys".to_owned(), error.to_string()))
            .flatten();
        // Told here, once for each fetch, and not for each token that waited for it.
        let set = fetched.inspect_err(|error| {
            tracing::error!(%error, "the keys that check access tokens cannot be had");
        })?;
        self.known.store(Some(Arc::new(Known {
            set,
            fetched: Instant::now(),
        })));
        Ok(())
    }
}

fn pick(set: &JwkSet, kid: Option<&str>) -> Option<Jwk> {
    match (kid, set.keys.as_slice()) {
        (Some(kid), _) => set.find(kid).cloned(),
        (None, [only]) => Some(only.clone()),
        (None, _) => None,
    }
}

fn fetch(source: &KeySource) -> Result<JwkSet, KeyError> {
    let (name, text) = match source {
        KeySource::File(path) => {
            let name = path.display().to_string();
            let text = std::fs::read_to_string(path);
            (
                name.clone(),
                text.map_err(|error| KeyError::Fetch(name, error.to_string()))?,
            )
        }
        KeySource::Url(url) => {
            let failed = |error: ureq::Error| KeyError::Fetch(url.clone(), error.to_string());
            let agent: ureq::Agent = ureq::Agent::config_builder()
                .timeout_global(Some(KEYS_TIME))
                .max_redirects(0)
                .build()
                .into();
            let mut response = agent.get(url).call().map_err(failed)?;
            let body = response.body_mut().with_config().limit(KEYS_BYTES);
            (url.clone(), body.read_to_string().map_err(failed)?)
        }
    };
    serde_json::from_str(&text).map_err(|error| KeyError::Malformed(name, error.to_string()))
}
