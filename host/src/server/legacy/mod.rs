//! Clients of revisions before 2026-07-28: `initialize` once, then a session.
//!
//! Invariants: their calls run as those of a client that declared no tasks, through the same code; a
//! question goes out as a request on the stream of the call, and the call goes on by replay when its
//! answer comes, as it would with `requestState`. A request that says its revision itself is none of
//! these, whatever its headers say.

mod methods;
mod pipe;
mod running;
mod session;
mod sessions;

pub use pipe::Pipe;
pub(super) use running::Entered;
pub(super) use sessions::Sessions;

use self::session::Session;
use super::{Response, Server, Via, refuse};
use crate::call::Events;
use crate::catalog::What;
use crate::places::Place;
use crate::protocol::legacy::{Handshake, Revision, handshake, is_modern};
use crate::protocol::{Code, Incoming, Kind, Message, RpcError, failure, notification, success};
use crate::tenants::Caller;
use hyper::header::HeaderMap;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::pin::pin;
use std::sync::Arc;

/// The header that names a session.
pub(crate) const SESSION_HEADER: &str = "mcp-session-id";

/// The header that repeats the revision that was agreed on.
const VERSION_HEADER: &str = "mcp-protocol-version";

/// True if a message is one of a client of an earlier revision.
pub(super) fn is_meant(via: &Via, incoming: &Incoming<'_>) -> bool {
    let (begins, params) = match incoming {
        Incoming::Message(message) => (message.method == "initialize", message.params),
        Incoming::Response(_) => (false, None),
    };
    let goes_on = || match via {
        Via::Http(headers) => headers.contains_key(SESSION_HEADER) || names_revision(headers),
        Via::Stdio(pipe) => pipe.is_legacy(),
    };
    (begins || goes_on()) && !is_modern(params)
}

fn names_revision(headers: &HeaderMap) -> bool {
    let version = headers.get(VERSION_HEADER);
    let version = version.and_then(|version| version.to_str().ok());
    version.is_some_and(|version| Revision::from_name(version).is_some())
}

impl Server {
    /// Answers a message of a client of an earlier revision.
    pub(super) async fn legacy(
        &self,
        caller: &Caller,
        via: &Via,
        incoming: Incoming<'_>,
        events: &Arc<Events>,
    ) -> Response {
        if let Incoming::Message(message) = &incoming
            && message.method == "initialize"
            && let Some(id) = message.id
        {
            return self.initialize(caller, via, id, message.params);
        }
        let session = match via {
            Via::Http(headers) => self.session(caller, headers),
            Via::Stdio(pipe) => pipe.session().cloned().ok_or_else(not_begun),
        };
        let session = match session {
            Ok(session) => session,
            Err(refusal) => {
                return match incoming {
                    Incoming::Message(Message { id, .. }) => refusal.answer(id),
                    Incoming::Response(_) => refusal.answer(None),
                };
            }
        };
        let message = match incoming {
            Incoming::Message(message) => message,
            Incoming::Response(response) => {
                session.answered(&response);
                return Response::accepted();
            }
        };
        let Some(id) = message.id else {
            session.running.notified(&message);
            return Response::accepted();
        };
        let request = match session.running.enter(id) {
            Ok(request) => request,
            Err(error) => return refuse(Some(id), &error),
        };
        via.begun().await;
        let work = pin!(self.legacy_method(caller, &session, &message, events));
        let Some(result) = request.unless_cancelled(work).await else {
            return Response::accepted();
        };
        in_band(id, result)
    }

    fn initialize(
        &self,
        caller: &Caller,
        via: &Via,
        id: &RawValue,
        params: Option<&RawValue>,
    ) -> Response {
        let begun = handshake(params).and_then(|said| {
            let session = self.begin_session(caller, via, said)?;
            let capabilities = self.capabilities(&caller.tenant);
            Ok((said.result(&capabilities), session))
        });
        match begun {
            Ok((result, session)) => Response {
                session,
                ..in_band(id, Ok(result))
            },
            Err(error) => in_band(id, Err(error)),
        }
    }

    fn begin_session(
        &self,
        caller: &Caller,
        via: &Via,
        said: Handshake,
    ) -> Result<Option<String>, RpcError> {
        match via {
            Via::Http(_) => {
                let id = Sessions::begin(&self.sealer, &caller.principal, said);
                id.map(Some)
                    .ok_or_else(|| RpcError::internal("The session cannot be sealed"))
            }
            Via::Stdio(pipe) => {
                let session = Session::new(None, said, Arc::clone(pipe.running()), None);
                let begun = pipe.begin(session);
                begun.then_some(None).ok_or_else(|| {
                    RpcError::new(Code::InvalidRequest, "The session has begun already")
                })
            }
        }
    }

