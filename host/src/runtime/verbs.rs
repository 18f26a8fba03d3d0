//! What a guest may do to its call: the other side of `wit/task.wit`.

use super::wit::task::{
    CallStatus, FinalError, InputError, RecordError, StartError, StartOptions, Started,
};
use crate::protocol::{Answer, InputRequest, Level, RpcError};
use async_trait::async_trait;
use serde_json::Value;

/// The verbs of one call. The documentation of each is in `wit/task.wit`.
#[async_trait]
#[allow(missing_docs, reason = "documented in wit/task.wit")]
pub trait Verbs: Send + Sync {
    async fn start_task(&self, options: StartOptions) -> Result<Started, StartError>;
    async fn progress(
        &self,
        progress: f64,
        total: Option<f64>,
        message: Option<String>,
    ) -> Result<(), FinalError>;
    async fn status(&self) -> CallStatus;
    fn cancelled(&self) -> bool;
    async fn complete(&self, answer: Answer) -> Result<(), FinalError>;
    async fn fail(&self, error: RpcError) -> Result<(), FinalError>;
    /// Resolves when the call is cancelled.
    async fn cancellation(&self);
    /// Answers come in their form on the wire, already checked against their requests.
    async fn require_input(
        &self,
        requests: Vec<(String, InputRequest)>,
    ) -> Result<Vec<(String, Value)>, InputError>;
    async fn record(&self, key: String, value: Vec<u8>) -> Result<(), RecordError>;
    async fn recall(&self, key: String) -> Option<Vec<u8>>;
    /// A log line for the client; the server's log has it already.
    fn log(&self, level: Level, message: &str, fields: Option<&str>);
}
