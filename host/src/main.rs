//! The command `cofferdam`.

use anyhow::Result;
use clap::{Parser, Subcommand, ValueEnum};
use cofferdam::auth::Token;
use cofferdam::commands::{
    ComponentArguments, InspectArguments, NewArguments, Operator, PullArguments, PushArguments,
    component, inspect, new, pull, push, reload, status,
};
use cofferdam::config::{Arguments, Config, StdioArguments};
use cofferdam::rehearse::{Death, TestArguments, test};
use cofferdam::runtime::{Compiler, CompilerArguments, compile_standard_input};
use cofferdam::serve::{serve, stdio};
use std::io::IsTerminal as _;
use std::process::ExitCode;
use std::time::Duration;
use tokio::task::spawn_blocking;
use tracing_subscriber::EnvFilter;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// An MCP task server whose tools are sandboxed WebAssembly components.
#[derive(Parser)]
#[command(version, max_term_width = 80)]
struct Cli {
    /// How log lines are written to standard error: for people, or an object a line.
    #[arg(
        long,
        global = true,
        value_enum,
        default_value_t,
        env = "COFFERDAM_LOG_FORMAT"
    )]
    log_format: LogFormat,
    #[command(subcommand)]
    entry: Entry,
}

#[derive(Clone, Copy, Default, ValueEnum)]
enum LogFormat {
    #[default]
    Text,
    Json,
}

#[derive(Subcommand)]
enum Entry {
    /// Compile a component from standard input to standard output, within limits. `serve` has it
    /// done so.
    #[command(hide = true)]
    Compile(CompilerArguments),
    #[command(flatten)]
    Command(Box<Command>),
    #[command(flatten)]
    Client(Box<cofferdam_client::Command>),
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
    /// Serve the tools of some components to one client on standard input and output, which starts this
    /// command itself.
    Stdio {
        #[command(flatten)]
        arguments: StdioArguments,
    },
    /// Check a configuration as `serve` would, and say what is wrong with it. Nothing is served.
    Check {
        #[command(flatten)]
        arguments: Arguments,
    },
    /// Tell what a component is: tools, imports, grants that it would need.
    ///
    /// It is compiled and asked for its tools as a server does it. Fails if a
    /// server would refuse it.
    #[command(verbatim_doc_comment)]
    Inspect(InspectArguments),
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
    /// Call a component's tools as a file of cases says, in this process, and compare what comes with
    /// what is expected there; sleeps are skipped. Fails if something is different.
    Test(TestArguments),
}

impl Command {
    /// What is logged unless the environment says otherwise: a test logs no tool's log.
    fn level(&self) -> &'static str {
        match self {
            Self::Serve { .. }
            | Self::Stdio { .. }
            | Self::Check { .. }
            | Self::New(_)
            | Self::Component(_)
            | Self::Pull(_)
            | Self::Push(_)
            | Self::Token => "info",
            Self::Status { .. } | Self::Reload { .. } | Self::Inspect(_) | Self::Test(_) => "off",
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
            Self::Stdio { arguments } => {
                stdio(Config::read(arguments.into())?, Compiler::Process).await?;
                Ok(true)
            }
            Self::Check { arguments } => {
                Config::read(arguments)?;
                println!("the configuration is good");
                Ok(true)
            }
            Self::Inspect(arguments) => inspect(arguments).await,
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
            Self::Test(arguments) => test(arguments).await,
        }
    }
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let command = match cli.entry {
        Entry::Command(command) => command,
        Entry::Client(command) => return command.run(),
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
    let log = tracing_subscriber::fmt()
        .with_env_filter(filter(&command))
        .with_ansi(std::io::stderr().is_terminal())
        .with_writer(std::io::stderr);
    match cli.log_format {
        LogFormat::Text => log.init(),
        LogFormat::Json => log.json().flatten_event(true).init(),
    }
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
