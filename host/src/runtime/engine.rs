//! The engine: settings, the instance pool, the epoch clock, and the queue for instances.
//!
//! Invariant: slots of the pool are never the thing that runs out; a call holds a permit before it
//! takes slots, and waits in a bounded, fair queue for it.

use super::account::Accounts;
use super::background::Background;
use super::cache::CompileCache;
use super::compile::{Compilation, Compiler};
use super::imports::Guest;
use super::load::Load;
use super::program::RunError;
use super::queue::{FairQueue, Full, Permit, Share};
use super::wit;
use crate::limits::{self, SandboxLimits};
use std::io;
use std::num::NonZero;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, Thread};
use std::time::Instant;
use wasmtime::component::{HasSelf, Linker};
use wasmtime::{
    Config, Enabled, Engine, InstanceAllocationStrategy, OptLevel, PoolingAllocationConfig,
};

/// Why the engine does not start.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The pool does not fit into this process.
    #[error(
        "cannot reserve {instances} instances of {memory} bytes; lower sandbox.instances, or raise \
         the limit on memory mappings (vm.max_map_count)"
    )]
    Pool {
        /// `sandbox.instances`.
        instances: u32,
        /// `sandbox.memory-bytes`.
        memory: usize,
        /// The engine's reason.
        source: wasmtime::Error,
    },
    /// No threads for runs that compute for long.
    #[error("cannot start threads: {0}")]
    Threads(io::Error),
    /// A host function cannot be linked.
    #[error("cannot link the host's functions: {0:#}")]
    Link(wasmtime::Error),
}

/// The sandbox's machinery, shared by all calls.
pub struct Runtime {
    pub(super) engine: Engine,
    pub(super) linker: Linker<Guest>,
    pub(super) limits: SandboxLimits,
    pub(super) compilation: Compilation,
    clock: Arc<EpochClock>,
    permits: FairQueue,
    pub(super) background: Background,
    pub(super) load: Arc<Load>,
}

impl Runtime {
    /// Reserves the pool and starts the epoch clock. Components will be compiled where `compiler`
    /// says, unless they are in the cache.
    ///
    /// # Errors
    /// [`EngineError`].
    pub fn new(
        limits: SandboxLimits,
        compiler: Compiler,
        cache: Option<CompileCache>,
    ) -> Result<Self, EngineError> {
        let engine = Engine::new(&config(&limits)).map_err(|source| EngineError::Pool {
            instances: limits.instances,
            memory: limits.memory_bytes,
            source,
        })?;
        let mut linker = Linker::new(&engine);
        super::wasi::add_to_linker(&mut linker).map_err(EngineError::Link)?;
        wit::Everything::add_to_linker::<_, HasSelf<Guest>>(&mut linker, |guest| guest)
            .map_err(EngineError::Link)?;
        let load = Arc::new(Load::new());
        let cores = thread::available_parallelism().map_or(1, NonZero::get);
        Ok(Self {
            clock: EpochClock::start(&engine, Arc::clone(&load)),
            permits: FairQueue::new(limits.instances as usize),
            background: Background::start((cores - 1).max(1)).map_err(EngineError::Threads)?,
            load,
            compilation: Compilation::new(compiler, cache, &limits),
            engine,
            linker,
            limits,
        })
    }

    /// Largest memory of an instance, bytes.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        self.limits.memory_bytes
    }

    /// Instances that run now.
    #[must_use]
    pub fn running(&self) -> usize {
        self.permits.running()
    }

    /// Removes the native code of components that `keep` does not accept, by their digests. Gives how
    /// many files.
    ///
    /// # Errors
    /// The system's.
    pub fn prune_cache(&self, keep: impl Fn(&str) -> bool) -> io::Result<usize> {
        self.compilation.prune(keep)
    }

    /// Instances that may run at once.
    #[must_use]
    pub fn most_running(&self) -> usize {
        self.limits.instances as usize
    }

    /// Runs that wait for an instance.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.permits.waiting()
    }

    /// What a tenant may have that nothing says more about: all there is.
    #[must_use]
    pub fn whole_share(&self) -> Share {
        let running = self.limits.instances as usize;
        Share {
            running,
            waiting: running * limits::QUEUE_PER_INSTANCE,
        }
    }

    /// Waits for the right to run one instance. Who is `patient` waits however many wait already, and
    /// until the tenant has CPU time.
    ///
    /// # Errors
    /// [`RunError::Busy`] if too many calls of the tenant wait already; [`RunError::Budget`] if it has
    /// no CPU time left.
    pub(super) async fn permit(&self, place: &Place) -> Result<Running, RunError> {
        if let Some(budget) = &place.accounts.cpu {
            if place.patient {
                budget.ready().await;
            } else if let Some(wait) = budget.wait(Instant::now()) {
                return Err(RunError::Budget {
                    per_minute: budget.per_minute(),
                    key: Arc::clone(budget.key()),
                    seconds: wait.as_secs() + 1,
                });
            }
        }
        let acquired = self
            .permits
            .acquire(&place.tenant, place.share, place.patient);
        let permit = acquired.await.map_err(|Full { running, waiting }| {
            let whole = place.share == self.whole_share();
            RunError::Busy {
                instances: running,
                waiting,
                limit: if whole {
                    "limit sandbox.instances"
                } else {
                    "limits of the tenant"
                },
            }
        })?;
        self.clock.enter();
        Ok(Running {
            clock: Arc::clone(&self.clock),
            _permit: permit,
        })
    }
}

