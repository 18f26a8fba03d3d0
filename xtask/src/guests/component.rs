//! From what a linker makes of C, a module that carries its types, to a component.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use wasi_preview1_component_adapter_provider::{
    WASI_SNAPSHOT_PREVIEW1_ADAPTER_NAME, WASI_SNAPSHOT_PREVIEW1_REACTOR_ADAPTER,
};
use wit_component::ComponentEncoder;

/// Where a module begins as a component does not: version 1 of layer 0.
const MODULE: &[u8] = b"\0asm\x01\0\0\0";

/// Puts a component in the place of the module in this file. A component stays as it is.
pub(super) fn of_module(file: &Path) -> Result<()> {
    let bytes = fs::read(file).with_context(|| file.display().to_string())?;
    if bytes.starts_with(MODULE) {
        fs::write(file, encode(&bytes)?)?;
    }
    Ok(())
}

fn encode(module: &[u8]) -> Result<Vec<u8>> {
    // C's library speaks WASI's first preview. Only what the module uses of the adapter is kept.
    ComponentEncoder::default()
        .validate(true)
        .module(module)?
        .adapter(
            WASI_SNAPSHOT_PREVIEW1_ADAPTER_NAME,
            WASI_SNAPSHOT_PREVIEW1_REACTOR_ADAPTER,
        )?
        .encode()
}
