//! What calls and tasks began with, though something newer serves now.
//!
//! Invariant: a version is there, in memory and on disk, for as long as something may go on with it; what
//! nothing needs any more is removed.

use super::load::source_id;
use super::{Component, LiveCatalog, Offers, Prompt, Route, Tool, VersionError};
use std::collections::HashSet;
use std::sync::Arc;

impl LiveCatalog {
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

    /// Its files stay for as long as it is in memory.
    pub(super) fn note_alive(&self, component: &Arc<Component>) {
        let mut alive = self.alive.lock();
        let known = alive.entry(component.digest.clone()).or_default();
        if !known.iter().any(|it| it.ptr_eq(&Arc::downgrade(component))) {
            known.push(Arc::downgrade(component));
        }
    }
}