/// Where a run waits for its instance.
#[derive(Clone, Debug)]
pub struct Place {
    /// Whose call it is.
    pub tenant: Arc<str>,
    /// What the tenant may have.
    pub share: Share,
    /// What its instances use together with those of the tenant's other calls.
    pub accounts: Accounts,
    /// True if it waits however many wait already, and until the tenant has CPU time.
    pub patient: bool,
}

/// The right to run one instance.
pub(super) struct Running {
    clock: Arc<EpochClock>,
    _permit: Permit,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.clock.exit();
    }
}

/// Settings whose worth was measured: pages and tables of a slot stay mapped and are reset by a
/// scan for dirty pages, so that a small call causes no page fault.
fn config(limits: &SandboxLimits) -> Config {
    let instances = limits.instances;
    let mut pool = PoolingAllocationConfig::new();
    pool.total_component_instances(instances)
        .total_core_instances(instances.saturating_mul(50))
        .total_memories(instances.saturating_mul(2))
        .total_tables(instances.saturating_mul(10))
        .total_stacks(instances)
        .max_core_instances_per_component(200)
        .max_memories_per_component(4)
        .max_tables_per_component(50)
        .max_component_instance_size(4 << 20)
        .max_core_instance_size(4 << 20)
        .max_memory_size(limits.memory_bytes)
        .table_elements(limits.table_elements)
        .linear_memory_keep_resident(1 << 20)
        .table_keep_resident(512 << 10)
        .pagemap_scan(Enabled::Auto);
    let mut config = compiler_config();
    config.allocation_strategy(InstanceAllocationStrategy::Pooling(pool));
    config
}

/// All that native code depends on; the pool is none of it. Results are the same on every machine:
/// NaNs are canonical, relaxed SIMD is deterministic, threads do not exist.
pub(super) fn compiler_config() -> Config {
    let mut config = Config::new();
    config
        .memory_init_cow(true)
        .concurrency_support(false)
        .epoch_interruption(true)
        .cranelift_opt_level(OptLevel::Speed)
        .cranelift_nan_canonicalization(true)
        .relaxed_simd_deterministic(true);
    config
}

/// Advances the engine's epoch while guests run, and rests when none does.
struct EpochClock {
    running: AtomicUsize,
    resting: AtomicBool,
    thread: Thread,
}

/// Ticks without a running guest before the clock rests. Resting and waking cost a system call
/// each, which a busy server should not pay between two calls.
const TICKS_TO_REST: u32 = 100;

impl EpochClock {
    fn start(engine: &Engine, load: Arc<Load>) -> Arc<Self> {
        let (sender, receiver) = std::sync::mpsc::channel::<Arc<Self>>();
        let weak = engine.weak();
        let thread = thread::spawn(move || {
            let Ok(clock) = receiver.recv() else { return };
            let mut idle = 0;
            while let Some(engine) = weak.upgrade() {
                if clock.running.load(Ordering::SeqCst) > 0 {
                    idle = 0;
                } else if idle < TICKS_TO_REST {
                    idle += 1;
                } else {
                    drop(engine);
                    clock.rest();
                    continue;
                }
                thread::sleep(limits::EPOCH);
                engine.increment_epoch();
                load.tick();
            }
        });
        let clock = Arc::new(Self {
            running: AtomicUsize::new(0),
            resting: AtomicBool::new(false),
            thread: thread.thread().clone(),
        });
        // The thread is waiting for this and nothing else.
        let _ = sender.send(Arc::clone(&clock));
        clock
    }

    fn rest(&self) {
        self.resting.store(true, Ordering::SeqCst);
        // A guest that came before the flag was up is seen here; one that comes after wakes us.
        if self.running.load(Ordering::SeqCst) == 0 {
            thread::park_timeout(std::time::Duration::from_secs(60));
        }
        self.resting.store(false, Ordering::SeqCst);
    }

    fn enter(&self) {
        self.running.fetch_add(1, Ordering::SeqCst);
        if self.resting.load(Ordering::SeqCst) {
            self.thread.unpark();
        }
    }

    fn exit(&self) {
        self.running.fetch_sub(1, Ordering::SeqCst);
    }
}
