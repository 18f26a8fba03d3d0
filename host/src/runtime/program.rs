//! A compiled component, and one run of it.
//!
//! Invariant: a run ends in an answer or in an error that names its cause; a trap, a limit or
//! nonsense from the guest never harms anything but the run.

use super::account::Accounts;
use super::background::{Live, Movable};
use super::compile::{CompileError, one_line};
use super::engine::{Place, Runtime};
use super::exports::Exports;
use super::http::Outside;
use super::imports::Guest;
use super::invoke::{Invocation, Output, invoke};
use super::meter::{CpuMeter, MemoryLimiter, Metered};
use super::output::GuestLog;
use super::verbs::{Halt, Verbs};
use crate::grants::Grants;
use crate::journal::{Fault, Journal};
use crate::limits::{self, RunLimits};
use crate::metrics::{CallCounters, Limit, Metrics};
use crate::protocol::{ClientFeatures, RpcError};
use crate::telemetry::HostCalls;
use parking_lot::Mutex;
use scopeguard::guard;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::yield_now;
use wasmtime::component::{Instance, InstancePre, ResourceTableError};
use wasmtime::{Store, Trap, UpdateDeadline};

/// A component that was compiled and linked.
pub struct Program {
    pre: InstancePre<Guest>,
    /// Where its exports are: a call needs nothing else of it.
    pub(super) exports: Exports,
}

impl Program {
    /// Size of its native code with what belongs to it, bytes.
    #[must_use]
    pub fn native_bytes(&self) -> usize {
        let image = self.pre.component().image_range();
        (image.end as usize).saturating_sub(image.start as usize)
    }

    /// True if it completes arguments.
    #[must_use]
    pub fn completes(&self) -> bool {
        self.exports.completion.is_some()
    }

    /// Names of what it imports.
    #[must_use]
    pub fn imports(&self) -> Vec<String> {
        let component = self.pre.component();
        let imports = component.component_type();
        let imports = imports.imports(component.engine());
        imports.map(|(name, _)| name.to_owned()).collect()
    }
}

/// Why a component was refused at load.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// Not a component, or one that cannot be compiled within the limits.
    #[error(transparent)]
    Compile(#[from] CompileError),
    /// It imports what nothing provides, or exports too little to serve.
    #[error("does not fit the world cofferdam:tool: {0}")]
    Link(String),
    /// It does not tell what it offers; the function that was called.
    #[error("{0}: {1}")]
    List(&'static str, RunError),
}

/// Why a run ended without an answer.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The queue for instances is full.
    #[error(
        "The server is busy: {instances} instances run and {waiting} calls wait ({limit}); try \
         again later"
    )]
    Busy {
        /// Instances that may run.
        instances: usize,
        /// Places in the queue.
        waiting: usize,
        /// Whose limit it is.
        limit: &'static str,
    },
    /// The tenant has no CPU time left.
    #[error(
        "The tenant has used its {per_minute} ms of CPU time a minute (limit {key}); try again in \
         {seconds} s"
    )]
    Budget {
        /// Milliseconds of CPU time in a minute.
        per_minute: u64,
        /// Names the limit.
        key: Arc<str>,
        /// When there will be some.
        seconds: u64,
    },
    /// The server stops.
    #[error("The server stops")]
    Stopped,
    /// Too much CPU time.
    #[error(
        "The tool used more than {0} ms of CPU time, waiting not counted (limit sandbox.cpu-ms)"
    )]
    Cpu(u64),
    /// Too much wall time.
    #[error("The tool took longer than {0} ms, counted from its start and waiting included ({1})")]
    Wall(u64, &'static str),
    /// It trapped after its memory was refused.
    #[error("The tool ran out of memory (limit {key}, {limit} bytes): {trap}")]
    Memory {
        /// Names the limit.
        key: Arc<str>,
        /// Bytes.
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
    /// It does not fit its journal, or fills it.
    #[error(transparent)]
    Journal(Fault),
    /// The task waits, and is run again when its wait is over. No failure.
    #[error("the task is parked")]
    Parked,
    /// The client has to answer, and to call again. No failure.
    #[error("the client has to answer first")]
    Asked,
}

impl RunError {
    /// True if another attempt may do better.
    #[must_use]
    pub fn may_retry(&self) -> bool {
        match self {
            Self::Cpu(_)
            | Self::Wall(..)
            | Self::Memory { .. }
            | Self::Trap(_)
            | Self::Malformed(_)
            | Self::Journal(Fault::Full(_)) => true,
            Self::Busy { .. }
            | Self::Budget { .. }
            | Self::Stopped
            | Self::Journal(_)
            | Self::Parked
            | Self::Asked => false,
        }
    }
}

impl RunError {
    /// The limit that ended the run, if it was one that is counted.
    #[must_use]
    pub fn limit(&self) -> Option<Limit> {
        Some(match self {
            Self::Busy { .. } => Limit::Waiting,
            Self::Budget { .. } => Limit::CpuPerMinute,
            Self::Cpu(_) => Limit::Cpu,
            Self::Wall(..) => Limit::Wall,
            Self::Memory { .. } => Limit::Memory,
            Self::Journal(Fault::Full(_)) => Limit::Journal,
            Self::Stopped
            | Self::Trap(_)
            | Self::Malformed(_)
            | Self::Journal(_)
            | Self::Parked
            | Self::Asked => return None,
        })
    }

    /// A word for it: the limit's name, or what else happened.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Stopped => "stopped",
            Self::Trap(_) => "trap",
            Self::Malformed(_) => "malformed",
            Self::Journal(_) => "journal",
            Self::Parked => "parked",
            Self::Asked => "asked",
            limit => limit.limit().map_or("limit", Limit::name),
        }
    }
}

