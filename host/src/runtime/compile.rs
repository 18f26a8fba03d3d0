//! Compiling components that nobody trusts.
//!
//! Invariant: whatever the bytes of a component are, compiling them ends, with native code or with
//! an error that names its cause, and takes no more of the machine than `limits` and
//! `sandbox.compile-*` allow. One component is compiled at a time: the compiler uses all cores by itself.
//!
//! The compiler runs in a process of its own, which is this program once more. It has no
//! environment but what sets up its threads, and no file but its pipes; it limits itself before it
//! reads a byte, and ends with its parent. What it hands back, an [`Artefact`], is kept in a
//! [`CompileCache`], if there is one.

use super::cache::CompileCache;
use super::engine::compiler_config;
use super::inspect::{Defect, inspect};
use crate::limits::{ARTEFACT_BYTES, COMPONENT_BYTES, SandboxLimits};
use rustix::process::{Resource, Rlimit, Signal, getrlimit, setrlimit};
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::AsRawFd as _;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{Child, Command};
use tokio::sync::{Mutex, oneshot};
use tokio::task::spawn_blocking;
use wasmtime::Engine;
use wasmtime::component::Component;

/// Where components are compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compiler {
    /// In a process of its own, with every limit. This program's own binary must understand
    /// `compile` with [`CompilerArguments`], as `cofferdam` does, and hand them to
    /// [`compile_standard_input`].
    Process,
    /// In a thread of this process, for programs that do not, and for components that their user
    /// made. Sizes are limited, time and memory are not.
    Thread,
}

/// What the compiling process limits itself to.
#[derive(clap::Args, Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompilerArguments {
    /// CPU time, seconds.
    #[arg(long)]
    pub cpu_seconds: u64,
    /// Address space, bytes.
    #[arg(long)]
    pub memory_bytes: u64,
}

/// Why a component was not compiled.
#[derive(Debug, thiserror::Error)]
pub enum CompileError {
    /// The file is broken, or too large in some way.
    #[error(transparent)]
    Defect(#[from] Defect),
    /// It is no valid component.
    #[error("it is no valid component: {0}")]
    Invalid(String),
    /// It takes too much CPU time.
    #[error("compiling it takes more than {0} ms of CPU time (limit sandbox.compile-cpu-ms)")]
    Cpu(u64),
    /// It takes too long.
    #[error("compiling it takes longer than {0} ms (limit sandbox.compile-wall-ms)")]
    Wall(u64),
    /// It takes too much memory.
    #[error(
        "compiling it takes more than {0} bytes of memory (limit sandbox.compile-memory-bytes)"
    )]
    Memory(u64),
    /// Its native code is too large.
    #[error(
        "compiled it has more than {ARTEFACT_BYTES} bytes; the limit is {ARTEFACT_BYTES} \
         (ARTEFACT_BYTES)"
    )]
    Artefact,
    /// The compiler ended without an answer.
    #[error("the compiler ended without an answer ({0})")]
    Crashed(String),
    /// The compiler cannot be run.
    #[error("the compiler cannot be run: {0}")]
    Start(#[source] io::Error),
    /// Its native code does not fit this engine or its limits.
    #[error("it does not fit: {0}")]
    Unfit(String),
}

/// A component's native code, from this program's own compiler and from nowhere else: no function
/// makes one of other bytes.
pub(super) struct Artefact(Vec<u8>);

/// The compiler, what it compiled before, and whose turn it is.
pub(super) struct Compilation {
    compiler: Compiler,
    cache: Option<CompileCache>,
    cpu_ms: u64,
    wall_ms: u64,
    memory_bytes: u64,
    turn: Mutex<()>,
}

impl Compilation {
    pub(super) fn new(
        compiler: Compiler,
        cache: Option<CompileCache>,
        limits: &SandboxLimits,
    ) -> Self {
        Self {
            compiler,
            cache,
            cpu_ms: limits.compile_cpu_ms,
            wall_ms: limits.compile_wall_ms,
            memory_bytes: limits.compile_memory_bytes,
            turn: Mutex::default(),
        }
    }

    /// The native code of the component with this digest: what was compiled before, or else compiled
    /// when its turn has come. Dropping the future stops the compiler.
    pub(super) async fn component(
        &self,
        engine: &Engine,
        digest: &str,
        bytes: &[u8],
    ) -> Result<Component, CompileError> {
        if let Some(component) = self.cached(engine, digest).await {
            return Ok(component);
        }
        inspect(bytes)?;
        let artefact = {
            let _turn = self.turn.lock().await;
            let start = Instant::now();
            let artefact = match self.compiler {
                Compiler::Process => self.in_process(bytes).await?,
                Compiler::Thread => in_thread(engine.clone(), bytes.to_vec()).await?,
            };
            tracing::debug!(
                bytes = bytes.len(),
                artefact_bytes = artefact.0.len(),
                "compiled in {} ms",
                start.elapsed().as_millis()
            );
            artefact
        };
        let (engine, cache, digest) = (engine.clone(), self.cache.clone(), digest.to_owned());
        off_thread(move || {
            let kept = cache.map(|cache| cache.keep(&digest, &artefact));
            let code = match kept {
                Some(Ok(file)) => Code::File(file),
                Some(Err(error)) => {
                    tracing::warn!("cannot keep a compiled component: {error}");
                    Code::Memory(artefact)
                }
                None => Code::Memory(artefact),
            };
            native(&engine, &code)
        })
        .await?
        .map_err(|error| CompileError::Unfit(one_line(&error)))
    }

