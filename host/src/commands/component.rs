//! `cofferdam component`: from what a linker makes of C, a module that carries its types, to a component.

use crate::limits::COMPONENT_BYTES;
use anyhow::{Context as _, Result, ensure};
use clap::Args;
use std::fs;
use std::path::PathBuf;
use wasi_preview1_component_adapter_provider::{
    WASI_SNAPSHOT_PREVIEW1_ADAPTER_NAME, WASI_SNAPSHOT_PREVIEW1_REACTOR_ADAPTER,
};
use wit_component::ComponentEncoder;

/// What `component` is told.
#[derive(Args)]
pub struct ComponentArguments {
    /// A .wasm module that was linked with bindings of
    /// wit-bindgen.
    #[arg(verbatim_doc_comment)]
    module: PathBuf,
    /// The component to write.
    output: PathBuf,
}

/// Reads, encodes, and writes.
pub fn component(arguments: &ComponentArguments) -> Result<()> {
    let ComponentArguments { module, output } = arguments;
    let size = fs::metadata(module).with_context(|| module.display().to_string())?;
    ensure!(
        size.len() <= COMPONENT_BYTES,
        "{} has more than {COMPONENT_BYTES} bytes, which no component may have",
        module.display()
    );
    let bytes = fs::read(module).with_context(|| module.display().to_string())?;
    let component = encode(&bytes).with_context(|| {
        format!(
            "no component can be made of {}: link it with the bindings of the contract, in C with \
             gen/tool_component_type.o",
            module.display()
        )
    })?;
    fs::write(output, component).with_context(|| output.display().to_string())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_module_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let module = folder.path().join("module.wasm");
        fs::write(
            &module,
            wat::parse_str("(module (func (export \"f\")))").unwrap(),
        )
        .unwrap();
        let arguments = ComponentArguments {
            module,
            output: folder.path().join("out.wasm"),
        };
        // Without types it is the component of an empty world; `serve` says that it has no tools.
        component(&arguments).unwrap();
        fs::write(&arguments.module, "text").unwrap();
        let error = format!("{:#}", component(&arguments).unwrap_err());
        assert!(error.contains("tool_component_type.o"), "{error}");
    }
}
