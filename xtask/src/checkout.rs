//! The checkout: where its sources lie, and where cargo builds them.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::Deserialize;
use serde_json::Value;

use crate::process::{cargo, read};

/// The folders that everything else starts from.
pub(crate) struct Checkout {
    /// The folder of the root manifest.
    pub(crate) root: PathBuf,
    /// Cargo's target folder.
    pub(crate) target: PathBuf,
}

impl Checkout {
    /// The checkout that this program was built in.
    pub(crate) fn find() -> Result<Self> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"))
            .parent()
            .context("xtask lies in a folder of the checkout")?
            .to_owned();
        let target = Workspace::load(&root)?.target_directory;
        Ok(Self { root, target })
    }
}

/// What cargo says of one workspace.
#[derive(Deserialize)]
pub(crate) struct Workspace {
    pub(crate) packages: Vec<Package>,
    target_directory: PathBuf,
}

/// A member of a workspace.
#[derive(Deserialize)]
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) manifest_path: PathBuf,
    targets: Vec<Target>,
    /// `[package.metadata]`, or null.
    pub(crate) metadata: Value,
}

#[derive(Deserialize)]
struct Target {
    crate_types: Vec<String>,
}

impl Workspace {
    /// The workspace whose manifest lies in `folder`.
    pub(crate) fn load(folder: &Path) -> Result<Self> {
        let mut command = cargo(folder);
        command.args(["metadata", "--no-deps", "--format-version", "1"]);
        let text = read(&mut command)?;
        serde_json::from_str(&text)
            .with_context(|| format!("cargo metadata of {}", folder.display()))
    }
}

impl Package {
    /// Does it build a `cdylib`, which for wasm is a module or component?
    pub(crate) fn is_component(&self) -> bool {
        let mut kinds = self.targets.iter().flat_map(|target| &target.crate_types);
        kinds.any(|kind| kind == "cdylib")
    }
}
