//! `tools/call`: everything that is checked before a handler runs.

use super::{MethodResult, Server};
use crate::call::{Events, Reply, Session, SessionOptions, run};
use crate::catalog::TaskSupport;
use crate::protocol::{Answer, ClientFeatures, Headers, Request, RpcError, raw, success, text};
use crate::task::{Principal, TaskView};
use serde_json::Value;
use serde_json::value::RawValue;
use std::sync::Arc;

impl Server {
    pub(super) async fn call_tool(
        &self,
        caller: &Principal,
        request: &Request<'_>,
        headers: &Headers<'_>,
        events: &Arc<Events>,
    ) -> MethodResult {
        let name =
            request.params.name.and_then(text).ok_or_else(|| {
                RpcError::invalid_params("Invalid params: \"name\" must be a string")
            })?;
        let tool = self.catalog.load().tool(&name).cloned();
        let tool = tool
            .ok_or_else(|| RpcError::invalid_params(format!("Unknown tool: {}", shorten(&name))))?;
        let features = request.meta.features;
        if tool.task_support == TaskSupport::Required {
            if !features.contains(ClientFeatures::TASKS) {
                return Err(RpcError::missing(ClientFeatures::TASKS));
            }
            if self.tasks.is_none() {
                return Err(RpcError::internal(
                    "The tool only runs as a task, and this server offers no tasks (tasks.enabled)",
                ));
            }
        }

        let (arguments, value) = arguments(request.params.arguments)?;
        if !tool.header_params.is_empty() {
            let object = value.as_object().cloned().unwrap_or_default();
            headers.check_params(&tool.header_params, &object)?;
        }
        if let Err(reason) = tool.check_arguments(&value) {
            let answer = Answer::tool_error(format!("Invalid arguments: {reason}"));
            return Ok(success(request.id, raw(&answer)));
        }
        drop(value);

        let (session, reply) = Session::new(SessionOptions {
            tool,
            tasks: self.tasks.clone(),
            owner: caller.clone(),
            features,
            arguments,
            events: Arc::clone(events),
            progress_token: request.meta.progress_token.map(ToOwned::to_owned),
            log_level: request.meta.log_level,
        });
        let runtime = Arc::clone(&self.runtime);
        match run(runtime, session, reply, self.run_times(), self.runs.clone()).await {
            Reply::Outcome(Ok(result)) => Ok(success(request.id, result)),
            Reply::Outcome(Err(error)) => Err(error),
            Reply::Task(id, task) => Ok(success(request.id, TaskView::Created(id, &task))),
        }
    }
}

/// The arguments as they came and as a value. None are the empty object.
fn arguments(arguments: Option<&RawValue>) -> Result<(Box<RawValue>, Value), RpcError> {
    let Some(arguments) = arguments else {
        let empty = Value::Object(serde_json::Map::new());
        return Ok((raw(&empty), empty));
    };
    match serde_json::from_str(arguments.get()) {
        Ok(value @ Value::Object(_)) => Ok((arguments.to_owned(), value)),
        _ => Err(RpcError::invalid_params(
            "Invalid params: \"arguments\" must be an object",
        )),
    }
}

/// What a client sent, short enough to be sent back.
fn shorten(text: &str) -> &str {
    &text[..text.floor_char_boundary(128)]
}
