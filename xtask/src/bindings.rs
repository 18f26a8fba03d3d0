//! The bindings for C, which are generated from the contract and committed, so that a guest in C needs
//! no generator: `guest-sdk/c/gen`.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use wit_bindgen_core::Files;

use crate::checkout::Checkout;
use crate::contract;
use crate::process::say;

const FOLDER: &str = "guest-sdk/c/gen";

/// Of a component that has tools only, and of one that has more.
const WORLDS: [&str; 2] = ["tool", "everything"];

/// Writes them anew.
pub(crate) fn write(checkout: &Checkout) -> Result<()> {
    let folder = checkout.root.join(FOLDER);
    fs::create_dir_all(&folder)?;
    for (name, bytes) in generate(&checkout.root)?.iter() {
        let file = folder.join(name);
        fs::write(&file, bytes).with_context(|| file.display().to_string())?;
        say!("{}", file.display());
    }
    Ok(())
}

fn generate(root: &Path) -> Result<Files> {
    let mut files = Files::default();
    for name in WORLDS {
        let (mut resolve, package) = contract::read(root)?;
        let world = resolve.select_world(&[package], Some(name))?;
        let mut generator = wit_bindgen_c::Opts::default().build();
        generator.generate(&mut resolve, world, &mut files)?;
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_committed_is_of_the_present_contract() -> Result<()> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"))
            .parent()
            .context("root")?;
        for (name, bytes) in generate(root)?.iter() {
            let committed = fs::read(root.join(FOLDER).join(name)).context(name.to_owned())?;
            assert!(
                committed == bytes,
                "{FOLDER}/{name} is out of date: run `cargo xtask bindings`"
            );
        }
        Ok(())
    }
}
