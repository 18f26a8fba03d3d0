//! From paths to a catalog.

use super::{Archive, Catalog, Component, TaskSupport, Tool};
use crate::config::{Location, Source};
use crate::limits::{COMPONENT_BYTES, TOOLS_PER_COMPONENT};
use crate::runtime::Runtime;
use crate::settings::Settings;
use sha2::{Digest as _, Sha256};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A file that does not serve.
#[derive(Clone, Debug)]
pub struct Refused {
    /// The file.
    pub path: PathBuf,
    /// Why.
    pub reason: String,
}

/// Why there is no catalog.
#[derive(Debug, thiserror::Error)]
pub enum CatalogError {
    /// A path that cannot be read.
    #[error("cannot read {path}; give a .wasm file or a folder of them")]
    Path {
        /// What the operator typed.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// Components, but none that serves.
    #[error("no component can serve:{}", .0.iter().map(|file| format!("\n  {}: {}", file.path.display(), file.reason)).collect::<String>())]
    NoneServes(Vec<Refused>),
    /// A component in a registry.
    #[error("{0}: components are not loaded from registries yet; use `cofferdam pull`")]
    Registry(String),
}

impl Catalog {
    /// Loads the components at some paths: files, or folders of `.wasm` files. Reads, compiles,
    /// and asks each for its tools.
    ///
    /// # Errors
    /// [`CatalogError`]. A file that cannot serve beside others that can is no error.
    pub async fn load(
        sources: &[Source],
        runtime: &Runtime,
        settings: &Settings,
        archive: &Archive,
    ) -> Result<Self, CatalogError> {
        let mut catalog = Self::default();
        for (path, source) in component_files(sources)? {
            let added = catalog.add(&path, source, runtime, settings, archive);
            if let Err(reason) = added.await {
                let reason = reason.replace('\n', " ");
                tracing::error!("refused {}: {reason}", path.display());
                catalog.refused.push(Refused { path, reason });
            }
        }
        if catalog.is_empty() && !catalog.refused.is_empty() {
            return Err(CatalogError::NoneServes(catalog.refused));
        }
        for name in settings.tasks.detach_after_ms.keys() {
            if catalog.tool(name).is_none() {
                tracing::warn!("tasks.detach-after-ms.{name}: there is no tool of that name");
            }
        }
        Ok(catalog)
    }

    /// Adds all tools of a component, or none.
    async fn add(
        &mut self,
        path: &Path,
        source: &Source,
        runtime: &Runtime,
        settings: &Settings,
        archive: &Archive,
    ) -> Result<(), String> {
        let size = fs::metadata(path).map_err(|error| error.to_string())?.len();
        if size > COMPONENT_BYTES {
            return Err(format!(
                "the file has {size} bytes; the limit is {COMPONENT_BYTES}"
            ));
        }
        let bytes = fs::read(path).map_err(|error| error.to_string())?;
        let tools = tools_of(&bytes, path, source, runtime, settings).await?;
        for tool in &tools {
            if let Some(other) = self.tool(&tool.name) {
                return Err(format!(
                    "tool {:?} is served by {} already",
                    tool.name,
                    other.component.path.display()
                ));
            }
        }
        let durable = tools.iter().any(|it| it.task_support != TaskSupport::None);
        if let Some(tool) = tools.first().filter(|_| durable) {
            archive
                .keep(&tool.component.digest, &bytes)
                .map_err(|error| error.to_string())?;
        }
        self.components += 1;
        self.tools
            .extend(tools.into_iter().map(|tool| (Arc::clone(&tool.name), tool)));
        Ok(())
    }
}

/// Compiles a component and asks it for its tools.
///
/// # Errors
/// Why it cannot serve.
pub(super) async fn tools_of(
    bytes: &[u8],
    path: &Path,
    source: &Source,
    runtime: &Runtime,
    settings: &Settings,
) -> Result<Vec<Arc<Tool>>, String> {
    let program = runtime
        .load(bytes)
        .await
        .map_err(|error| error.to_string())?;
    let imports = program.imports();
    source
        .grants
        .check_imports(imports.iter().map(String::as_str))
        .map_err(|error| error.to_string())?;
    let name = path.display().to_string();
    let listed = runtime
        .list_tools(&program, &name, &source.limits)
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
        path: path.to_owned(),
        digest: digest(bytes),
        program,
        grants: Arc::clone(&source.grants),
        limits: source.limits,
        tasks: source.tasks,
    });
    let mut tools: Vec<Arc<Tool>> = Vec::with_capacity(listed.len());
    for tool in listed {
        let name: String = tool.name.chars().take(128).collect();
        let tool = Tool::new(
            tool,
            &source.prefix,
            Arc::clone(&component),
            &settings.tasks,
        )
        .map_err(|reason| format!("tool {name:?}: {reason}"))?;
        if tools.iter().any(|other| other.name == tool.name) {
            return Err(format!("it offers the tool {name:?} twice"));
        }
        tools.push(Arc::new(tool));
    }
    Ok(tools)
}

/// Lower-case hexadecimal sha-256.
pub(super) fn digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// Files in the order they were named; those of a folder by name. A file named twice counts once.
fn component_files(sources: &[Source]) -> Result<Vec<(PathBuf, &Source)>, CatalogError> {
    let mut files = Vec::new();
    for source in sources {
        let Location::Path(path) = &source.location else {
            return Err(CatalogError::Registry(source.location.to_string()));
        };
        let failed = |error| CatalogError::Path {
            path: path.clone(),
            source: error,
        };
        let mut found = Vec::new();
        if fs::metadata(path).map_err(failed)?.is_dir() {
            for entry in fs::read_dir(path).map_err(failed)? {
                let file = entry.map_err(failed)?.path();
                let is_wasm = file.extension().is_some_and(|end| end == "wasm");
                if is_wasm && file.is_file() {
                    found.push(file);
                }
            }
            if found.is_empty() {
                tracing::warn!("{}: no .wasm file in this folder", path.display());
            }
            found.sort();
        } else {
            found.push(path.clone());
        }
        files.extend(found.into_iter().map(|path| (path, source)));
    }
    let mut seen = std::collections::HashSet::new();
    files.retain(|(path, source)| {
        let path = fs::canonicalize(path).unwrap_or_else(|_| path.clone());
        seen.insert((path, source.prefix.clone()))
    });
    Ok(files)
}
