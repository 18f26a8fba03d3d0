//! The reference of the contract, `docs/wit.md`, which is made of `wit/` and committed, so that it can be
//! read without a tool.

mod page;

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};

use crate::checkout::Checkout;
use crate::contract;
use crate::process::say;

const PAGE: &str = "docs/wit.md";

/// Writes it anew.
pub(crate) fn write(checkout: &Checkout) -> Result<()> {
    let file = checkout.root.join(PAGE);
    let text = generate(&checkout.root)?;
    fs::write(&file, text).with_context(|| file.display().to_string())?;
    say!("{}", file.display());
    Ok(())
}

fn generate(root: &Path) -> Result<String> {
    let (resolve, package) = contract::read(root)?;
    page::of(&resolve, package)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_committed_is_of_the_present_contract() -> Result<()> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"))
            .parent()
            .context("root")?;
        let committed = fs::read_to_string(root.join(PAGE)).context(PAGE)?;
        assert!(
            committed == generate(root)?,
            "{PAGE} is out of date: run `cargo xtask docs`"
        );
        Ok(())
    }
}
