//! What can be typed.

use clap::{Args, Subcommand, ValueEnum};
use std::path::PathBuf;

const EXITS: &str = "\
Exit codes:
  0    there is a result
  1    the tool reports an error, or the task failed
  2    usage, or an answer is missing
  3    connection or protocol
  130  cancelled";

/// Commands that call tools, here or on any other server of MCP 2026-07-28.
#[derive(Subcommand, Debug)]
pub enum Command {
    /// Call a tool of a server, answer what it asks, and show its result.
    ///
    /// Ctrl-C cancels the call; pressed twice, it ends at once.
    #[command(after_help = EXITS)]
    Call(CallArguments),
    /// Look at a task of a server, follow it, answer what it asks, or cancel it.
    #[command(after_help = EXITS)]
    Task {
        /// What to do.
        #[command(subcommand)]
        command: TaskCommand,
    },
    /// List the tools of a server with their arguments.
    #[command(after_help = EXITS)]
    Tools(ListArguments),
    /// List the prompts of a server with their arguments.
    #[command(after_help = EXITS)]
    Prompts(ListArguments),
    /// Get a prompt of a server, answer what it asks, and show its messages.
    #[command(after_help = EXITS)]
    Prompt(PromptArguments),
    /// List the resources of a server and its resource templates.
    #[command(after_help = EXITS)]
    Resources(ListArguments),
    /// Read a resource of a server, answer what it asks, and show what it holds.
    #[command(after_help = EXITS)]
    Read(ReadArguments),
}

/// `cofferdam call`.
#[derive(Args, Debug)]
pub struct CallArguments {
    #[command(flatten)]
    pub(crate) server: ServerArguments,
    /// The name of the tool.
    pub(crate) tool: String,
    /// An argument, typed as the tool's schema says: arrays and objects are JSON; NAME=@FILE reads
    /// a file, NAME=@- standard input, and NAME=@@TEXT is a text that begins with @.
    #[arg(short, long = "arg", value_name = "NAME=VALUE")]
    pub(crate) arguments: Vec<String>,
    /// All arguments as a JSON object.
    #[arg(long, value_name = "JSON", conflicts_with = "arguments")]
    pub(crate) json: Option<String>,
    /// If the call becomes a task, print its id and end.
    #[arg(short, long)]
    pub(crate) detach: bool,
    /// Show the tool's log from this level on.
    #[arg(long, value_name = "LEVEL")]
    pub(crate) log: Option<Level>,
    #[command(flatten)]
    pub(crate) answers: AnswerArguments,
    #[command(flatten)]
    pub(crate) output: OutputArguments,
}

/// `cofferdam prompt`.
#[derive(Args, Debug)]
pub struct PromptArguments {
    #[command(flatten)]
    pub(crate) server: ServerArguments,
    /// The name of the prompt.
    pub(crate) name: String,
    /// An argument: NAME=@FILE reads a file, NAME=@- standard input, and NAME=@@TEXT is a text that
    /// begins with @.
    #[arg(short, long = "arg", value_name = "NAME=TEXT")]
    pub(crate) arguments: Vec<String>,
    #[command(flatten)]
    pub(crate) answers: AnswerArguments,
    #[command(flatten)]
    pub(crate) output: OutputArguments,
}

/// `cofferdam read`.
#[derive(Args, Debug)]
pub struct ReadArguments {
    #[command(flatten)]
    pub(crate) server: ServerArguments,
    /// The URI of the resource.
    pub(crate) uri: String,
    #[command(flatten)]
    pub(crate) answers: AnswerArguments,
    #[command(flatten)]
    pub(crate) output: OutputArguments,
}

/// `cofferdam tools`, `prompts` and `resources`.
#[derive(Args, Debug)]
pub struct ListArguments {
    #[command(flatten)]
    pub(crate) server: ServerArguments,
    /// How to show them.
    #[arg(short, long, value_name = "FORMAT", default_value = "text")]
    pub(crate) output: Format,
}

