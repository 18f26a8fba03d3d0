//! `tools/call`: everything that is checked before a handler runs.

use super::discover::Interim;
use super::{MethodResult, Server, sees};
use crate::call::{
    Call, Events, Question, Reply, Resumed, SealedCall, Session, SessionOptions, begin,
};
use crate::catalog::{TaskSupport, Tool};
use crate::metrics::{CallCounters, Outcome};
use crate::protocol::{
    Answer, ClientFeatures, Headers, Level, Request, RpcError, object, raw, string, success,
};
use crate::task::{TaskView, now};
use crate::telemetry::TraceContext;
use crate::tenants::Caller;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use std::sync::Arc;

/// A `tools/call` of any revision.
pub(super) struct ToolCall<'a> {
    pub(super) name: Option<&'a RawValue>,
    pub(super) arguments: Option<&'a RawValue>,
    pub(super) input_responses: Option<&'a RawValue>,
    pub(super) request_state: Option<&'a RawValue>,
    /// What the client declared.
    pub(super) features: ClientFeatures,
    pub(super) progress_token: Option<&'a RawValue>,
    pub(super) log_level: Option<Level>,
    /// Where the client's trace goes on.
    pub(super) trace: Option<TraceContext>,
}

impl<'a> ToolCall<'a> {
    fn of(request: &Request<'a>) -> Self {
        let Request { params, meta, .. } = request;
        Self {
            name: params.name,
            arguments: params.arguments,
            input_responses: params.input_responses,
            request_state: params.request_state,
            features: meta.features,
            progress_token: meta.progress_token,
            log_level: meta.log_level,
            trace: meta.trace.clone(),
        }
    }
}

impl Server {
    pub(super) async fn call_tool(
        &self,
        caller: &Caller,
        request: &Request<'_>,
        headers: &Headers<'_>,
        events: &Arc<Events>,
    ) -> MethodResult {
        let call = ToolCall::of(request);
        let id = request.id;
        Ok(match self.reply(caller, call, headers, events).await? {
            Reply::Outcome(result) => success(id, result?),
            Reply::Task(task_id, task) => success(id, TaskView::Created(task_id, &task)),
            Reply::Asked(question) => success(id, Interim::new(*question)),
        })
    }

    /// Calls a tool, and counts what it came to.
    pub(super) async fn reply(
        &self,
        caller: &Caller,
        mut call: ToolCall<'_>,
        headers: &Headers<'_>,
        events: &Arc<Events>,
    ) -> Result<Reply, RpcError> {
        let name = call.name;
        let name = name.ok_or_else(|| RpcError::invalid_params("Missing name"))?;
        let name = string("name", name)?;
        // A tool that the caller does not see is none.
        let catalog = self.catalog.now();
        let tool = catalog.tool(&name);
        let tool = tool.filter(|tool| sees(&caller.tenant, tool)).cloned();
        drop(catalog);
        let tool = tool
            .ok_or_else(|| RpcError::invalid_params(format!("Unknown tool: {}", shorten(&name))))?;
        let of_tool = self.driver.metrics.tool(&tool.name);
        let counters = CallCounters::new(of_tool, Arc::clone(caller.tenant.metrics()));
        let counting = counters.begin();
        let mut span = self.driver.telemetry.call(call.trace.as_ref(), &tool.name);
        // What comes of the call goes on from its own span.
        call.trace = span.context(call.trace.as_ref());
        let call = self.call(caller, &call, headers, events, tool, counters);
        let (outcome, reply) = match call.await {
            Ok((outcome, reply)) => (outcome, Ok(reply)),
            Err(error) => (Outcome::Error, Err(error)),
        };
        counting.end(outcome);
        span.set("cofferdam.outcome", outcome.name());
        if matches!(outcome, Outcome::Error | Outcome::ToolError) {
            span.fail(outcome.name());
        }
        reply
    }

