//! Plain wasmtime: a store and an instance for each call, from the pool as it comes by default.
//!
//! Invariant: what differs from the host's engine is the pool and all that the host does for a call; no
//! limit is watched, and nothing that the guest imports is there: calling it traps.

use anyhow::{Result, anyhow, bail};
use cofferdam::protocol::ClientFeatures;
use cofferdam::runtime::features_to_wit;
use cofferdam::runtime::wit::{ToolPre, handler, types};
use wasmtime::component::{self, Linker};
use wasmtime::{Config, Engine, InstanceAllocationStrategy, Store};

use super::guest::Guest;

pub(super) struct Plain(Engine);

/// A component in it.
pub(super) struct Component<'a> {
    engine: &'a Engine,
    pre: ToolPre<()>,
}

impl Plain {
    pub(super) fn new() -> Result<Self> {
        let mut config = Config::new();
        config.allocation_strategy(InstanceAllocationStrategy::pooling());
        // On by default, and slower; no guest needs it.
        config.concurrency_support(false);
        Ok(Self(Engine::new(&config).map_err(told)?))
    }

    pub(super) fn load(&self, bytes: &[u8]) -> Result<Component<'_>> {
        Ok(Component {
            engine: &self.0,
            pre: pre(&self.0, bytes).map_err(told)?,
        })
    }
}

fn pre(engine: &Engine, bytes: &[u8]) -> wasmtime::Result<ToolPre<()>> {
    let component = component::Component::new(engine, bytes)?;
    let mut linker = Linker::new(engine);
    linker.define_unknown_imports_as_traps(&component)?;
    ToolPre::new(linker.instantiate_pre(&component)?)
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
        let tool = self.pre.instantiate_async(&mut store).await?;
        let handler = tool.cofferdam_tool_handler();
        handler.call_call_tool(&mut store, call).await
    }
}

fn told(error: wasmtime::Error) -> anyhow::Error {
    anyhow!("plain wasmtime: {error:#}")
}
