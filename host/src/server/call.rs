//! `tools/call`: everything that is checked before a handler runs.

use super::discover::Interim;
use super::{MethodResult, Server};
use crate::call::{
    Call, Events, Question, Reply, Resumed, SealedCall, Session, SessionOptions, begin,
};
use crate::catalog::{TaskSupport, Tool};
use crate::protocol::{Answer, ClientFeatures, Headers, Request, RpcError, raw, success, text};
use crate::task::{TaskView, now};
use crate::tenants::Caller;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use std::sync::Arc;

impl Server {
    pub(super) async fn call_tool(
        &self,
        caller: &Caller,
        request: &Request<'_>,
        headers: &Headers<'_>,
        events: &Arc<Events>,
    ) -> MethodResult {
        let name =
            request.params.name.and_then(text).ok_or_else(|| {
                RpcError::invalid_params("Invalid params: \"name\" must be a string")
            })?;
        // A tool that the caller does not see is none.
        let seen = caller.tenant.sees(&name);
        let tool = self.catalog.load().tool(&name).filter(|_| seen).cloned();
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

        let call = Call {
            owner: &caller.principal,
            tool: &tool,
            arguments: &arguments,
        };
        let responses = responses(request.params.input_responses)?;
        let (resumed, offered) = match request.params.request_state {
            None => (self.begin(caller, &tool, features), responses),
            Some(state) => match self.go_on(&call, features, state, &responses)? {
                Ok(resumed) => (resumed, Map::new()),
                Err(question) => return Ok(success(request.id, Interim::new(question))),
            },
        };
        let options = SessionOptions {
            tool,
            tasks: self.tasks.clone(),
            owner: caller.principal.clone(),
            tenant: Arc::clone(&caller.tenant),
            features: resumed.features,
            client: features,
            arguments,
            setup: resumed.setup,
            events: Arc::clone(events),
            progress_token: request.meta.progress_token.map(ToOwned::to_owned),
            log_level: request.meta.log_level,
            sealer: Arc::clone(&self.sealer),
            answered: resumed.answered,
            offered,
            times: self.call_times(),
            origin: self.origin.clone(),
        };
        let (session, reply) = Session::new(options, resumed.journal);
        match self.driver.run(session, reply).await {
            Reply::Outcome(Ok(result)) => Ok(success(request.id, result)),
            Reply::Outcome(Err(error)) => Err(error),
            Reply::Task(id, task) => Ok(success(request.id, TaskView::Created(id, &task))),
            Reply::Asked(question) => Ok(success(request.id, Interim::new(*question))),
        }
    }

    /// A call that begins.
    fn begin(&self, caller: &Caller, tool: &Tool, features: ClientFeatures) -> Resumed {
        let limits = caller.tenant.bounded(tool.component.limits);
        let (setup, journal) = begin(limits, &self.origin);
        Resumed {
            features,
            setup,
            journal,
            answered: Default::default(),
        }
    }

    /// A call that asked its client before and was brought back; or what is still to be answered.
    fn go_on(
        &self,
        call: &Call<'_>,
        client: ClientFeatures,
        state: &RawValue,
        responses: &Map<String, Value>,
    ) -> Result<Result<Resumed, Question>, RpcError> {
        let state = text(state).ok_or_else(|| {
            RpcError::invalid_params("Invalid params: \"requestState\" must be a string")
        })?;
        let mut sealed = SealedCall::open(&self.sealer, call, &state, now())?;
        if !sealed.answer(responses)? {
            let missing = sealed.needed() - client;
            if !missing.is_empty() {
                return Err(RpcError::missing(missing));
            }
            return Ok(Err(sealed.question(&self.sealer, call)?));
        }
        let resumed = sealed.resume(&self.origin);
        Ok(Ok(
            resumed.map_err(|fault| RpcError::internal(fault.to_string()))?
        ))
    }
}

/// The client's answers. None are the empty object.
fn responses(responses: Option<&RawValue>) -> Result<Map<String, Value>, RpcError> {
    match responses.map(|raw| serde_json::from_str(raw.get())) {
        None => Ok(Map::new()),
        Some(Ok(Value::Object(responses))) => Ok(responses),
        Some(_) => Err(RpcError::invalid_params(
            "Invalid params: \"inputResponses\" must be an object",
        )),
    }
}

/// The arguments as they came and as a value. None are the empty object.
fn arguments(arguments: Option<&RawValue>) -> Result<(Box<RawValue>, Value), RpcError> {
    let Some(arguments) = arguments else {
        let empty = Value::Object(Map::new());
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