impl From<RunError> for RpcError {
    fn from(error: RunError) -> Self {
        Self::internal(error.to_string())
    }
}

/// What to run.
pub struct Call {
    /// Which export, and with what.
    pub what: Invocation,
    /// What the client declared.
    pub features: ClientFeatures,
    /// What the call started with.
    pub limits: RunLimits,
    /// What earlier runs of the call were answered.
    pub journal: Arc<Mutex<Journal>>,
    /// What the component may reach.
    pub grants: Arc<Grants>,
    /// Where it waits for an instance.
    pub place: Place,
    /// What its CPU time is told.
    pub meter: Arc<CpuMeter>,
    /// What counts refusals.
    pub refusals: Arc<Metrics>,
    /// What traces its host calls.
    pub host_calls: HostCalls,
}

/// What a handler returned.
#[derive(Debug)]
pub enum Returned {
    /// A result.
    Output(Output),
    /// A JSON-RPC error.
    Error(RpcError),
}

impl Runtime {
    /// Compiles and links a component, one at a time, unless it was compiled before. Takes from
    /// milliseconds to seconds; nothing of the component runs. `digest` is that of its bytes.
    ///
    /// # Errors
    /// [`LoadError`].
    pub async fn load(&self, digest: &str, bytes: &[u8]) -> Result<Program, LoadError> {
        let component = self
            .compilation
            .component(&self.engine, digest, bytes)
            .await
            .map_err(|error| match error {
                CompileError::Unfit(text) => CompileError::Unfit(self.with_hint(text)),
                error => error,
            })?;
        let pre = self
            .linker
            .instantiate_pre(&component)
            .map_err(|error| LoadError::Link(self.with_hint(one_line(&error))))?;
        let exports = Exports::of(&component).map_err(LoadError::Link)?;
        Ok(Program { pre, exports })
    }

    /// The engine names the sizes of a memory that never fits; we name the setting.
    fn with_hint(&self, text: String) -> String {
        if text.contains("memory") && (text.contains("limit") || text.contains("exceeds")) {
            format!(
                "{text} (limit sandbox.memory-bytes, {} bytes)",
                self.limits.memory_bytes
            )
        } else {
            text
        }
    }

    /// A request of a tenant with these accounts came, whatever it asks for.
    pub fn seen(&self, accounts: &Accounts) {
        self.load.seen(&accounts.recent);
    }

    /// A meter for a call of a tenant with these accounts.
    #[must_use]
    pub fn meter(&self, accounts: &Accounts, metrics: CallCounters) -> Arc<CpuMeter> {
        Arc::new(CpuMeter::new(&self.load, accounts, metrics))
    }