    /// What was compiled before.
    async fn cached(&self, engine: &Engine, digest: &str) -> Option<Component> {
        let cache = self.cache.clone()?;
        let (engine, digest) = (engine.clone(), digest.to_owned());
        let start = Instant::now();
        let load = move || {
            let file = cache.find(&digest)?;
            let component = native(&engine, &Code::File(file));
            component
                .inspect_err(|error| {
                    // Of an engine with other settings, or in a place that lets nothing be run.
                    tracing::warn!("compiling {digest} anew: {}", one_line(error));
                    cache.forget(&digest);
                })
                .ok()
        };
        let component = off_thread(load).await.ok().flatten()?;
        tracing::debug!("loaded in {} ms", start.elapsed().as_millis());
        Some(component)
    }

    /// Removes the code of components that `keep` does not accept, by their digests.
    pub(super) fn prune(&self, keep: impl Fn(&str) -> bool) -> io::Result<usize> {
        self.cache.as_ref().map_or(Ok(0), |cache| cache.prune(keep))
    }

    async fn in_process(&self, bytes: &[u8]) -> Result<Artefact, CompileError> {
        let mut child = self.command().spawn().map_err(CompileError::Start)?;
        let wall = Duration::from_millis(self.wall_ms);
        let result = match tokio::time::timeout(wall, converse(&mut child, bytes)).await {
            Ok(conversed) => {
                let (status, artefact, said) = conversed.map_err(CompileError::Start)?;
                if status.success() {
                    return Artefact::new(artefact);
                }
                self.reason(status, &said)
            }
            Err(_) => CompileError::Wall(self.wall_ms),
        };
        // Gone already, unless its time was over.
        let _ = child.kill().await;
        Err(result)
    }

    fn command(&self) -> Command {
        let threads = thread::available_parallelism().map_or(1, |cores| cores.get().min(THREADS));
        // The very file that runs, even if another was put in its place meanwhile.
        let mut command = Command::new("/proc/self/exe");
        command
            .arg0("cofferdam")
            .arg("compile")
            .arg(format!("--cpu-seconds={}", self.cpu_ms.div_ceil(1_000)))
            .arg(format!("--memory-bytes={}", self.memory_bytes))
            .env_clear()
            .env("RAYON_NUM_THREADS", threads.to_string())
            // Address space that the allocator reserves ahead would count.
            .env("MIMALLOC_ARENA_RESERVE", "0")
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        command
    }

    /// Why the compiler failed, by how it ended and what it said. Whoever has no memory left cannot
    /// say so in a way of his own: the text is that of the standard library or of the system.
    fn reason(&self, status: ExitStatus, said: &str) -> CompileError {
        const NO_MEMORY: [&str; 4] = [
            "memory allocation of",
            "Cannot allocate memory",
            "out of memory",
            // Of a thread's stack.
            "Resource temporarily unavailable",
        ];
        if status.signal() == Some(Signal::XCPU.as_raw()) {
            return CompileError::Cpu(self.cpu_ms);
        }
        if NO_MEMORY.iter().any(|text| said.contains(text)) {
            return CompileError::Memory(self.memory_bytes);
        }
        if status.code() == Some(REFUSED) {
            return CompileError::Invalid(said.trim().replace('\n', " "));
        }
        let said: String = said.lines().take(3).collect::<Vec<_>>().join(" ");
        CompileError::Crashed(format!("{status}: {said}"))
    }
}

impl Artefact {
    fn new(bytes: Vec<u8>) -> Result<Self, CompileError> {
        if bytes.len() as u64 > ARTEFACT_BYTES {
            return Err(CompileError::Artefact);
        }
        Ok(Self(bytes))
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.0
    }

    #[cfg(test)]
    pub(super) fn of_test(text: &str) -> Self {
        Self(text.into())
    }
}

/// Where native code is.
enum Code {
    Memory(Artefact),
    /// A file that a cache verified.
    File(File),
}

async fn off_thread<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, CompileError> {
    let done = spawn_blocking(work).await;
    done.map_err(|error| CompileError::Crashed(error.to_string()))
}

/// Hands the component over, and takes what comes, until the compiler has ended.
async fn converse(child: &mut Child, bytes: &[u8]) -> io::Result<(ExitStatus, Vec<u8>, String)> {
    let (input, output, errors) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let hand_over = async {
        if let Some(mut input) = input {
            // A compiler that reads no further says why, or how it ended does.
            let _ = input.write_all(bytes).await;
        }
    };
    let ((), artefact, said) = tokio::join!(
        hand_over,
        take(output, ARTEFACT_BYTES + 1),
        take(errors, SAID_BYTES)
    );
    let status = child.wait().await?;
    Ok((
        status,
        artefact?,
        String::from_utf8_lossy(&said?).into_owned(),
    ))
}

