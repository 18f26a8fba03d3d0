//! The methods that clients of earlier revisions have.

use super::session::Session;
use crate::call::{Events, Question, Reply};
use crate::catalog::TaskSupport;
use crate::protocol::legacy::{result, tool};
use crate::protocol::{Headers, Level, Message, Params, RpcError, check_id, raw, trace};
use crate::server::call::ToolCall;
use crate::server::{Server, sees};
use crate::telemetry::TraceContext;
use crate::tenants::Caller;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

impl Server {
    pub(super) async fn legacy_method(
        &self,
        caller: &Caller,
        session: &Session,
        message: &Message<'_>,
        events: &Arc<Events>,
    ) -> Result<Value, RpcError> {
        let params: Params<'_> = match message.params {
            None => Params::default(),
            Some(params) => serde_json::from_str(params.get())
                .map_err(|error| RpcError::invalid_params(format!("Invalid params: {error}")))?,
        };
        match &*message.method {
            "ping" => Ok(json!({})),
            "logging/setLevel" => {
                self.sessions.set_level(session, level(message.params)?);
                Ok(json!({}))
            }
            "tools/list" => self.legacy_list(caller, session, &params),
            "tools/call" => self.legacy_call(caller, session, &params, events).await,
            _ => Err(RpcError::method_not_found()),
        }
    }

    fn legacy_list(
        &self,
        caller: &Caller,
        session: &Session,
        params: &Params<'_>,
    ) -> Result<Value, RpcError> {
        let catalog = self.catalog.now();
        let page = self.page(&catalog, params.cursor, |tool| {
            // What only runs as a task is not for them.
            sees(&caller.tenant, tool) && tool.task_support != TaskSupport::Required
        })?;
        let revision = session.handshake.revision;
        let tools = page.tools.iter();
        let tools = tools.map(|it| tool(&it.definition, revision));
        let mut list = json!({ "tools": tools.collect::<Vec<_>>() });
        if let Some(next) = page.next {
            list["nextCursor"] = next.into();
        }
        Ok(list)
    }

    async fn legacy_call(
        &self,
        caller: &Caller,
        session: &Session,
        params: &Params<'_>,
        events: &Arc<Events>,
    ) -> Result<Value, RpcError> {
        let meta = meta(params.meta)?;
        let mut answers = None;
        let mut state = None;
        loop {
            let call = ToolCall {
                name: params.name,
                arguments: params.arguments,
                input_responses: answers.as_deref(),
                request_state: state.as_deref(),
                features: session.handshake.features,
                progress_token: meta.progress_token,
                log_level: Some(session.level()),
                trace: meta.trace.clone(),
            };
            match self.reply(caller, call, &Headers(None), events).await? {
                Reply::Outcome(outcome) => {
                    let (outcome, revision) = (outcome?, session.handshake.revision);
                    let length = outcome.get().len();
                    return Ok(self.large.work(length, || result(&outcome, revision)).await);
                }
                Reply::Asked(question) => {
                    let Question {
                        input_requests,
                        request_state,
                        ..
                    } = *question;
                    let time = Duration::from_millis(self.settings.tasks.answer_ms);
                    let asked = session.ask(&input_requests, events);
                    let given = tokio::select! {
                        given = tokio::time::timeout(time, asked) => given,
                        () = self.stopping().cancelled() => {
                            return Err(RpcError::internal("The server stops; call again"));
                        }
                    };
                    let given = given.map_err(|_| {
                        let time = time.as_millis();
                        RpcError::internal(format!(
                            "The client did not answer in {time} ms (limit tasks.answer-ms)"
                        ))
                    })?;
                    answers = Some(raw(&given?));
                    state = Some(raw(&request_state));
                }
                Reply::Task(..) => {
                    return Err(RpcError::internal("The call became a task unasked"));
                }
            }
        }
    }
}

/// The parameter of `logging/setLevel`.
fn level(params: Option<&RawValue>) -> Result<Level, RpcError> {
    #[derive(Deserialize)]
    struct Wanted {
        level: Level,
    }
    let wanted = params.and_then(|params| serde_json::from_str::<Wanted>(params.get()).ok());
    let wanted = wanted.ok_or_else(|| RpcError::invalid_params("\"level\" must be a log level"))?;
    Ok(wanted.level)
}

/// What of a call's `_meta` means something in every revision.
struct CallMeta<'a> {
    progress_token: Option<&'a RawValue>,
    trace: Option<TraceContext>,
}

fn meta(meta: Option<&RawValue>) -> Result<CallMeta<'_>, RpcError> {
    #[derive(Default, Deserialize)]
    struct Meta<'a> {
        #[serde(borrow, rename = "progressToken")]
        progress_token: Option<&'a RawValue>,
        #[serde(borrow)]
        traceparent: Option<&'a RawValue>,
        #[serde(borrow)]
        tracestate: Option<&'a RawValue>,
    }
    let bad = |what: String| RpcError::invalid_params(format!("Invalid params: {what}"));
    let meta = match meta {
        None => Meta::default(),
        Some(meta) => {
            serde_json::from_str(meta.get()).map_err(|error| bad(format!("_meta: {error}")))?
        }
    };
    if let Some(Err(fault)) = meta.progress_token.map(check_id) {
        return Err(bad(format!("_meta.progressToken {fault}")));
    }
    Ok(CallMeta {
        progress_token: meta.progress_token,
        trace: trace(meta.traceparent, meta.tracestate),
    })
}