/// `cofferdam task`.
#[derive(Subcommand, Debug)]
pub enum TaskCommand {
    /// Show the state of a task, and its result if there is one.
    #[command(after_help = EXITS)]
    Get(TaskArguments),
    /// Follow a task to its end, and show its result as `call` does.
    ///
    /// Ctrl-C ends this command, and the task goes on.
    #[command(after_help = EXITS)]
    Watch(AnsweringArguments),
    /// Answer what a task asks.
    #[command(after_help = EXITS)]
    Update(AnsweringArguments),
    /// Ask the server to cancel a task.
    #[command(after_help = EXITS)]
    Cancel(TaskArguments),
}

/// Which task.
#[derive(Args, Debug)]
pub struct TaskArguments {
    #[command(flatten)]
    pub(crate) server: ServerArguments,
    /// The id of the task.
    // It may begin with a hyphen.
    #[arg(allow_hyphen_values = true)]
    pub(crate) id: String,
    #[command(flatten)]
    pub(crate) output: OutputArguments,
}

/// Which task, and answers to it.
#[derive(Args, Debug)]
pub struct AnsweringArguments {
    #[command(flatten)]
    pub(crate) task: TaskArguments,
    #[command(flatten)]
    pub(crate) answers: AnswerArguments,
}

/// Which server, and how to reach it.
#[derive(Args, Debug)]
pub(crate) struct ServerArguments {
    /// The server's address: localhost:8080 is http://localhost:8080/mcp.
    pub(crate) url: String,
    /// The access token, which others on this machine may see. Unless it is given, it is taken
    /// from COFFERDAM_TOKEN.
    #[arg(long, value_name = "TOKEN")]
    pub(crate) token: Option<String>,
    /// A file with the access token.
    #[arg(long, value_name = "FILE", conflicts_with = "token")]
    pub(crate) token_file: Option<PathBuf>,
    /// Send a token also where everybody on the way can read it (http to another machine).
    #[arg(long)]
    pub(crate) insecure_token: bool,
    /// A header for every request. May be repeated.
    #[arg(long, value_name = "NAME: VALUE")]
    pub(crate) header: Vec<String>,
    /// A PEM file with authorities to trust for https, in place of the usual ones.
    #[arg(long, value_name = "FILE")]
    pub(crate) ca: Option<PathBuf>,
    /// Give up after so many seconds. A call is cancelled by that, a task goes on.
    #[arg(long, value_name = "SECONDS")]
    pub(crate) timeout: Option<f64>,
}

/// What is said to questions.
#[derive(Args, Debug)]
pub(crate) struct AnswerArguments {
    /// Answer a question beforehand. Without a terminal, all must be. May be repeated.
    #[arg(long, value_name = "KEY[.FIELD]=VALUE")]
    pub(crate) answer: Vec<String>,
    /// Answers as a JSON object of keys; {"action": "cancel"} cancels a question.
    #[arg(long, value_name = "JSON")]
    pub(crate) answers: Option<String>,
    /// Decline to answer a question. May be repeated.
    #[arg(long, value_name = "KEY")]
    pub(crate) decline: Vec<String>,
}

/// How a result is shown.
#[derive(Args, Debug)]
pub(crate) struct OutputArguments {
    /// How to show the result: json is one document, also if there is an error.
    #[arg(short, long, value_name = "FORMAT", default_value = "text")]
    pub(crate) output: Format,
    /// Where images and other bytes of a result go. [default: a new temporary folder]
    #[arg(long, value_name = "FOLDER")]
    pub(crate) save: Option<PathBuf>,
}

/// How something is shown.
#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    Text,
    Json,
}

/// Levels of log lines (RFC 5424).
#[derive(ValueEnum, Debug, Clone, Copy)]
pub(crate) enum Level {
    Debug,
    Info,
    Notice,
    Warning,
    Error,
    Critical,
    Alert,
    Emergency,
}

impl Level {
    /// Its name in messages.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Debug => "debug",
            Self::Info => "info",
            Self::Notice => "notice",
            Self::Warning => "warning",
            Self::Error => "error",
            Self::Critical => "critical",
            Self::Alert => "alert",
            Self::Emergency => "emergency",
        }
    }
}

impl TaskCommand {
    /// Which task it is about.
    pub(crate) fn task(&self) -> &TaskArguments {
        match self {
            Self::Get(task) | Self::Cancel(task) => task,
            Self::Watch(asked) | Self::Update(asked) => &asked.task,
        }
    }
}
