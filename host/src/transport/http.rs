//! Streamable HTTP on hyper (MCP 2026-07-28, transports).
//!
//! Invariant: whether the answer is JSON or a stream is decided as late as possible: it is JSON,
//! with the status of its error, unless something was streamed before it. A result is a stream of one
//! event for a client that prefers one.

use super::body::{EventStream, ResponseBody, event};
use super::cors;
use super::gate::{self, Accepts, Kind, Refusal};
use super::patience::Patient;
use super::receive::{Fault, Full, Room, pass_over, receive};
use crate::auth::Refused;
use crate::call::Events;
use crate::limits::{RECEIVE_TIME, SEND_TIME, ServerLimits};
use crate::metrics::Limit;
use crate::places::Place;
use crate::protocol::{Code, RpcError, failure};
use crate::server::{Answering, Response as Reply, SESSION_HEADER, Server, Via};
use crate::tenants::{Caller, Tenant};
use bytes::Bytes;
use hyper::body::Incoming;
use hyper::header::{
    ALLOW, CACHE_CONTROL, CONNECTION, CONTENT_TYPE, HeaderMap, HeaderValue, RETRY_AFTER,
    WWW_AUTHENTICATE,
};
use hyper::http::request::Parts;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use std::borrow::Cow;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_util::task::TaskTracker;

/// Why the server does not listen.
#[derive(Debug, thiserror::Error)]
#[error("cannot listen on {address}; choose another address with --listen")]
pub struct ListenError {
    address: String,
    source: std::io::Error,
}

/// A bound endpoint.
pub struct HttpTransport {
    listener: TcpListener,
    address: SocketAddr,
}

impl HttpTransport {
    /// Binds an address: a name or a number, and a port.
    ///
    /// # Errors
    /// [`ListenError`].
    pub async fn bind(address: &str) -> Result<Self, ListenError> {
        let failed = |source| ListenError {
            address: address.to_owned(),
            source,
        };
        let listener = TcpListener::bind(address).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        Ok(Self { listener, address })
    }

    /// True if only this machine can connect.
    #[must_use]
    pub fn is_loopback(&self) -> bool {
        self.address.ip().is_loopback()
    }

    /// Where clients connect.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}{}", self.address, gate::PATH)
    }

    /// Serves until the server stops; then ends streams, lets requests finish within the drain
    /// time, and closes.
    pub async fn serve(self, server: Arc<Server>) {
        let limits = &server.settings().server;
        let places = Arc::new(Semaphore::new(limits.max_connections));
        let connections = TaskTracker::new();
        let loopback = self.is_loopback();
        let stopping = server.stopping().clone();
        loop {
            let Ok(place) = Arc::clone(&places).acquire_owned().await else {
                break;
            };
            let accepted = tokio::select! {
                () = stopping.cancelled() => break,
                accepted = self.listener.accept() => accepted,
            };
            match accepted {
                Ok((stream, _)) => {
                    let server = Arc::clone(&server);
                    connections.spawn(async move {
                        let _counted = server.metrics().connections().take();
                        connection(stream, Arc::clone(&server), loopback).await;
                        drop(place);
                    });
                }
                Err(error) => {
                    // Most often too many open files: give the connections time to end.
                    tracing::warn!(%error, "could not accept a connection");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            }
        }
        drop(self.listener);
        connections.close();
        let drain = Duration::from_millis(limits.drain_ms);
        if tokio::time::timeout(drain, connections.wait())
            .await
            .is_err()
        {
            tracing::warn!("{} connections were cut off", connections.len());
        }
    }
}

async fn connection(stream: TcpStream, server: Arc<Server>, loopback: bool) {
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "could not set TCP_NODELAY");
    }
    let stopping = server.stopping().clone();
    let limits = &server.settings().server;
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(RECEIVE_TIME)
        .max_buf_size(limits.max_head_bytes);
    let service = service_fn(|request| {
        let server = Arc::clone(&server);
        async move { Ok::<_, Infallible>(respond(request, server, loopback).await) }
    });
    let stream = Patient::new(stream, SEND_TIME);
    let connection = builder.serve_connection(TokioIo::new(stream), service);
    tokio::pin!(connection);
    let result = tokio::select! {
        result = &mut connection => result,
        () = stopping.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = result {
        tracing::debug!(%error, "a connection ended early");
    }
}

