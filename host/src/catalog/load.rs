//! From a component's bytes to what it offers.

use super::{Archive, ArchiveError, Component, Kept, Offers, Updates};
use crate::config::Source;
use crate::grants::Candidate;
use crate::journal::Digest;
use crate::registry;
use crate::runtime::Runtime;
use crate::settings::Settings;
use crate::signature::Signer;
use crate::store::Shared;
use std::sync::Arc;

/// What makes tools, prompts and resources of components.
pub(super) struct Loader {
    pub(super) runtime: Arc<Runtime>,
    pub(super) settings: Settings,
    pub(super) archive: Archive,
    /// Where other nodes keep components, if there may be others.
    pub(super) shared: Option<Arc<dyn Shared>>,
    /// Who hears of what components say that changed.
    pub(super) updates: Arc<Updates>,
}

impl Loader {
    /// The bytes of a component that was kept, here or by another node.
    ///
    /// # Errors
    /// [`ArchiveError`].
    pub(super) async fn kept(&self, digest: &str) -> Result<Vec<u8>, ArchiveError> {
        let missing = match (self.archive.read(digest), &self.shared) {
            (Err(ArchiveError::Missing(missing)), Some(shared)) => {
                match shared.component(digest).await {
                    Ok(Some(bytes)) if self::digest(&bytes) == digest => {
                        self.archive.keep(digest, &bytes)?;
                        return Ok(bytes);
                    }
                    Ok(_) => ArchiveError::Missing(missing),
                    Err(error) => ArchiveError::Store(error),
                }
            }
            (kept, _) => return kept,
        };
        Err(missing)
    }

    /// Compiles a component and asks it for what it offers. `name` is what it is called in logs; `digest`
    /// is that of its bytes.
    ///
    /// # Errors
    /// Why it cannot serve.
    pub(super) async fn offers(
        &self,
        name: &str,
        digest: &str,
        bytes: &[u8],
        source: &Source,
        signer: Option<Signer>,
    ) -> Result<Arc<Offers>, String> {
        let program = self
            .runtime
            .load(digest, bytes)
            .await
            .map_err(|error| error.to_string())?;
        let imports = program.imports();
        let grants = match &source.policy {
            None => Arc::clone(&source.grants),
            Some(policy) => policy.grants(&Candidate {
                name,
                digest,
                imports: &imports,
                signer: signer.as_ref(),
            })?,
        };
        grants
            .check_imports(imports.iter().map(String::as_str))
            .map_err(|error| error.to_string())?;
        let told = self
            .runtime
            .told(&program, name, &source.limits)
            .await
            .map_err(|error| error.to_string())?;
        let tools = told.tools.iter();
        let component = Arc::new(Component {
            name: name.into(),
            tool_names: tools
                .map(|tool| format!("{}{}", source.prefix, tool.name))
                .collect(),
            source: source_id(source).into(),
            digest: digest.to_owned(),
            program,
            grants,
            limits: source.limits,
            tasks: source.tasks,
            signer,
            kept: Kept::new(self.archive.clone(), self.shared.clone()),
            updates: Arc::clone(&self.updates),
        });
        Offers::new(told, &source.prefix, component, &self.settings.tasks).map(Arc::new)
    }
}

/// What stands for a source, for whoever need not know its name: of one length for all.
pub(super) fn source_id(source: &Source) -> String {
    Digest::of(source.location.to_string().as_bytes()).to_string()
}

/// Lower-case hexadecimal sha-256.
pub(super) fn digest(bytes: &[u8]) -> String {
    registry::Digest::of(bytes).hex().to_owned()
}
