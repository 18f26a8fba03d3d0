//! Guests in Rust: every member of the guest workspaces that is a `cdylib`. Cargo knows what has to
//! be built again.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use super::{place, workshop};
use crate::checkout::{Checkout, Package, Workspace};
use crate::process::{cargo, line, say};
use crate::toolchain::{self, Toolchain};

/// The workspaces whose members are guests.
pub(crate) const WORKSPACES: [&str; 2] = ["examples", "tests/guests"];

/// Where nothing else is said: such a component imports nothing but our own interfaces.
const DEFAULT_TARGET: &str = "wasm32-unknown-unknown";

/// A guest, and the folder of its workspace.
pub(super) struct Guest {
    workspace: &'static str,
    package: Package,
}

impl Guest {
    pub(super) fn name(&self) -> &str {
        &self.package.name
    }
}

/// All that there are.
pub(super) fn guests(checkout: &Checkout) -> Result<Vec<Guest>> {
    let mut guests = Vec::new();
    for workspace in WORKSPACES {
        let packages = Workspace::load(&checkout.root.join(workspace))?.packages;
        let components = packages.into_iter().filter(Package::is_component);
        guests.extend(components.map(|package| Guest { workspace, package }));
    }
    Ok(guests)
}

/// Builds them, and puts them in their places.
pub(super) fn build(checkout: &Checkout, guests: Vec<Guest>) -> Result<()> {
    let mut batches = BTreeMap::<_, Vec<Package>>::new();
    for Guest { workspace, package } in guests {
        let batch = batches.entry((workspace, target(&package)?));
        batch.or_default().push(package);
    }
    for ((workspace, target), packages) in batches {
        let toolchain = toolchain::find(&target)?;
        let files = compile(checkout, workspace, &target, &toolchain, &packages)?;
        for package in packages {
            let file = files
                .get(&package.manifest_path)
                .with_context(|| format!("cargo built no component of {}", package.name))?;
            place(checkout, &package.name, file)?;
        }
    }
    Ok(())
}

/// The target that a guest names in its manifest: `[package.metadata.cofferdam] target`.
fn target(package: &Package) -> Result<String> {
    let Some(target) = package.metadata.pointer("/cofferdam/target") else {
        return Ok(DEFAULT_TARGET.to_owned());
    };
    let target = target.as_str().with_context(|| {
        let name = &package.name;
        format!("package.metadata.cofferdam.target of {name} is no string")
    })?;
    Ok(target.to_owned())
}

/// Builds some members of one workspace, for one target. Returns their `.wasm` files by manifest.
fn compile(
    checkout: &Checkout,
    folder: &str,
    target: &str,
    toolchain: &Toolchain,
    packages: &[Package],
) -> Result<BTreeMap<PathBuf, PathBuf>> {
    let mut command = native(checkout, folder);
    command.args(["build", "--release", "--target", target]);
    command.arg("--message-format=json-render-diagnostics");
    for package in packages {
        command.args(["--package", &package.name]);
    }
    // It comes with rustc, and makes a component of the module that it links.
    command.env(
        "CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER",
        "wasm-component-ld",
    );
    // Flags in the caller's environment are meant for the host, and would replace the workspace's own.
    for variable in ["CARGO_ENCODED_RUSTFLAGS", "RUSTFLAGS", "CARGO_BUILD_TARGET"] {
        command.env_remove(variable);
    }
    let remap = toolchain::remap(&[(&checkout.root, "/cofferdam")]);
    let remap = remap
        .to_str()
        .context("the path of the checkout is no UTF-8")?;
    let flags: Vec<_> = remap.split('\u{1f}').collect();
    // As an array of strings, TOML and JSON are alike.
    let flags = serde_json::to_string(&flags)?;
    command
        .arg("--config")
        .arg(format!("target.{target}.rustflags={flags}"));
    toolchain.apply(&mut command);

    let names: Vec<_> = packages
        .iter()
        .map(|package| package.name.as_str())
        .collect();
    say!("building {} for {target}", names.join(", "));
    let output = command
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| format!("cannot run `{}`", line(&command)))?;
    if !output.status.success() {
        bail!(
            "`{}` failed in {folder} ({})",
            line(&command),
            output.status
        );
    }
    components(&output.stdout)
}

/// Cargo in a guest workspace, for builds that run on this machine.
pub(crate) fn native(checkout: &Checkout, folder: &str) -> Command {
    let mut command = cargo(&checkout.root.join(folder));
    command.env("CARGO_TARGET_DIR", workshop(checkout));
    command
}

/// The `.wasm` files in cargo's messages, by the manifest of their package.
fn components(messages: &[u8]) -> Result<BTreeMap<PathBuf, PathBuf>> {
    #[derive(Deserialize)]
    struct Message {
        #[serde(default)]
        manifest_path: PathBuf,
        #[serde(default)]
        filenames: Vec<PathBuf>,
    }
    let mut files = BTreeMap::new();
    for message in serde_json::Deserializer::from_slice(messages).into_iter::<Message>() {
        let message = message.context("a message of cargo")?;
        let mut built = message.filenames.into_iter();
        if let Some(file) = built.find(|file| file.extension().is_some_and(|end| end == "wasm")) {
            files.insert(message.manifest_path, file);
        }
    }
    Ok(files)
}
