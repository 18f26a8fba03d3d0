//! A compiled component, and one run of it.
//!
//! Invariant: a run ends in an answer or in an error that names its cause; a trap, a limit or
//! nonsense from the guest never harms anything but the run.

use super::convert;
use super::engine::Runtime;
use super::imports::Guest;
use super::meter::{CpuMeter, Metered};
use super::output::GuestLog;
use super::verbs::Verbs;
use super::wit::{ToolPre, handler};
use crate::limits;
use crate::protocol::{Answer, ClientFeatures, RpcError};
use std::sync::Arc;
use std::time::Duration;
use wasmtime::component::Component;
use wasmtime::{Store, Trap, UpdateDeadline};

/// A component that was compiled and linked.
pub struct Program {
    pre: ToolPre<Guest>,
}

/// Why a component was refused at load.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// A core module.
    #[error(
        "it is a core module, not a component: build it for wasm32-wasip2, or link it with \
         wasm-component-ld"
    )]
    CoreModule,
    /// Not a component, or one that cannot be compiled here.
    #[error("cannot be compiled: {0}")]
    Compile(String),
    /// It imports what nothing provides, or does not export a handler.
    #[error("does not fit the world cofferdam:tool: {0}")]
    Link(String),
    /// It does not tell its tools.
    #[error("list-tools: {0}")]
    List(RunError),
}

/// Why a run ended without an answer.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The queue for instances is full.
    #[error(
        "The server is busy: {instances} instances run and {waiting} calls wait \
         (limit sandbox.instances); try again later"
    )]
    Busy {
        /// `sandbox.instances`.
        instances: u32,
        /// Places in the queue.
        waiting: usize,
    },
    /// The server stops.
    #[error("The server stops")]
    Stopped,
    /// Too much CPU time.
    #[error("The tool used more than {0} ms of CPU time (limit sandbox.cpu-ms)")]
    Cpu(u64),
    /// Too much wall time.
    #[error("The tool took longer than {0} ms ({1})")]
    Wall(u64, &'static str),
    /// It trapped after its memory was refused.
    #[error("The tool ran out of memory (limit sandbox.memory-bytes, {limit} bytes): {trap}")]
    Memory {
        /// `sandbox.memory-bytes`.
        limit: usize,
        /// What the trap says.
        trap: String,
    },
    /// It trapped.
    #[error("The tool stopped unexpectedly: {0}")]
    Trap(String),
    /// What it handed over is not what the contract says.
    #[error("The tool's answer is malformed: {0}")]
    Malformed(String),
}

impl From<RunError> for RpcError {
    fn from(error: RunError) -> Self {
        Self::internal(error.to_string())
    }
}

/// What to run.
pub struct Call {
    /// The tool's name.
    pub name: String,
    /// A JSON object.
    pub arguments: String,
    /// What the client declared.
    pub features: ClientFeatures,
}

/// What a handler returned.
#[derive(Debug)]
pub enum Returned {
    /// A result.
    Answer(Answer),
    /// A JSON-RPC error.
    Error(RpcError),
}

impl Runtime {
    /// Compiles and links a component. Takes from milliseconds to seconds of CPU; nothing of the
    /// component runs.
    ///
    /// # Errors
    /// [`LoadError`].
    pub fn load(&self, bytes: &[u8]) -> Result<Program, LoadError> {
        // The preamble tells a core module from a component.
        if bytes.starts_with(b"\0asm\x01\0\0\0") {
            return Err(LoadError::CoreModule);
        }
        let component = Component::from_binary(&self.engine, bytes)
            .map_err(|error| LoadError::Compile(self.with_hint(&error)))?;
        let pre = self
            .linker
            .instantiate_pre(&component)
            .and_then(ToolPre::new)
            .map_err(|error| LoadError::Link(self.with_hint(&error)))?;
        Ok(Program { pre })
    }

    /// The engine names the sizes of a memory that never fits; we name the setting.
    fn with_hint(&self, error: &wasmtime::Error) -> String {
        let text = format!("{error:#}").replace('\n', " ");
        if text.contains("memory") && (text.contains("limit") || text.contains("exceeds")) {
            format!(
                "{text} (limit sandbox.memory-bytes, {} bytes)",
                self.limits.memory_bytes
            )
        } else {
            text
        }
    }

