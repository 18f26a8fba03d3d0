//! The contract between guests and the host, `wit/`, as generators read it.

use std::path::Path;

use anyhow::Result;
use wit_bindgen_core::wit_parser::{PackageId, Resolve};

/// Everything in it, and its package.
pub(crate) fn read(root: &Path) -> Result<(Resolve, PackageId)> {
    let mut resolve = Resolve::default();
    let (package, _) = resolve.push_path(root.join("wit"))?;
    Ok((resolve, package))
}