    /// A run of this tenant that goes on in the background once this meter says that it is heavy.
    pub fn movable<T: Send + 'static>(
        &self,
        tenant: &Arc<str>,
        meter: Arc<CpuMeter>,
        run: impl Future<Output = T> + Send + 'static,
    ) -> Movable<T> {
        Movable::new(&self.background, tenant, meter, run)
    }

    /// Work for this tenant that is large: all of it is done in the background.
    pub fn aside<T: Send + 'static>(
        &self,
        tenant: &Arc<str>,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Movable<T> {
        let meter = Arc::<CpuMeter>::default();
        meter.set_heavy();
        self.movable(tenant, meter, work)
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
        let meter = call.meter;
        let memory = MemoryLimiter::new(&call.limits, &call.place.accounts, Arc::clone(&meter));
        let guest = Guest::new(
            verbs,
            call.journal,
            log,
            memory,
            call.grants,
            Outside {
                connections: call.place.accounts.connections.clone(),
                metrics: call.refusals,
                host_calls: call.host_calls,
            },
        )
        .map_err(|error| RunError::Trap(error.to_string()))?;
        let (cpu_ms, place) = (call.limits.cpu_ms, call.place);
        let (what, features) = (call.what, call.features);
        let returned = self
            .run(
                program,
                guest,
                cpu_ms,
                &place,
                meter,
                async |instance, store| invoke(program, what, features, instance, store).await,
            )
            .await?;
        returned.checked()
    }

    pub(super) async fn run<T>(
        &self,
        program: &Program,
        guest: Guest,
        cpu_ms: u64,
        place: &Place,
        meter: Arc<CpuMeter>,
        work: impl AsyncFnOnce(&Instance, &mut Store<Guest>) -> wasmtime::Result<T>,
    ) -> Result<T, RunError> {
        let _running = self.permit(place).await?;
        meter.begin().await;
        let live = Live {
            store: self.store(guest, cpu_ms, &meter),
            _running,
        };
        // However the run ends, and if it is abandoned.
        let mut live = guard(live, |live| self.background.take_down(live));
        let work = async {
            let store = &mut live.store;
            let instance = program.pre.instantiate_async(&mut *store).await?;
            work(&instance, store).await
        };
        let result = Metered {
            meter,
            future: Box::pin(work),
        }
        .await;
        result.map_err(|error| cause(error, live.store.data(), cpu_ms))
    }

    fn store(&self, guest: Guest, cpu_ms: u64, meter: &Arc<CpuMeter>) -> Store<Guest> {
        let mut store = Store::new(&self.engine, guest);
        store.limiter_async(|guest| &mut guest.memory);
        store.set_hostcall_fuel(limits::HOST_CALL_BYTES);
        store.set_epoch_deadline(1);
        let meter = Arc::clone(meter);
        let budget = Duration::from_millis(cpu_ms);
        store.epoch_deadline_callback(move |_| {
            let spent = meter.spent();
            if spent > budget {
                return Err(OverCpu.into());
            }
            // Most calls are over before they have computed for long: one that an epoch happens to end
            // in does not have to wait for a turn among those that compute all the time.
            if spent < limits::HEAD_START {
                return Ok(UpdateDeadline::Continue(1));
            }
            meter.set_heavy();
            let meter = Arc::clone(&meter);
            Ok(UpdateDeadline::YieldCustom(
                1,
                Box::pin(async move {
                    // A run of a tenant without CPU time goes on at the pace at which there is some.
                    if let Some(budget) = meter.over_budget() {
                        budget.ready().await;
                    }
                    yield_now().await;
                }),
            ))
        });
        store
    }
}

fn cause(error: wasmtime::Error, guest: &Guest, cpu_ms: u64) -> RunError {
    if error.is::<OverCpu>() {
        return RunError::Cpu(cpu_ms);
    }
    let error = match error.downcast::<Halt>() {
        Ok(Halt::Parked) => return RunError::Parked,
        Ok(Halt::Asked) => return RunError::Asked,
        Ok(Halt::Fault(fault)) => return RunError::Journal(fault),
        Err(error) => error,
    };
    let text = match error.downcast_ref::<Trap>() {
        Some(trap) => trap.to_string(),
        None => named(&error.root_cause().to_string()),
    };
    tracing::debug!(error = %format!("{error:#}"), "a guest trapped");
    match &guest.memory.refused {
        Some(limit) => RunError::Memory {
            key: Arc::clone(&limit.key),
            limit: limit.bytes,
            trap: text,
        },
        None => RunError::Trap(text),
    }
}

/// What the engine says at a limit of ours does not name it.
fn named(text: &str) -> String {
    if text.contains("fuel allocated for hostcalls") {
        let limit = limits::HOST_CALL_BYTES;
        format!("it handed over too much at once (limit HOST_CALL_BYTES, {limit} bytes)")
    } else if text == ResourceTableError::Full.to_string() {
        let limit = limits::RESOURCES;
        format!("it holds too many handles (limit RESOURCES, {limit} handles)")
    } else if text.contains("total size of fields exceeds limit") {
        "a request has too many bytes of headers (limit http.limits.header-bytes)".to_owned()
    } else {
        text.to_owned()
    }
}

#[derive(Debug, thiserror::Error)]
#[error("CPU time is over")]
struct OverCpu;