async fn respond(
    request: Request<Incoming>,
    server: Arc<Server>,
    loopback: bool,
) -> Response<ResponseBody> {
    let (head, body) = request.into_parts();
    let page = cors::page(&head, &server.settings().server, loopback);
    let Some(page) = page else {
        return answer(head, body, server, loopback).await;
    };
    // A preflight has no token, and asks nothing of the server but this.
    let mut response = if cors::is_preflight(&head) {
        let mut empty = whole(Reply::empty(204));
        cors::allow(&mut empty, &head.headers);
        empty
    } else {
        answer(head, body, server, loopback).await
    };
    cors::mark(&mut response, page);
    response
}

async fn answer(
    head: Parts,
    body: Incoming,
    server: Arc<Server>,
    loopback: bool,
) -> Response<ResponseBody> {
    match admit(&head, &server, loopback).await {
        Ok((caller, kind, place)) => {
            let response = match kind {
                Kind::Message(accepts) => work_on(caller, head, body, accepts, server).await,
                Kind::Stream => follow(caller, &head, server),
            };
            response.map(|body| body.holding(place))
        }
        Err(response) => {
            if !response.headers().contains_key(CONNECTION) {
                tokio::spawn(pass_over(body, server.settings().server.max_body_bytes));
            }
            *response
        }
    }
}

/// Looks at the head of a request, before anything of its body is kept. Else its answer.
async fn admit(
    head: &Parts,
    server: &Server,
    loopback: bool,
) -> Result<(Caller, Kind, Place), Box<Response<ResponseBody>>> {
    let limits = &server.settings().server;
    let kind = gate::check(&head.method, &head.uri, &head.headers, limits, loopback);
    let kind = kind.map_err(|refusal| match refusal {
        Refusal::Path if gate::is_metadata(&head.method, &head.uri) => metadata(server),
        refusal => refuse(refusal),
    })?;
    let caller = server.caller(&head.headers).await;
    let caller = caller.map_err(|refused| challenge(server, refused))?;
    gate::check_length(&head.headers, limits).map_err(|refusal| {
        server.metrics().refuse(Limit::Body);
        refuse(refusal)
    })?;
    let place = caller.tenant.request().ok_or_else(|| {
        server.metrics().refuse(Limit::Requests);
        too_many_requests(&caller.tenant)
    })?;
    Ok((caller, kind, place))
}

/// Reads the body of a request whose head is good, and answers it.
async fn work_on(
    caller: Caller,
    head: Parts,
    body: Incoming,
    accepts: Accepts,
    server: Arc<Server>,
) -> Response<ResponseBody> {
    let limits = &server.settings().server;
    let room = Room::new(caller.tenant.bodies(), server.bodies());
    let body = receive(body, limits.max_body_bytes, room);
    let body = match tokio::time::timeout(RECEIVE_TIME, body).await {
        Ok(Ok(body)) => body,
        Ok(Err(fault)) => {
            match fault {
                Fault::TooLarge => server.metrics().refuse(Limit::Body),
                Fault::Full(_) => server.metrics().refuse(Limit::Bodies),
                Fault::Malformed(_) => {}
            }
            return no_body(fault, &caller.tenant, limits);
        }
        Err(_) => {
            let time = RECEIVE_TIME.as_secs();
            let reason = format!("The body did not arrive in {time} s (limit RECEIVE_TIME)");
            return plain(StatusCode::REQUEST_TIMEOUT, reason);
        }
    };

    let events = Arc::new(Events::new(accepts.events));
    let keep_alive = Duration::from_millis(limits.keep_alive_ms);
    let via = Via::Http(head.headers);
    let mut work = Arc::clone(&server).handle(caller, via, body, Arc::clone(&events));
    if !accepts.json {
        return stream(work, events, keep_alive);
    }
    if !accepts.events {
        return whole(work.await);
    }
    tokio::select! {
        biased;
        reply = &mut work => {
            if !events.is_empty() {
                stream(Box::pin(std::future::ready(reply)), events, keep_alive)
            } else if accepts.prefers_events && reply.status == 200 && reply.session.is_none() {
                // A stream has no status of its own for what failed, so only results become one.
                single(reply)
            } else {
                whole(reply)
            }
        }
        () = events.filled() => stream(work, events, keep_alive),
    }
}

/// Opens the stream of a session, where its client hears that tools changed.
fn follow(caller: Caller, head: &Parts, server: Arc<Server>) -> Response<ResponseBody> {
    let stream_of = match server.session_stream(&caller, &head.headers) {
        Ok(stream) => stream,
        Err(reply) => return whole(reply),
    };
    let events = Arc::new(Events::new(true));
    let keep_alive = Duration::from_millis(server.settings().server.keep_alive_ms);
    let told = Arc::clone(&events);
    let work = Box::pin(async move {
        server.tell_changes(&caller, stream_of, &told).await;
        Reply::default()
    });
    stream(work, events, keep_alive)
}

