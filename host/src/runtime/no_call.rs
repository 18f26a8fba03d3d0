//! The verbs outside any call: while a component tells its tools, or is measured.
//!
//! Invariant: there is nothing to change, so each says that the call is over.

use super::verbs::{Changed, Halt, Verbs, Waiting};
use super::wit::task::{self, CallStatus, FinalError, InputError, RecordError, StartError};
use crate::protocol::{Answer, Level, RpcError};
use async_trait::async_trait;
use serde_json::Value;

/// The verbs outside any call: while a component tells its tools, or is measured.
pub struct NoCall;

#[async_trait]
impl Verbs for NoCall {
    async fn start_task(
        &self,
        _: task::StartOptions,
    ) -> Result<Result<task::Started, StartError>, Halt> {
        Ok(Err(StartError::Final))
    }

    async fn progress(&self, _: f64, _: Option<f64>, _: Option<String>) -> Result<(), FinalError> {
        Err(FinalError::Final)
    }

    async fn status(&self) -> CallStatus {
        CallStatus::Inline
    }

    fn cancelled(&self) -> bool {
        true
    }

    async fn complete(&self, _: Answer) -> Result<Result<(), FinalError>, Halt> {
        Ok(Err(FinalError::Final))
    }

    async fn fail(&self, _: RpcError) -> Result<Result<(), FinalError>, Halt> {
        Ok(Err(FinalError::Final))
    }

    async fn wait(&self, _: Waiting) -> Result<Result<(), FinalError>, Halt> {
        Ok(Err(FinalError::Final))
    }

    async fn require_input(
        &self,
        _: Vec<(String, Value)>,
    ) -> Result<Result<Vec<(String, Value)>, InputError>, Halt> {
        Ok(Err(InputError::Final))
    }

    async fn record(&self, _: String, _: Vec<u8>) -> Result<Result<(), RecordError>, Halt> {
        Ok(Err(RecordError::Final))
    }

    async fn flush(&self) -> Result<Result<(), FinalError>, Halt> {
        Ok(Err(FinalError::Final))
    }

    async fn recall(&self, _: String) -> Result<Option<Vec<u8>>, Halt> {
        Ok(None)
    }

    fn changed(&self, _: Changed<'_>) {}

    fn log(&self, _: Level, _: &str, _: Option<&str>) {}
}