    /// Calls a tool that there is, and tells what it came to.
    async fn call(
        &self,
        caller: &Caller,
        request: &ToolCall<'_>,
        headers: &Headers<'_>,
        events: &Arc<Events>,
        tool: Arc<Tool>,
        counters: CallCounters,
    ) -> Result<(Outcome, Reply), RpcError> {
        let state = request.request_state;
        let state = state
            .map(|state| string("requestState", state))
            .transpose()?;
        let tool = match &state {
            Some(state) => self.version(caller, tool, request.arguments, state).await?,
            None => tool,
        };
        let features = request.features;
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

        let arguments = request.arguments;
        let length = arguments.map_or(0, |arguments| arguments.get().len());
        let checked = self.large.work(length, || check(arguments, &tool, headers));
        let arguments = match checked.await? {
            Ok(arguments) => arguments,
            Err(answer) => return Ok((Outcome::ToolError, Reply::Outcome(Ok(raw(&answer))))),
        };

        let call = Call::of(&caller.principal, &tool, &arguments);
        let responses = request.input_responses;
        let length = responses.map_or(0, |responses| responses.get().len());
        let read = || responses.map(|responses| object("inputResponses", responses));
        let responses = self.large.work(length, read).await.transpose()?;
        let responses = responses.unwrap_or_default();
        let (resumed, offered) = match &state {
            None => (self.begin(caller, &tool, features), responses),
            Some(state) => match self.go_on(&call, features, state, &responses)? {
                Ok(resumed) => (resumed, Map::new()),
                Err(question) => return Ok((Outcome::Asked, Reply::Asked(Box::new(question)))),
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
            progress_token: request.progress_token.map(ToOwned::to_owned),
            log_level: request.log_level,
            sealer: Arc::clone(&self.sealer),
            metrics: Arc::clone(&self.driver.metrics),
            counters,
            answered: resumed.answered,
            offered,
            times: self.call_times(),
            origin: self.origin.clone(),
            trace: request.trace.clone(),
        };
        let (session, reply) = Session::new(options, resumed.journal);
        let reply = self.driver.run(Arc::clone(&session), reply).await;
        let outcome = match &reply {
            Reply::Outcome(Ok(_)) if session.is_tool_error() => Outcome::ToolError,
            Reply::Outcome(Ok(_)) => Outcome::Result,
            Reply::Outcome(Err(_)) => Outcome::Error,
            Reply::Task(..) => Outcome::Task,
            Reply::Asked(_) => Outcome::Asked,
        };
        Ok((outcome, reply))
    }

    /// The version of a tool that a call began with, which asked its client before another came.
    async fn version(
        &self,
        caller: &Caller,
        newer: Arc<Tool>,
        arguments: Option<&RawValue>,
        state: &str,
    ) -> Result<Arc<Tool>, RpcError> {
        let digest = SealedCall::digest(state);
        if digest == newer.component.digest {
            return Ok(newer);
        }
        let none = raw(&Map::new());
        let call = Call {
            owner: &caller.principal,
            tool: &newer.name,
            digest,
            arguments: arguments.unwrap_or(&none),
        };
        // Nothing is loaded because a client says so.
        let sealed = SealedCall::open(&self.sealer, &call, state, now())?;
        let version = self
            .catalog
            .version(digest, &sealed.tool, &newer.name, &sealed.source);
        version
            .await
            .map_err(|error| RpcError::internal(error.to_string()))
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
        state: &str,
        responses: &Map<String, Value>,
    ) -> Result<Result<Resumed, Question>, RpcError> {
        let mut sealed = SealedCall::open(&self.sealer, call, state, now())?;
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

/// The arguments as they came, if they fit the tool; or its answer that they do not. None are the
/// empty object.
fn check(
    arguments: Option<&RawValue>,
    tool: &Tool,
    headers: &Headers<'_>,
) -> Result<Result<Box<RawValue>, Answer>, RpcError> {
    let members = arguments.map(|arguments| object("arguments", arguments));
    let members = members.transpose()?.unwrap_or_default();
    headers.check_params(&tool.header_params, &members)?;
    let value = Value::Object(members);
    if let Err(reason) = tool.check_arguments(&value) {
        let reason = format!("Invalid arguments: {reason}");
        return Ok(Err(Answer::tool_error(reason)));
    }
    Ok(Ok(arguments.map_or_else(|| raw(&value), ToOwned::to_owned)))
}

/// What a client sent, short enough to be sent back.
fn shorten(text: &str) -> &str {
    &text[..text.floor_char_boundary(128)]
}