fn whole(reply: Reply) -> Response<ResponseBody> {
    let json = reply.body.is_some();
    let mut response = Response::new(ResponseBody::Whole(reply.body));
    *response.status_mut() = StatusCode::from_u16(reply.status).unwrap_or(StatusCode::OK);
    if json {
        let json = HeaderValue::from_static("application/json");
        response.headers_mut().insert(CONTENT_TYPE, json);
    }
    let session = reply.session.map(HeaderValue::try_from);
    if let Some(Ok(session)) = session {
        response.headers_mut().insert(SESSION_HEADER, session);
    }
    response
}

/// A stream of one event, whose end is known.
fn single(mut reply: Reply) -> Response<ResponseBody> {
    reply.body = reply.body.map(|message| event(&message));
    let mut response = whole(reply);
    say_stream(response.headers_mut());
    response
}

fn stream(work: Answering, events: Arc<Events>, keep_alive: Duration) -> Response<ResponseBody> {
    let body = EventStream::new(work, events, keep_alive);
    let mut response = Response::new(ResponseBody::Stream(Box::new(body)));
    say_stream(response.headers_mut());
    response
}

fn say_stream(headers: &mut HeaderMap) {
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
}

/// Where clients get tokens (RFC 9728).
fn metadata(server: &Server) -> Response<ResponseBody> {
    match server.auth().metadata() {
        Some(metadata) => whole(Reply::new(200, Bytes::from(metadata.to_string()))),
        None => refuse(Refusal::Path),
    }
}

fn challenge(server: &Server, refused: Refused) -> Response<ResponseBody> {
    let status = match refused {
        Refused::Unauthorized => StatusCode::UNAUTHORIZED,
        Refused::Scope => StatusCode::FORBIDDEN,
        Refused::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
    };
    let error = RpcError::new(Code::InvalidRequest, refused.to_string());
    let mut response = whole(Reply::new(status.as_u16(), failure(None, &error)));
    if refused != Refused::Unavailable
        && let Ok(value) = HeaderValue::from_str(&server.auth().challenge(refused))
    {
        response.headers_mut().insert(WWW_AUTHENTICATE, value);
    }
    response
}

fn refuse(refusal: Refusal) -> Response<ResponseBody> {
    let mut response = plain(refusal.status(), refusal.reason());
    let headers = response.headers_mut();
    if refusal == Refusal::Method {
        headers.insert(ALLOW, HeaderValue::from_static("POST"));
    }
    if refusal.closes() {
        headers.insert(CONNECTION, HeaderValue::from_static("close"));
    }
    response
}

fn no_body(fault: Fault, tenant: &Tenant, limits: &ServerLimits) -> Response<ResponseBody> {
    let (most, key) = match fault {
        Fault::TooLarge => return refuse(Refusal::TooLarge),
        Fault::Malformed(words) => {
            let reason = format!("The body cannot be read: {words}");
            return plain(StatusCode::BAD_REQUEST, reason);
        }
        Fault::Full(Full::Tenant) => {
            let most = tenant.limits.max_bodies_bytes.unwrap_or_default();
            (most, tenant.key("max-bodies-bytes"))
        }
        Fault::Full(Full::Server) => {
            let key = "server.max-bodies-bytes".to_owned();
            (limits.max_bodies_bytes, key)
        }
    };
    later(format!(
        "Too many bodies at once: the limit is {most} bytes ({key}); try again"
    ))
}

fn too_many_requests(tenant: &Tenant) -> Response<ResponseBody> {
    let most = tenant.limits.max_requests.unwrap_or_default();
    let key = tenant.key("max-requests");
    later(format!(
        "Too many requests at once: the limit is {most} ({key}); try again"
    ))
}

fn later(reason: String) -> Response<ResponseBody> {
    let mut response = plain(StatusCode::SERVICE_UNAVAILABLE, reason);
    let headers = response.headers_mut();
    headers.insert(RETRY_AFTER, HeaderValue::from_static("1"));
    response
}

fn plain(status: StatusCode, reason: impl Into<Cow<'static, str>>) -> Response<ResponseBody> {
    let body: Bytes = failure(None, &RpcError::new(Code::InvalidRequest, reason));
    whole(Reply::new(status.as_u16(), body))
}
