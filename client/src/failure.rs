//! Everything that can go wrong, with the exit code that tells it.

use crate::Exit;
use crate::answers::AnswerError;
use crate::connect::ConnectError;
use crate::given::GivenError;
use crate::http::HttpError;
use crate::peer::PeerError;
use crate::prompt::PromptError;
use crate::question::QuestionError;
use crate::show::ShowError;
use crate::typed::ArgumentError;
use serde_json::{Value, json};

/// Why there is no result.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    #[error(transparent)]
    Connect(#[from] ConnectError),
    #[error(transparent)]
    Given(#[from] GivenError),
    #[error(transparent)]
    Argument(#[from] ArgumentError),
    #[error(transparent)]
    Answer(#[from] AnswerError),
    #[error(transparent)]
    Question(#[from] QuestionError),
    #[error(transparent)]
    Prompt(#[from] PromptError),
    #[error(transparent)]
    Peer(#[from] PeerError),
    #[error(transparent)]
    Show(#[from] ShowError),
    /// A task that is not there for this caller.
    #[error(
        "the server knows no such task: its id is mistyped, its time is over, or another caller made it \
         (is the token the same?)"
    )]
    NoTask,
    /// Questions that nobody answers.
    #[error("the tool asks, and nobody is at a terminal to answer:\n{0}")]
    Open(String),
    /// Answers to questions that are not asked.
    #[error("the task asks nothing now, so the answers were not sent")]
    NothingAsked,
    /// More rounds of questions than anybody answers.
    #[error("the tool asks again and again")]
    Rounds,
    /// `--timeout`.
    #[error("the time of --timeout is over: {0}")]
    Timeout(String),
    /// Ctrl-C.
    #[error("cancelled: {0}")]
    Cancelled(String),
    /// What the program runs on.
    #[error("the client cannot be set up: {0}")]
    Setup(std::io::Error),
}

impl Failure {
    /// How the program ends.
    pub(crate) fn exit(&self) -> Exit {
        match self {
            Self::Connect(ConnectError::Http(HttpError::Setup(_))) | Self::Setup(_) => Exit::Failed,
            Self::Connect(_)
            | Self::Given(_)
            | Self::Argument(_)
            | Self::Answer(_)
            | Self::Open(_)
            | Self::NothingAsked
            | Self::Peer(PeerError::NoTool { .. }) => Exit::Usage,
            Self::Prompt(PromptError::Interrupted) | Self::Cancelled(_) => Exit::Cancelled,
            _ => Exit::Failed,
        }
    }

    /// The same for programs.
    pub(crate) fn json(&self, task: Option<&str>) -> Value {
        let mut error = json!({ "message": self.to_string(), "exit": self.exit().code() });
        if let Self::Peer(PeerError::Rpc(rpc)) = self {
            error["code"] = rpc.code.into();
            if let Some(data) = &rpc.data {
                error["data"] = data.clone();
            }
        }
        if let Some(task) = task {
            error["taskId"] = task.into();
        }
        json!({ "error": error })
    }
}
