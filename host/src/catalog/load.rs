//! From a component's bytes to its tools.

use super::{Archive, ArchiveError, Component, Kept, Tool};
use crate::config::Source;
use crate::grants::Candidate;
use crate::journal::Digest;
use crate::limits::TOOLS_PER_COMPONENT;
use crate::registry;
use crate::runtime::Runtime;
use crate::settings::Settings;
use crate::signature::Signer;
use crate::store::Shared;
use std::sync::Arc;

/// What makes tools of components.
pub(super) struct Loader {
    pub(super) runtime: Arc<Runtime>,
    pub(super) settings: Settings,
    pub(super) archive: Archive,
    /// Where other nodes keep components, if there may be others.
    pub(super) shared: Option<Arc<dyn Shared>>,
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

    /// Compiles a component and asks it for its tools. `name` is what it is called in logs; `digest`
    /// is that of its bytes.
    ///
    /// # Errors
    /// Why it cannot serve.
    pub(super) async fn tools(
        &self,
        name: &str,
        digest: &str,
        bytes: &[u8],
        source: &Source,
        signer: Option<Signer>,
    ) -> Result<Vec<Arc<Tool>>, String> {
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
        let listed = self
            .runtime
            .list_tools(&program, name, &source.limits)
            .await
            .map_err(|error| error.to_string())?;
        if listed.is_empty() {
            return Err("it offers no tool".to_owned());
        }
        if listed.len() > TOOLS_PER_COMPONENT {
            return Err(format!(
                "it offers {} tools; the limit is {TOOLS_PER_COMPONENT}",
                listed.len()
            ));
        }
        let component = Arc::new(Component {
            source: source_id(source).into(),
            digest: digest.to_owned(),
            program,
            grants,
            limits: source.limits,
            tasks: source.tasks,
            signer,
            kept: Kept::new(self.archive.clone(), self.shared.clone()),
        });
        let mut tools: Vec<Arc<Tool>> = Vec::with_capacity(listed.len());
        for tool in listed {
            let name: String = tool.name.chars().take(128).collect();
            let tool = Tool::new(
                tool,
                &source.prefix,
                Arc::clone(&component),
                &self.settings.tasks,
            )
            .map_err(|reason| format!("tool {name:?}: {reason}"))?;
            if tools.iter().any(|other| other.name == tool.name) {
                return Err(format!("it offers the tool {name:?} twice"));
            }
            tools.push(Arc::new(tool));
        }
        Ok(tools)
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