    /// Asks a component for its tools, in a short instance.
    ///
    /// # Errors
    /// [`LoadError::List`].
    pub async fn list_tools(
        &self,
        program: &Program,
        name: &str,
    ) -> Result<Vec<handler::Tool>, LoadError> {
        let log = GuestLog::new(name.into());
        let list = self.run(
            program,
            Arc::new(super::imports::NoCall),
            log,
            async |tool, store| tool.cofferdam_tool_handler().call_list_tools(store).await,
        );
        let millis = limits::LIST_TOOLS_TIME.as_millis() as u64;
        tokio::time::timeout(limits::LIST_TOOLS_TIME, list)
            .await
            .unwrap_or(Err(RunError::Wall(millis, "limit for list-tools")))
            .map_err(LoadError::List)
    }

    /// Runs a handler in a fresh instance. Dropping the future drops the instance.
    ///
    /// # Errors
    /// [`RunError`].
    pub async fn call(
        &self,
        program: &Program,
        call: Call,
        verbs: Arc<dyn Verbs>,
        log: GuestLog,
    ) -> Result<Returned, RunError> {
        let call = handler::ToolCall {
            name: call.name,
            arguments: call.arguments,
            features: convert::features_to_wit(call.features),
        };
        let returned = self
            .run(program, verbs, log, async |tool, store| {
                tool.cofferdam_tool_handler()
                    .call_call_tool(store, &call)
                    .await
            })
            .await?;
        match returned {
            Ok(result) => convert::answer(result)
                .map(Returned::Answer)
                .map_err(RunError::Malformed),
            Err(error) => convert::call_error(error)
                .map(Returned::Error)
                .map_err(RunError::Malformed),
        }
    }

    async fn run<T>(
        &self,
        program: &Program,
        verbs: Arc<dyn Verbs>,
        log: GuestLog,
        work: impl AsyncFnOnce(&super::wit::Tool, &mut Store<Guest>) -> wasmtime::Result<T>,
    ) -> Result<T, RunError> {
        let _running = self.permit().await?;
        let meter = Arc::new(CpuMeter::default());
        let mut store = self.store(verbs, log, &meter);
        let work = async {
            let tool = program.pre.instantiate_async(&mut store).await?;
            work(&tool, &mut store).await
        };
        let result = Metered {
            meter,
            future: Box::pin(work),
        }
        .await;
        result.map_err(|error| self.cause(error, store.data()))
    }

    fn store(&self, verbs: Arc<dyn Verbs>, log: GuestLog, meter: &Arc<CpuMeter>) -> Store<Guest> {
        let mut store = Store::new(&self.engine, Guest::new(verbs, log, &self.limits));
        store.limiter(|guest| &mut guest.memory);
        store.set_hostcall_fuel(limits::HOST_CALL_BYTES);
        store.set_epoch_deadline(1);
        let meter = Arc::clone(meter);
        let budget = Duration::from_millis(self.limits.cpu_ms);
        store.epoch_deadline_callback(move |_| {
            if meter.spent() > budget {
                return Err(OverCpu.into());
            }
            Ok(UpdateDeadline::YieldCustom(
                1,
                Box::pin(tokio::task::yield_now()),
            ))
        });
        store
    }

    fn cause(&self, error: wasmtime::Error, guest: &Guest) -> RunError {
        if error.is::<OverCpu>() {
            return RunError::Cpu(self.limits.cpu_ms);
        }
        let text = match error.downcast_ref::<Trap>() {
            Some(trap) => trap.to_string(),
            None => error.root_cause().to_string(),
        };
        tracing::debug!(error = %format!("{error:#}"), "a guest trapped");
        if guest.memory.refused {
            RunError::Memory {
                limit: self.limits.memory_bytes,
                trap: text,
            }
        } else {
            RunError::Trap(text)
        }
    }
}

#[derive(Debug, thiserror::Error)]
#[error("CPU time is over")]
struct OverCpu;
