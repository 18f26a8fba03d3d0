//! The verbs of the contract as a trait, so that a handler runs against a real server or a script.
//!
//! A verb here is the verb of `wit/task.wit`, with the same limits and errors; [`crate::Call`] is
//! what handlers use.

use crate::bindings::cofferdam::tool::task;
use crate::{
    CallStatus, FinalError, InputAnswer, InputError, InputRequest, RecordError, RpcError,
    StartError, Started, ToolResult,
};

/// What a call's verbs reach. A server in a component; [`crate::testing::Script`] in tests.
#[allow(missing_docs)]
pub trait Host {
    fn start_task(&self, options: &task::StartOptions) -> Result<Started, StartError>;
    fn progress(
        &self,
        progress: f64,
        total: Option<f64>,
        message: Option<&str>,
    ) -> Result<(), FinalError>;
    fn status(&self) -> CallStatus;
    fn cancelled(&self) -> bool;
    fn complete(&self, answer: &ToolResult) -> Result<(), FinalError>;
    fn fail(&self, error: &RpcError) -> Result<(), FinalError>;
    fn sleep(&self, milliseconds: u64) -> Result<(), FinalError>;
    fn require_input(
        &self,
        requests: &[(String, InputRequest)],
    ) -> Result<Vec<(String, InputAnswer)>, InputError>;
    fn record(&self, key: &str, value: &[u8]) -> Result<(), RecordError>;
    fn recall(&self, key: &str) -> Option<Vec<u8>>;
}

/// The server that runs this component.
pub(crate) struct Server;

impl Host for Server {
    fn start_task(&self, options: &task::StartOptions) -> Result<Started, StartError> {
        task::start_task(options)
    }

    fn progress(
        &self,
        progress: f64,
        total: Option<f64>,
        message: Option<&str>,
    ) -> Result<(), FinalError> {
        task::progress(progress, total, message)
    }

    fn status(&self) -> CallStatus {
        task::status()
    }

    fn cancelled(&self) -> bool {
        task::cancelled()
    }

    fn complete(&self, answer: &ToolResult) -> Result<(), FinalError> {
        task::complete(answer)
    }

    fn fail(&self, error: &RpcError) -> Result<(), FinalError> {
        task::fail(error)
    }

    fn sleep(&self, milliseconds: u64) -> Result<(), FinalError> {
        task::sleep(milliseconds)
    }

    fn require_input(
        &self,
        requests: &[(String, InputRequest)],
    ) -> Result<Vec<(String, InputAnswer)>, InputError> {
        task::require_input(requests)
    }

    fn record(&self, key: &str, value: &[u8]) -> Result<(), RecordError> {
        task::record(key, value)
    }

    fn recall(&self, key: &str) -> Option<Vec<u8>> {
        task::recall(key)
    }
}