    /// The session that headers name.
    fn session(&self, caller: &Caller, headers: &HeaderMap) -> Result<Arc<Session>, NoSession> {
        let id = headers.get(SESSION_HEADER).ok_or_else(not_begun)?;
        let id = id.to_str().map_err(|_| NoSession::unknown())?;
        let found = self.sessions.find(&self.sealer, &caller.principal, id);
        let session = found.ok_or_else(NoSession::unknown)?;
        let agreed = session.handshake.revision.name();
        match headers.get(VERSION_HEADER) {
            Some(version) if version != agreed => Err(NoSession {
                status: 400,
                reason: format!("MCP-Protocol-Version is not that of the session, {agreed}"),
            }),
            _ => Ok(session),
        }
    }

    /// The stream of the session that headers name, with its places.
    ///
    /// # Errors
    /// How the request is to be answered: there is no such session of this caller's, or too many streams
    /// are open.
    pub(crate) fn session_stream(
        &self,
        caller: &Caller,
        headers: &HeaderMap,
    ) -> Result<SessionStream, Response> {
        let session = self.session(caller, headers);
        let session = session.map_err(|refusal| refusal.answer(None))?;
        let places = self.places(&caller.tenant);
        let places = places.map_err(|error| Response::new(503, failure(None, &error)))?;
        Ok(SessionStream {
            session,
            _places: Some(places),
        })
    }

    /// Tells a client of an earlier revision what changed of its lists, and of the resources that it
    /// subscribed to, until the server stops or nobody takes it.
    pub(crate) async fn tell_changes(
        &self,
        caller: &Caller,
        stream: SessionStream,
        events: &Events,
    ) {
        let tenant = &caller.tenant;
        let mut seen = self.seen(tenant);
        let listener = Arc::new(self.catalog.updates().listen());
        stream.session.hears(&listener);
        let mut last = None;
        let changed = |kind: Kind| notification(kind.changed(), json!({}));
        loop {
            let messages: Vec<_> = tokio::select! {
                () = self.stopping().cancelled() => return,
                kinds = seen.changed() => kinds.into_iter().map(changed).collect(),
                updates = listener.next(&mut last) => {
                    let updates = updates.into_iter().filter(|it| self.concerns(tenant, it));
                    let message = |what| match what {
                        What::List(kind) => changed(kind),
                        What::Resource(uri) => {
                            notification("notifications/resources/updated", json!({ "uri": uri }))
                        }
                    };
                    updates.map(|it| message(it.what)).collect()
                }
            };
            for message in messages {
                if events.send(message).await.is_err() {
                    return;
                }
            }
        }
    }
}

/// An error is a response like any other: the status tells of the transport alone.
fn in_band(id: &RawValue, result: Result<Value, RpcError>) -> Response {
    Response::new(
        200,
        match result {
            Ok(result) => success(id, result),
            Err(RpcError {
                code,
                message,
                data,
            }) => {
                let code = match code {
                    // What it was until 2026-07-28.
                    Code::UnknownResource => Code::Tool(-32002),
                    other => other,
                };
                failure(
                    Some(id),
                    &RpcError {
                        code,
                        message,
                        data,
                    },
                )
            }
        },
    )
}

/// Where the client of a session hears what nobody asked for.
pub(crate) struct SessionStream {
    session: Arc<Session>,
    _places: Option<(Place, Place)>,
}

impl SessionStream {
    /// That of a pipe, which takes no place; none before the client began.
    pub(crate) fn of(pipe: &Pipe) -> Option<Self> {
        let session = pipe.session().cloned()?;
        Some(Self {
            session,
            _places: None,
        })
    }
}

/// Why a message belongs to no session.
struct NoSession {
    status: u16,
    reason: String,
}

impl NoSession {
    /// It may be another caller's; that makes no difference.
    fn unknown() -> Self {
        Self {
            status: 404,
            reason: "There is no such session; send initialize".to_owned(),
        }
    }

    fn answer(self, id: Option<&RawValue>) -> Response {
        let error = RpcError::new(Code::InvalidRequest, self.reason);
        Response::new(self.status, failure(id, &error))
    }
}

fn not_begun() -> NoSession {
    NoSession {
        status: 400,
        reason:
            "Missing Mcp-Session-Id; send initialize first, or the metadata of 2026-07-28 with \
                 every request"
                .to_owned(),
    }
}
