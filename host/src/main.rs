//! The command `cofferdam`.

use anyhow::Result;
use clap::{Parser, Subcommand};
use cofferdam::serve::{ServeOptions, serve};
use cofferdam::settings::Settings;
use std::io::IsTerminal as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;
use tracing_subscriber::EnvFilter;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// An MCP task server whose tools are sandboxed WebAssembly components.
#[derive(Parser)]
#[command(version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Serve the tools of some components over Streamable HTTP, at /mcp.
    Serve {
        /// A .wasm component, or a folder of them.
        #[arg(required = true, value_name = "PATH")]
        paths: Vec<PathBuf>,
        /// The address to listen on.
        #[arg(long, default_value = "127.0.0.1:8080")]
        listen: String,
        /// The folder for everything that must survive.
        #[arg(long, default_value = ".cofferdam")]
        data: PathBuf,
        /// Where tasks are kept: sqlite (in the data folder), sqlite:PATH or memory:.
        #[arg(long, default_value = "sqlite")]
        store: String,
        /// The key that seals what clients keep between the requests of one call. Made if it is not
        /// there; servers that share it take each other's. [default: request-state.key in the data
        /// folder]
        #[arg(long, value_name = "FILE")]
        state_key: Option<PathBuf>,
        /// Change a setting, for example tasks.ttl-ms=60000. May be repeated.
        #[arg(long, value_name = "KEY=VALUE")]
        set: Vec<String>,
    },
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    tracing_subscriber::fmt()
        .with_env_filter(EnvFilter::try_from_default_env().unwrap_or_else(|_| "info".into()))
        .with_ansi(std::io::stderr().is_terminal())
        .with_writer(std::io::stderr)
        .init();
    match run(arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("cofferdam: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: Arguments) -> Result<()> {
    let Command::Serve {
        paths,
        listen,
        data,
        store,
        state_key,
        set,
    } = arguments.command;
    let settings = Settings::from_assignments(&set)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let result = runtime.block_on(serve(ServeOptions {
        paths,
        listen,
        data,
        store,
        state_key,
        settings,
    }));
    // What did not end within its grace is dropped with its instances; then the store closes.
    runtime.shutdown_timeout(Duration::from_secs(5));
    result
}
