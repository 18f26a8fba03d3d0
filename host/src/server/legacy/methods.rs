//! The methods that clients of earlier revisions have.

use super::session::Session;
use crate::call::{Events, Question, Reply, unknown_resource};
use crate::catalog::{Sight as _, TaskSupport};
use crate::protocol::legacy::{other_result, result, tool};
use crate::protocol::{
    Headers, Kind, Level, Message, Params, RpcError, check_id, raw, string, trace,
};
use crate::server::Server;
use crate::server::call::Asking;
use crate::server::sight::find;
use crate::server::tools::{List, page};
use crate::telemetry::TraceContext;
use crate::tenants::Caller;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

impl Server {
    pub(super) async fn legacy_method(
        &self,
        caller: &Caller,
        session: &Arc<Session>,
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
            "tools/list" => self.legacy_tools(caller, session, &params),
            "tools/call" => {
                let called = Called::Tool(params.name);
                self.legacy_call(caller, session, &params, called, events)
                    .await
            }
            "prompts/list" => {
                let catalog = self.catalog.now();
                let page = self.page_of_prompts(&catalog, caller, params.cursor)?;
                let items: Vec<_> = page.items.iter().map(|it| &*it.definition).collect();
                list("prompts", &items, page.next)
            }
            "prompts/get" => {
                let called = Called::Prompt(params.name);
                self.legacy_call(caller, session, &params, called, events)
                    .await
            }
            "resources/list" => {
                let asking = asking(session, &params)?;
                let page = self.resources(caller, params.cursor, &asking, events);
                let page = Box::pin(page).await?;
                list("resources", &page.items, page.next)
            }
            "resources/templates/list" => {
                let catalog = self.catalog.now();
                let page = self.page_of_templates(&catalog, caller, params.cursor)?;
                let items: Vec<_> = page.items.iter().map(|it| it.definition()).collect();
                list("resourceTemplates", &items, page.next)
            }
            "resources/read" => {
                let called = Called::Resource(params.uri);
                self.legacy_call(caller, session, &params, called, events)
                    .await
            }
            "resources/subscribe" | "resources/unsubscribe" => {
                self.offered(&caller.tenant, Kind::Resources)?;
                let uri = params
                    .uri
                    .ok_or_else(|| RpcError::invalid_params("Missing uri"))?;
                let uri = string("uri", uri)?;
                if message.method == "resources/unsubscribe" {
                    session.unsubscribe(&uri);
                    self.sessions.remember(session);
                    return Ok(json!({}));
                }
                let known = find(&self.catalog.now(), &caller.tenant, &uri).is_some();
                if !known {
                    return Err(unknown_resource(&uri));
                }
                session.subscribe(&uri)?;
                self.sessions.remember(session);
                Ok(json!({}))
            }
            "completion/complete" => {
                let called = Called::Completion;
                self.legacy_call(caller, session, &params, called, events)
                    .await
            }
            _ => Err(RpcError::method_not_found()),
        }
    }

    fn legacy_tools(
        &self,
        caller: &Caller,
        session: &Session,
        params: &Params<'_>,
    ) -> Result<Value, RpcError> {
        let catalog = self.catalog.now();
        let page = page(params.cursor, |cursor| {
            catalog.page(cursor, self.settings.server.page_size, |tool| {
                // What only runs as a task is not for them.
                caller.tenant.tool(tool) && tool.task_support != TaskSupport::Required
            })
        })?;
        let revision = session.handshake.revision;
        let tools = page.items.iter().map(|it| tool(&it.definition, revision));
        list("tools", &tools.collect::<Vec<_>>(), page.next)
    }

    async fn legacy_call(
        &self,
        caller: &Caller,
        session: &Session,
        params: &Params<'_>,
        called: Called<'_>,
        events: &Arc<Events>,
    ) -> Result<Value, RpcError> {
        let mut answers = None;
        let mut state = None;
        loop {
            let call = Asking {
                input_responses: answers.as_deref(),
                request_state: state.as_deref(),
                ..asking(session, params)?
            };
            let reply = match called {
                Called::Tool(name) => {
                    let headers = Headers(None);
                    self.tool_reply(caller, name, call, &headers, events).await
                }
                Called::Prompt(name) => {
                    Box::pin(self.prompt_reply(caller, name, call, events)).await
                }
                Called::Resource(uri) => Box::pin(self.read_reply(caller, uri, call, events)).await,
                Called::Completion => {
                    Box::pin(self.complete_reply(caller, params, call, events)).await
                }
            };
            match reply? {
                Reply::Outcome(outcome) => {
                    let (outcome, revision) = (outcome?, session.handshake.revision);
                    let length = outcome.get().len();
                    let is_tool = matches!(called, Called::Tool(_));
                    let reshape = move || match is_tool {
                        true => result(&outcome, revision),
                        false => other_result(&outcome, revision),
                    };
                    return Ok(self.work(caller, length, reshape).await);
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

/// What is called.
#[derive(Clone, Copy)]
enum Called<'a> {
    Tool(Option<&'a RawValue>),
    Prompt(Option<&'a RawValue>),
    Resource(Option<&'a RawValue>),
    Completion,
}

/// A call that is made for the first time.
fn asking<'a>(session: &Session, params: &Params<'a>) -> Result<Asking<'a>, RpcError> {
    let meta = meta(params.meta)?;
    Ok(Asking {
        arguments: params.arguments,
        input_responses: None,
        request_state: None,
        features: session.handshake.features,
        progress_token: meta.progress_token,
        log_level: Some(session.level()),
        trace: meta.trace,
    })
}

fn list(
    member: &'static str,
    items: &impl Serialize,
    next: Option<String>,
) -> Result<Value, RpcError> {
    let list = List {
        member,
        items,
        next,
        cache: None,
    };
    serde_json::to_value(list).map_err(|error| RpcError::internal(error.to_string()))
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
