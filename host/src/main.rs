//! The command `cofferdam`.

use anyhow::Result;
use clap::{Parser, Subcommand};
use cofferdam::auth::Token;
use cofferdam::commands::{
    ComponentArguments, NewArguments, Operator, PullArguments, PushArguments, component, new, pull,
    push, reload, status,
};
use cofferdam::config::{Arguments, Config};
use cofferdam::rehearse::{TestOptions, test};
use cofferdam::runtime::{Compiler, CompilerArguments, compile_standard_input};
use cofferdam::serve::{Death, serve};
use cofferdam::settings::Settings;
use std::io::IsTerminal as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;
use tokio::task::spawn_blocking;
use tracing_subscriber::EnvFilter;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// An MCP task server whose tools are sandboxed WebAssembly components.
#[derive(Parser)]
#[command(version)]
struct Cli {
    #[command(subcommand)]
    entry: Entry,
}

#[derive(Subcommand)]
enum Entry {
    /// Compile a component from standard input to standard output, within limits. `serve` has it
    /// done so.
    #[command(hide = true)]
    Compile(CompilerArguments),
    #[command(flatten)]
    Command(Box<Command>),
}

#[derive(Subcommand)]
enum Command {
    /// Serve the tools of some components over Streamable HTTP, at /mcp.
    Serve {
        #[command(flatten)]
        arguments: Arguments,
        /// Rehearse: calls begin with one seed and a clock of their own, and the server kills itself
        /// where it is told: never, entry=N or write=N.
        #[arg(long, hide = true, value_name = "DEATH")]
        rehearse: Option<Death>,
    },
    /// Check a configuration as `serve` would, and say what is wrong with it. Nothing is served.
    Check {
        #[command(flatten)]
        arguments: Arguments,
    },
    /// Make a project of one tool, which builds and serves as it is.
    New(NewArguments),
    /// Make a component of a module that a C compiler linked.
    Component(ComponentArguments),
    /// Pull a component from a registry, and print its pinned reference.
    Pull(PullArguments),
    /// Push a component to a registry, and print its pinned reference.
    Push(PushArguments),
    /// Make an access token for [auth], and print it and the hash that goes into the configuration.
    Token,
    /// Tell how a running server is: its tools and components, what runs, tasks by their state.
    Status {
        #[command(flatten)]
        operator: Operator,
        /// The server's JSON in place of a table.
        #[arg(long)]
        json: bool,
    },
    /// Have a running server look at its components again, and tell what changed. Fails if something
    /// was refused.
    Reload {
        #[command(flatten)]
        operator: Operator,
    },
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

impl Command {
    /// What is logged unless the environment says otherwise: a test logs no tool's log.
    fn level(&self) -> &'static str {
        match self {
            Self::Serve { .. }
            | Self::Check { .. }
            | Self::New(_)
            | Self::Component(_)
            | Self::Pull(_)
            | Self::Push(_)
            | Self::Token => "info",
            Self::Status { .. } | Self::Reload { .. } | Self::Test { .. } => "off",
        }
    }

    async fn run(self) -> Result<bool> {
        match self {
            Self::Serve {
                arguments,
                rehearse,
            } => {
                serve(Config::read(arguments)?, Compiler::Process, rehearse).await?;
                Ok(true)
            }
            Self::Check { arguments } => {
                Config::read(arguments)?;
                println!("the configuration is good");
                Ok(true)
            }
            Self::New(arguments) => {
                new(&arguments)?;
                Ok(true)
            }
            Self::Component(arguments) => {
                component(&arguments)?;
                Ok(true)
            }
            Self::Pull(arguments) => {
                spawn_blocking(|| pull(arguments)).await??;
                Ok(true)
            }
            Self::Push(arguments) => {
                spawn_blocking(|| push(arguments)).await??;
                Ok(true)
            }
            Self::Token => {
                let (token, hash) = Token::generate();
                println!("token:  {token}\nsha256: {hash}");
                Ok(true)
            }
            Self::Status { operator, json } => Ok(status(&operator, json)?),
            Self::Reload { operator } => Ok(reload(&operator)?),
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
    let command = match Cli::parse().entry {
        Entry::Command(command) => command,
        // Limits itself before anything else: no runtime, no log.
        Entry::Compile(arguments) => {
            return match compile_standard_input(arguments) {
                Ok(()) => ExitCode::SUCCESS,
                Err(reason) => {
                    eprintln!("{reason}");
                    ExitCode::FAILURE
                }
            };
        }
    };
    tracing_subscriber::fmt()
        .with_env_filter(filter(&command))
        .with_ansi(std::io::stderr().is_terminal())
        .with_writer(std::io::stderr)
        .init();
    match run(*command) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("cofferdam: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// What these log is what is sent: passwords and tokens to registries, ids and arguments to databases.
const NEVER_LOGGED: [&str; 2] = ["ureq_proto::util=off", "tokio_postgres::query=off"];

/// What is logged.
fn filter(command: &Command) -> EnvFilter {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| command.level().into());
    let never = NEVER_LOGGED.iter().flat_map(|target| target.parse());
    never.fold(filter, EnvFilter::add_directive)
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
