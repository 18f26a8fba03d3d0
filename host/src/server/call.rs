//! Calls of what components offer: everything that is checked before a handler runs.
//!
//! Invariant: `tools/call`, `prompts/get`, `resources/read` and what else calls a component are one path;
//! what is called is found by its method's own file, and from then on a [`Target`].

use super::discover::Interim;
use super::{MethodResult, Server};
use crate::call::{
    Call, Events, Question, Reply, Resumed, SealedCall, Session, SessionOptions, Target, begin,
};
use crate::catalog::{Component, Sight as _, TaskSupport, Tool};
use crate::metrics::{CallCounters, Counting, Outcome};
use crate::protocol::{
    Answer, ClientFeatures, Headers, Level, Request, RpcError, object, raw, string, success,
};
use crate::task::{TaskView, now};
use crate::telemetry::{Span, TraceContext};
use crate::tenants::Caller;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::sync::Arc;

/// A call of any revision.
pub(super) struct Asking<'a> {
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

impl<'a> Asking<'a> {
    pub(super) fn of(request: &Request<'a>) -> Self {
        let Request { params, meta, .. } = request;
        Self {
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

/// What is to run.
pub(super) struct Prepared<'a> {
    pub(super) target: Target,
    /// A JSON object, which fits it.
    pub(super) arguments: Box<RawValue>,
    /// What the client brought back.
    pub(super) state: Option<Cow<'a, str>>,
    pub(super) counters: CallCounters,
}

impl Prepared<'_> {
    /// A call without arguments, to which nothing was brought back.
    pub(super) fn new(target: Target, counters: CallCounters) -> Self {
        Self {
            target,
            arguments: raw(&Map::new()),
            state: None,
            counters,
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
        let (name, call) = (request.params.name, Asking::of(request));
        let reply = self.tool_reply(caller, name, call, headers, events).await?;
        answer(request.id, reply)
    }

    /// Calls a tool, and counts what it came to.
    pub(super) async fn tool_reply(
        &self,
        caller: &Caller,
        name: Option<&RawValue>,
        mut call: Asking<'_>,
        headers: &Headers<'_>,
        events: &Arc<Events>,
    ) -> Result<Reply, RpcError> {
        let name = name.ok_or_else(|| RpcError::invalid_params("Missing name"))?;
        let name = string("name", name)?;
        // A tool that the caller does not see is none.
        let catalog = self.catalog.now();
        let tool = catalog.tool(&name);
        let tool = tool.filter(|tool| caller.tenant.tool(tool)).cloned();
        drop(catalog);
        let tool = tool
            .ok_or_else(|| RpcError::invalid_params(format!("Unknown tool: {}", shorten(&name))))?;
        let (counters, counted) = self.count(caller, "tools/call", &tool.name, &mut call.trace);
        let call = self.call(caller, &call, headers, events, tool, counters);
        counted.end(call.await)
    }

    /// Counts a call, and traces it: what comes of it goes on from its own span.
    pub(super) fn count(
        &self,
        caller: &Caller,
        method: &'static str,
        label: &str,
        trace: &mut Option<TraceContext>,
    ) -> (CallCounters, Counted) {
        let of_label = self.driver.metrics.tool(label);
        let counters = CallCounters::new(of_label, Arc::clone(caller.tenant.metrics()));
        let counting = counters.begin();
        let span = self.driver.telemetry.call(trace.as_ref(), method, label);
        *trace = span.context(trace.as_ref());
        (counters, Counted { counting, span })
    }

    /// Calls a tool that there is, and tells what it came to.
    async fn call(
        &self,
        caller: &Caller,
        request: &Asking<'_>,
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
        let arguments = match check(arguments, &tool, headers)? {
            Ok(arguments) => arguments,
            Err(answer) => return Ok((Outcome::ToolError, Reply::Outcome(Ok(raw(&answer))))),
        };

        let prepared = Prepared {
            target: Target::Tool(tool),
            arguments,
            state,
            counters,
        };
        self.run(caller, request, events, prepared).await
    }

    /// Runs a call of something that there is, whose arguments fit it, and tells what it came to.
    pub(super) async fn run(
        &self,
        caller: &Caller,
        request: &Asking<'_>,
        events: &Arc<Events>,
        prepared: Prepared<'_>,
    ) -> Result<(Outcome, Reply), RpcError> {
        let Prepared {
            target,
            arguments,
            state,
            counters,
        } = prepared;
        let features = request.features;
        let call = Call::of(&caller.principal, &target, &arguments);
        let responses = request.input_responses;
        let responses = responses.map(|responses| object("inputResponses", responses));
        let responses = responses.transpose()?.unwrap_or_default();
        let (resumed, offered) = match &state {
            None => (self.begin(caller, &target, features), responses),
            Some(state) => match self.go_on(&call, features, state, &responses)? {
                Ok(resumed) => (resumed, Map::new()),
                Err(question) => return Ok((Outcome::Asked, Reply::Asked(Box::new(question)))),
            },
        };
        let options = SessionOptions {
            target,
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
        let name = ("tools/call", &*newer.name);
        let sealed = self.other_version(caller, &newer.component, name, arguments, state)?;
        let Some(sealed) = sealed else {
            return Ok(newer);
        };
        let digest = SealedCall::digest(state);
        let version = self
            .catalog
            .version(digest, &sealed.tool, &newer.name, &sealed.source);
        version
            .await
            .map_err(|error| RpcError::internal(error.to_string()))
    }

    /// What a client brought back of a call that began with another version of what serves it now; `None`
    /// if it began with this one.
    pub(super) fn other_version(
        &self,
        caller: &Caller,
        newer: &Component,
        (method, name): (&'static str, &str),
        arguments: Option<&RawValue>,
        state: &str,
    ) -> Result<Option<SealedCall>, RpcError> {
        let digest = SealedCall::digest(state);
        if digest == newer.digest {
            return Ok(None);
        }
        let none = raw(&Map::new());
        let call = Call {
            owner: &caller.principal,
            method,
            name,
            digest,
            arguments: arguments.unwrap_or(&none),
        };
        // Nothing is loaded because a client says so.
        Ok(Some(SealedCall::open(&self.sealer, &call, state, now())?))
    }

    /// A call that begins.
    fn begin(&self, caller: &Caller, target: &Target, features: ClientFeatures) -> Resumed {
        let limits = caller.tenant.bounded(target.component().limits);
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

/// A call that is counted and traced.
pub(super) struct Counted {
    counting: Counting,
    span: Span,
}

impl Counted {
    /// It came to this.
    pub(super) fn end(
        mut self,
        result: Result<(Outcome, Reply), RpcError>,
    ) -> Result<Reply, RpcError> {
        let (outcome, reply) = match result {
            Ok((outcome, reply)) => (outcome, Ok(reply)),
            Err(error) => (Outcome::Error, Err(error)),
        };
        self.counting.end(outcome);
        self.span.set("cofferdam.outcome", outcome.name());
        if matches!(outcome, Outcome::Error | Outcome::ToolError) {
            self.span.fail(outcome.name());
        }
        reply
    }
}

/// What a request that called something is answered with.
pub(super) fn answer(id: &RawValue, reply: Reply) -> MethodResult {
    Ok(match reply {
        Reply::Outcome(result) => success(id, result?),
        Reply::Task(task_id, task) => success(id, TaskView::Created(task_id, &task)),
        Reply::Asked(question) => success(id, Interim::new(*question)),
    })
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
pub(super) fn shorten(text: &str) -> &str {
    &text[..text.floor_char_boundary(128)]
}
