//! The command-line client of Cofferdam: calls tools of servers of MCP 2026-07-28, answers what they
//! ask, and follows their tasks.
//!
//! Invariant: the way from what was typed to what is shown goes through these steps, each of which
//! trusts nothing that the server says:
//!
//! ```text
//! arguments ─▶ connect ─▶ peer (on http) ─▶ call, task, get, lists ─▶ show
//!               typed ──▶                 rounds ─▶ ask ◀─ answers, prompt
//! ```
//!
//! Everything that others wrote passes `clean` before a terminal sees it.

mod answers;
mod arguments;
mod ask;
mod call;
mod clean;
mod connect;
mod endpoint;
mod failure;
mod follow;
mod get;
mod given;
mod headers;
mod http;
mod interrupt;
mod limits;
mod lists;
mod nearest;
mod peer;
mod prompt;
mod question;
#[cfg(test)]
mod question_tests;
mod report;
mod rounds;
mod schema;
mod session;
mod show;
mod task;
mod typed;
mod watch;

pub use arguments::Command;

use arguments::Format;
use failure::Failure;
use session::Session;
use std::process::ExitCode;

/// How the program ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Exit {
    /// There is a result.
    Done,
    /// The tool reports an error, or the task failed.
    ToolError,
    /// What was typed is wrong, or an answer is missing.
    Usage,
    /// Connection or protocol.
    Failed,
    /// By Ctrl-C, or by others.
    Cancelled,
}

impl Exit {
    fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::ToolError => 1,
            Self::Usage => 2,
            Self::Failed => 3,
            Self::Cancelled => 130,
        }
    }
}

impl Command {
    /// Runs it to its end, on a runtime of its own. Results go to standard output, everything else to
    /// standard error.
    #[must_use]
    pub fn run(&self) -> ExitCode {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        let exit = match runtime {
            Ok(runtime) => {
                let exit = runtime.block_on(self.run_on());
                // A prompt that was left in the middle still waits for a key.
                runtime.shutdown_background();
                exit
            }
            Err(error) => self.failed(&Failure::Setup(error), None),
        };
        ExitCode::from(exit.code())
    }

    async fn run_on(&self) -> Exit {
        let session = Session::new();
        let ended = match self {
            Self::Call(arguments) => call::call(arguments, &session).await,
            Self::Task { command } => task::task(command, &session).await,
            Self::Tools(arguments) => lists::tools(arguments, &session).await,
            Self::Prompts(arguments) => lists::prompts(arguments, &session).await,
            Self::Prompt(arguments) => get::prompt(arguments, &session).await,
            Self::Resources(arguments) => lists::resources(arguments, &session).await,
            Self::Read(arguments) => get::read(arguments, &session).await,
        };
        session.report.end();
        let task = session.task.borrow();
        ended.unwrap_or_else(|failure| self.failed(&failure, task.as_deref()))
    }

    /// Tells why there is no result.
    fn failed(&self, failure: &Failure, task: Option<&str>) -> Exit {
        if self.format() == Format::Json {
            // Without standard output, standard error says it.
            let _ = show::json(&failure.json(task));
        }
        eprintln!("cofferdam: {}", clean::text(&failure.to_string()));
        failure.exit()
    }

    fn format(&self) -> Format {
        match self {
            Self::Call(arguments) => arguments.output.output,
            Self::Tools(arguments) | Self::Prompts(arguments) | Self::Resources(arguments) => {
                arguments.output
            }
            Self::Prompt(arguments) => arguments.output.output,
            Self::Read(arguments) => arguments.output.output,
            Self::Task { command } => command.task().output.output,
        }
    }
}
