//! Plain wasmtime: a store and an instance for each call, from the pool as it comes by default.
//!
//! Invariant: what differs from the host's engine is the pool and all that the host does for a call; no
//! limit is watched, and nothing that the guest imports is there: calling it traps.

use anyhow::{Result, anyhow, bail};
use cofferdam::protocol::ClientFeatures;
use cofferdam::runtime::features_to_wit;
use cofferdam::runtime::wit::{handler, types};
use wasmtime::component::{self, ComponentExportIndex, InstancePre, Linker, TypedFunc};
use wasmtime::{Config, Engine, InstanceAllocationStrategy, Store};

use super::guest::Guest;

pub(super) struct Plain(Engine);

/// A component in it.
pub(super) struct Component<'a> {
    engine: &'a Engine,
    pre: InstancePre<()>,
    call_tool: ComponentExportIndex,
}

/// `call-tool` of an instance.
type CallTool<'a> =
    TypedFunc<(&'a handler::ToolCall,), (Result<types::ToolResult, types::CallError>,)>;

impl Plain {
    pub(super) fn new() -> Result<Self> {
        let mut config = Config::new();
        config.allocation_strategy(InstanceAllocationStrategy::pooling());
        // On by default, and slower; no guest needs it.
        config.concurrency_support(false);
        Ok(Self(Engine::new(&config).map_err(told)?))
    }

    pub(super) fn load(&self, bytes: &[u8]) -> Result<Component<'_>> {
        let pre = pre(&self.0, bytes).map_err(told)?;
        let component = pre.component();
        let handler = component.get_export_index(None, "cofferdam:tool/handler@0.1.0");
        let call_tool = component.get_export_index(handler.as_ref(), "call-tool");
        Ok(Component {
            engine: &self.0,
            call_tool: call_tool.ok_or_else(|| anyhow!("it has no tools"))?,
            pre,
        })
    }
}

fn pre(engine: &Engine, bytes: &[u8]) -> wasmtime::Result<InstancePre<()>> {
    let component = component::Component::new(engine, bytes)?;
    let mut linker = Linker::new(engine);
    linker.define_unknown_imports_as_traps(&component)?;
    linker.instantiate_pre(&component)
}

impl Component<'_> {
    pub(super) async fn call(&self, guest: &Guest, number: u64) -> Result<()> {
        let call = handler::ToolCall {
            name: guest.tool.to_owned(),
            arguments: guest.arguments(number),
            features: features_to_wit(ClientFeatures::empty()),
        };
        match self.returned(&call).await.map_err(told)? {
            Ok(result) => {
                let text = match result.content.first() {
                    Some(types::Content::Text(block)) => Some(&*block.text),
                    _ => None,
                };
                guest.check(number, text)
            }
            Err(error) => bail!("{error:?}"),
        }
    }

    async fn returned(
        &self,
        call: &handler::ToolCall,
    ) -> wasmtime::Result<Result<types::ToolResult, types::CallError>> {
        let mut store = Store::new(self.engine, ());
        let instance = self.pre.instantiate_async(&mut store).await?;
        let call_tool: CallTool<'_> = instance.get_typed_func(&mut store, self.call_tool)?;
        let (returned,) = call_tool.call_async(&mut store, (call,)).await?;
        Ok(returned)
    }
}

fn told(error: wasmtime::Error) -> anyhow::Error {
    anyhow!("plain wasmtime: {error:#}")
}