/// Reads to the end, or to the limit, and closes.
async fn take(from: Option<impl AsyncRead + Unpin>, limit: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if let Some(from) = from {
        from.take(limit).read_to_end(&mut bytes).await?;
    }
    Ok(bytes)
}

async fn in_thread(engine: Engine, bytes: Vec<u8>) -> Result<Artefact, CompileError> {
    let (tell, told) = oneshot::channel();
    thread::Builder::new()
        .name("compile".to_owned())
        .stack_size(STACK_BYTES)
        .spawn(move || {
            let compiled = engine.precompile_component(&bytes);
            // Nobody listens if the caller went away.
            let _ = tell.send(compiled.map_err(|error| CompileError::Invalid(one_line(&error))));
        })
        .map_err(CompileError::Start)?;
    let compiled = told.await;
    compiled
        .map_err(|_| CompileError::Crashed("a panic".to_owned()))?
        .and_then(Artefact::new)
}

/// Makes native code callable.
#[expect(
    unsafe_code,
    reason = "native code cannot be checked, only be had from whom one trusts"
)]
fn native(engine: &Engine, code: &Code) -> wasmtime::Result<Component> {
    // SAFETY: the bytes must be what `Engine::precompile_component` made, unchanged for as long as
    // they are used. An `Artefact` holds nothing else: it comes from this process, or over a pipe
    // from a process that runs the same file as this one and ended well, and whose end of the pipe
    // nobody else had. A file was written from an `Artefact`, by a server with this server's key,
    // which nobody but its user can read; only that user can change it, files are replaced and never
    // rewritten, and the very file that was verified is mapped. That both engines have the same
    // settings is checked here by wasmtime itself.
    unsafe {
        match code {
            Code::Memory(artefact) => Component::deserialize(engine, &artefact.0),
            Code::File(file) => {
                let path = format!("/proc/self/fd/{}", file.as_raw_fd());
                Component::deserialize_file(engine, path)
            }
        }
    }
}

pub(super) fn one_line(error: &wasmtime::Error) -> String {
    format!("{error:#}").replace('\n', " ")
}

/// How the compiler ends if the component is to blame. Others are a panic's and the command line's.
const REFUSED: i32 = 1;
/// What is read of the compiler's complaints, bytes.
const SAID_BYTES: u64 = 16 << 10;
/// Stack of a thread that compiles, bytes.
const STACK_BYTES: usize = 8 << 20;
/// Threads of the compiling process at most: each has memory of its own.
const THREADS: usize = 16;
/// By how much the compiling process stands back.
const NICENESS: i32 = 10;
/// File handles of the compiling process: its three pipes.
const HANDLES: u64 = 3;

/// The work of the compiling process: limits itself, reads a component from standard input, and writes
/// its native code to standard output.
///
/// # Errors
/// Why not, in one line, for standard error; the process must then end with the status 1.
pub fn compile_standard_input(arguments: CompilerArguments) -> Result<(), String> {
    confine(arguments).map_err(|error| format!("cannot limit the compiler: {error}"))?;
    let mut bytes = Vec::new();
    io::stdin()
        .lock()
        .take(COMPONENT_BYTES)
        .read_to_end(&mut bytes)
        .map_err(|error| error.to_string())?;
    let engine = Engine::new(&compiler_config()).map_err(|error| one_line(&error))?;
    let artefact = engine
        .precompile_component(&bytes)
        .map_err(|error| one_line(&error))?;
    let mut output = io::stdout().lock();
    output
        .write_all(&artefact)
        .and_then(|()| output.flush())
        .map_err(|error| error.to_string())
}

fn confine(arguments: CompilerArguments) -> io::Result<()> {
    // The parent is the thread that started this process: the main one, or a worker of tokio's, which
    // lives as long as its runtime.
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
    // Whoever is served meanwhile comes first.
    let _ = rustix::process::nice(NICENESS);
    // When the machine's memory ends, let it be this process that goes. A system that does not
    // know the file has another way, or none.
    let _ = std::fs::write("/proc/self/oom_score_adj", "1000");
    let limit = |resource, most: u64, more: u64| {
        // What this process was given is never raised.
        let maximum = getrlimit(resource).maximum.unwrap_or(u64::MAX);
        setrlimit(
            resource,
            Rlimit {
                current: Some(most.min(maximum)),
                maximum: Some(most.saturating_add(more).min(maximum)),
            },
        )
    };
    // At the first limit the process is told in a way that its parent can see; at the second, killed.
    limit(Resource::Cpu, arguments.cpu_seconds, 1)?;
    limit(Resource::As, arguments.memory_bytes, 0)?;
    limit(Resource::Core, 0, 0)?;
    limit(Resource::Fsize, 0, 0)?;
    limit(Resource::Nofile, HANDLES, 0)?;
    Ok(())
}
