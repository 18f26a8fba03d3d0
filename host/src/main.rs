//! The command `cofferdam`.

use anyhow::Result;
use clap::{Args, Parser, Subcommand};
use cofferdam::auth::Token;
use cofferdam::config::{Arguments, Config, ConfigError};
use cofferdam::rehearse::{TestOptions, test};
use cofferdam::serve::{Death, serve};
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
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Serve the tools of some components over Streamable HTTP, at /mcp.
    Serve {
        #[command(flatten)]
        arguments: ConfigArguments,
        /// Rehearse: calls begin with one seed and a clock of their own, and the server kills itself
        /// where it is told: never, entry=N or write=N.
        #[arg(long, hide = true, value_name = "DEATH")]
        rehearse: Option<Death>,
    },
    /// Check a configuration as `serve` would, and say what is wrong with it. Nothing is served.
    Check {
        #[command(flatten)]
        arguments: ConfigArguments,
    },
    /// Make an access token for [auth], and print it and the hash that goes into the configuration.
    Token,
    /// Call a tool as a file of cases says, and prove that it ends the same wherever it is killed.
    Test {
        /// A .wasm component.
        component: PathBuf,
        /// The cases. [default: the component's name with .cases.toml for .wasm]
        #[arg(long, value_name = "FILE")]
        cases: Option<PathBuf>,
        /// Drop the run at each entry of its journal, one by one and in combinations, and compare
        /// what comes out with the undisturbed run.
        #[arg(long)]
        kill_everywhere: bool,
        /// Disturbed runs for each case, about. One kill at each entry is always tried.
        #[arg(long, value_name = "NUMBER", default_value_t = 300)]
        runs: usize,
        /// Kill so many servers for each case, too, in the middle of runs and of writes.
        #[arg(
            long,
            value_name = "NUMBER",
            default_value_t = 0,
            requires = "kill_everywhere"
        )]
        processes: usize,
        /// Change a setting, for example sandbox.cpu-ms=60000. May be repeated.
        #[arg(long, value_name = "KEY=VALUE")]
        set: Vec<String>,
    },
}

#[derive(Args)]
struct ConfigArguments {
    /// A .wasm component, or a folder of them.
    #[arg(value_name = "PATH", required_unless_present = "config")]
    paths: Vec<PathBuf>,
    /// The configuration; what is said here goes over what it says.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// The address to listen on. [default: 127.0.0.1:8080]
    #[arg(long)]
    listen: Option<String>,
    /// The folder for everything that must survive. [default: .cofferdam]
    #[arg(long)]
    data: Option<PathBuf>,
    /// Where tasks are kept: sqlite (in the data folder), sqlite:PATH or memory:. [default: sqlite]
    #[arg(long)]
    store: Option<String>,
    /// The key that seals what clients keep between the requests of one call. Made if it is not
    /// there; servers that share it take each other's. [default: request-state.key in the data
    /// folder]
    #[arg(long, value_name = "FILE")]
    state_key: Option<PathBuf>,
    /// Change a setting, for example tasks.ttl-ms=60000. May be repeated.
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Listen on an address that others can reach without telling callers apart.
    #[arg(long)]
    allow_anonymous: bool,
}

impl ConfigArguments {
    fn read(self) -> Result<Config, ConfigError> {
        Config::read(Arguments {
            file: self.config,
            paths: self.paths,
            listen: self.listen,
            data: self.data,
            store: self.store,
            state_key: self.state_key,
            set: self.set,
            allow_anonymous: self.allow_anonymous,
        })
    }
}

impl Command {
    /// What is logged unless the environment says otherwise: a test logs no tool's log.
    fn level(&self) -> &'static str {
        match self {
            Self::Serve { .. } | Self::Check { .. } | Self::Token => "info",
            Self::Test { .. } => "off",
        }
    }

    async fn run(self) -> Result<bool> {
        match self {
            Self::Serve {
                arguments,
                rehearse,
            } => {
                serve(arguments.read()?, rehearse).await?;
                Ok(true)
            }
            Self::Check { arguments } => {
                arguments.read()?;
                println!("the configuration is good");
                Ok(true)
            }
            Self::Token => {
                let (token, hash) = Token::generate();
                println!("token:  {token}\nsha256: {hash}");
                Ok(true)
            }
            Self::Test {
                component,
                cases,
                kill_everywhere,
                runs,
                processes,
                set,
            } => {
                let options = TestOptions {
                    component,
                    cases,
                    kill_everywhere,
                    runs,
                    processes,
                    settings: Settings::from_assignments(&set)?,
                };
                test(options).await
            }
        }
    }
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    tracing_subscriber::fmt()
        .with_env_filter(
            EnvFilter::try_from_default_env().unwrap_or_else(|_| cli.command.level().into()),
        )
        .with_ansi(std::io::stderr().is_terminal())
        .with_writer(std::io::stderr)
        .init();
    match run(cli.command) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("cofferdam: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(command: Command) -> Result<bool> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let result = runtime.block_on(command.run());
    // What did not end within its grace is dropped with its instances; then the store closes.
    runtime.shutdown_timeout(Duration::from_secs(5));
    result
}
