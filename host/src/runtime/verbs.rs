//! What a guest may do to its call: the other side of `wit/task.wit`.

use super::wit::task::{
    CallStatus, FinalError, InputError, RecordError, StartError, StartOptions, Started,
};
use crate::journal::{Fault, Micros};
use crate::protocol::{Answer, Kind, Level, RpcError};
use async_trait::async_trait;
use serde_json::Value;

/// Why a run ends in the middle of a verb. The guest does not see it.
#[derive(Debug, thiserror::Error)]
pub enum Halt {
    /// The task waits for something, and gives its instance back meanwhile.
    #[error("the task is parked")]
    Parked,
    /// The client was asked, and has to call again with the answers.
    #[error("the client has to answer first")]
    Asked,
    /// The journal.
    #[error(transparent)]
    Fault(#[from] Fault),
}

/// How long to wait.
#[derive(Clone, Copy, Debug)]
pub enum Waiting {
    /// So many milliseconds.
    For(u64),
    /// Until the call's clock shows this.
    Until(Micros),
}

/// What a guest says that changed.
#[derive(Clone, Copy, Debug)]
pub enum Changed<'a> {
    /// What the resource of this URI holds.
    Resource(&'a str),
    /// What a list of its component shows.
    List(Kind),
}

/// The verbs of one call. The documentation of each is in `wit/task.wit`.
#[async_trait]
#[allow(missing_docs, reason = "documented in wit/task.wit")]
pub trait Verbs: Send + Sync {
    async fn start_task(&self, options: StartOptions) -> Result<Result<Started, StartError>, Halt>;
    async fn progress(
        &self,
        progress: f64,
        total: Option<f64>,
        message: Option<String>,
    ) -> Result<(), FinalError>;
    async fn status(&self) -> CallStatus;
    fn cancelled(&self) -> bool;
    async fn complete(&self, answer: Answer) -> Result<Result<(), FinalError>, Halt>;
    async fn fail(&self, error: RpcError) -> Result<Result<(), FinalError>, Halt>;
    async fn wait(&self, waiting: Waiting) -> Result<Result<(), FinalError>, Halt>;
    /// Requests and answers are in their form on the wire, and checked already.
    async fn require_input(
        &self,
        requests: Vec<(String, Value)>,
    ) -> Result<Result<Vec<(String, Value)>, InputError>, Halt>;
    async fn record(&self, key: String, value: Vec<u8>) -> Result<Result<(), RecordError>, Halt>;
    /// Stores what the journal has taken, before something is done outside. Refused: it must not be
    /// done.
    async fn flush(&self) -> Result<Result<(), FinalError>, Halt>;
    async fn recall(&self, key: String) -> Result<Option<Vec<u8>>, Halt>;
    /// Tells whoever listens what changed (`wit/changes.wit`).
    fn changed(&self, what: Changed<'_>);
    /// A log line for the client; the server's log has it already.
    fn log(&self, level: Level, message: &str, fields: Option<&str>);
}
