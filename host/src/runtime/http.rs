//! `wasi:http`: requests that a guest makes, so that a later run learns the same answers.
//!
//! Invariants: a request goes out when its body is whole, the run is live, and all that led to it is
//! stored; what it was answered goes into the journal before the guest sees it. A guest sees nothing
//! else that depends on the network: bodies are taken and given from memory, whole. Until the guest
//! has taken an answer, its call keeps its instance, for a run in its place would ask again.

use super::imports::Guest;
use super::verbs::Halt;
use crate::grants;
use crate::journal::{Digest, Effect, Entry, Journal};
use crate::limits::HttpLimits;
use crate::metrics::{Limit, Metrics};
use crate::outbound::{self, Answer, Asked, Failure};
use crate::places::Places;
use crate::telemetry::{HostCallKind, HostCalls, Span};
use bytes::{Bytes, BytesMut};
use http_body_util::{BodyExt as _, Full};
use hyper::header::{HeaderName, HeaderValue};
use hyper::{Method, Request, Response};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Notify, SetOnce};
use wasmtime::component::{Linker, Resource, ResourceType};
use wasmtime::{Result, StoreContextMut, format_err};
use wasmtime_wasi::p2::bindings::io::poll;
use wasmtime_wasi::p2::{DynOutputStream, OutputStream, Pollable, StreamError};
use wasmtime_wasi::runtime::{AbortOnDropJoinHandle, spawn};
use wasmtime_wasi_http::p2::add_only_http_to_linker_async;
use wasmtime_wasi_http::p2::bindings::http::outgoing_handler::Host as _;
use wasmtime_wasi_http::p2::bindings::http::types::{ErrorCode, HostFutureIncomingResponse as _};
use wasmtime_wasi_http::p2::body::HostOutgoingBody;
use wasmtime_wasi_http::p2::types::{
    HostFutureIncomingResponse as Promise, HostIncomingResponse, HostOutgoingRequest,
};
use wasmtime_wasi_http::{
    Error, RequestOptions, WasiBody, WasiHttpCtx, WasiHttpCtxView, WasiHttpHooks, WasiHttpView,
};

/// How much of a body is handed on at once, bytes.
const CHUNK: usize = 64 << 10;
/// A replay that takes an answer has written the request's whole body; it is only to be collected.
const COLLECTED: Duration = Duration::from_secs(1);

/// The requests of one instance.
pub(super) struct Requests {
    context: WasiHttpCtx,
    hooks: Hooks,
    /// Those whose answer the guest has not taken, by the number of their resource.
    open: HashMap<u32, Open>,
}

struct Open {
    exchange: Arc<Exchange>,
    _effect: Effect,
}

/// One request.
#[derive(Default)]
struct Exchange {
    /// What is asked, once its body is whole.
    request: SetOnce<Digest>,
    /// May it be sent?
    go: SetOnce<bool>,
    answer: SetOnce<Answer>,
}

/// What requests of an instance take of the server's.
#[derive(Clone, Default)]
pub(super) struct Outside {
    /// The tenant's.
    pub(super) connections: Places,
    /// What counts refusals.
    pub(super) metrics: Arc<Metrics>,
    /// What traces host calls.
    pub(super) host_calls: HostCalls,
}

/// Requests that could be sent.
#[derive(Default)]
struct Ready {
    exchanges: Mutex<Vec<Arc<Exchange>>>,
    more: Notify,
}

struct Hooks {
    grant: Option<Arc<grants::Http>>,
    journal: Arc<Mutex<Journal>>,
    outside: Outside,
    ready: Arc<Ready>,
    /// The one that was just made.
    made: Option<Arc<Exchange>>,
}

impl Requests {
    pub(super) fn new(
        grant: Option<Arc<grants::Http>>,
        journal: Arc<Mutex<Journal>>,
        outside: Outside,
    ) -> Self {
        let hooks = Hooks {
            grant,
            journal,
            outside,
            ready: Arc::default(),
            made: None,
        };
        let mut context = WasiHttpCtx::new();
        context.set_field_size_limit(hooks.limits().header_bytes);
        Self {
            context,
            hooks,
            open: HashMap::new(),
        }
    }
}

/// Links `wasi:http`, these parts instead of the usual ones.
pub(super) fn add_to_linker(linker: &mut Linker<Guest>) -> Result<()> {
    add_only_http_to_linker_async(linker)?;
    linker.allow_shadowing(true);
    linker
        .instance("wasi:http/outgoing-handler@0.2.12")?
        .func_wrap(
            "handle",
            |mut store: StoreContextMut<'_, Guest>, (request, options): (_, _)| {
                Ok((store.data_mut().ask(request, options)?,))
            },
        )?;
    let mut types = linker.instance("wasi:http/types@0.2.12")?;
    types.func_wrap_async(
        "[method]future-incoming-response.get",
        |mut store: StoreContextMut<'_, Guest>, (promise,): (Resource<Promise>,)| {
            Box::new(async move { Ok((store.data_mut().answer(promise).await?,)) })
        },
    )?;
    types.resource(
        "future-incoming-response",
        ResourceType::host::<Promise>(),
        |mut store, promise| {
            let guest = store.data_mut();
            guest.requests.open.remove(&promise);
            guest.http().drop(Resource::new_own(promise))
        },
    )?;
    types.func_wrap(
        "[method]outgoing-body.write",
        |mut store: StoreContextMut<'_, Guest>, (body,): (Resource<HostOutgoingBody>,)| {
            Ok((store.data_mut().write(&body)?,))
        },
    )?;
    linker.allow_shadowing(false);
    Ok(())
}

impl WasiHttpView for Guest {
    fn http(&mut self) -> WasiHttpCtxView<'_> {
        WasiHttpCtxView {
            hooks: &mut self.requests.hooks,
            table: &mut self.resources,
            ctx: &mut self.requests.context,
        }
    }
}

type Given =
    Option<std::result::Result<std::result::Result<Resource<HostIncomingResponse>, ErrorCode>, ()>>;

impl Guest {
    /// Polls what does not only depend on the clock, and meanwhile sends what can be sent.
    pub(super) async fn poll_and_send(&mut self, pollables: &[u32]) -> Result<Vec<u32>> {
        let ready = Arc::clone(&self.requests.hooks.ready);
        loop {
            let more = ready.more.notified();
            self.send_ready().await?;
            let borrowed = pollables.iter().map(|it| Resource::new_borrow(*it));
            tokio::select! {
                biased;
                polled = poll::Host::poll(&mut self.resources, borrowed.collect()) => return polled,
                () = more => {}
            }
        }
    }

    /// Sends the requests that are whole, after all that led to them is stored.
    pub(super) async fn send_ready(&mut self) -> Result<()> {
        let ready = std::mem::take(&mut *self.requests.hooks.ready.exchanges.lock());
        if ready.is_empty() {
            return Ok(());
        }
        let verbs = Arc::clone(&self.verbs);
        let stored = verbs.flush().await?.is_ok();
        for exchange in ready {
            let _ = exchange.go.set(stored);
        }
        Ok(())
    }

    /// `outgoing-handler.handle`
    fn ask(
        &mut self,
        request: Resource<HostOutgoingRequest>,
        options: Option<Resource<RequestOptions>>,
    ) -> Result<std::result::Result<Resource<Promise>, ErrorCode>> {
        let promise = match self.http().handle(request, options) {
            Ok(promise) => promise,
            Err(error) => return Ok(Err(error.downcast()?)),
        };
        if let Some(exchange) = self.requests.hooks.made.take() {
            let open = Open {
                exchange,
                _effect: self.journal.lock().effect(),
            };
            self.requests.open.insert(promise.rep(), open);
        }
        Ok(Ok(promise))
    }

    /// `future-incoming-response.get`
    async fn answer(&mut self, promise: Resource<Promise>) -> Result<Given> {
        let open = self.requests.open.get(&promise.rep());
        if let Some(exchange) = open.map(|open| Arc::clone(&open.exchange)) {
            let met = match self.met(&exchange).await? {
                Some(met) => met,
                None => self.live(&exchange).await?,
            };
            let Some(answer) = met else {
                return Ok(None);
            };
            *self.resources.get_mut(&promise)? = Promise::Ready(given(answer));
            self.requests.open.remove(&promise.rep());
        }
        self.http().get(promise)
    }

    /// What the journal answers, if the run is a replay.
    async fn met(&mut self, exchange: &Exchange) -> Result<Option<Option<Answer>>> {
        let kept = matches!(self.journal.lock().peek(), Some(Entry::Http { .. }));
        if kept {
            // A replay that does not get there has diverged, and is told so below.
            let _ = tokio::time::timeout(COLLECTED, exchange.request.wait()).await;
        }
        let digest = exchange.request.get().copied();
        let take = |entry: &Entry| match entry {
            Entry::Poll { ready } if ready.is_empty() => Some(None),
            Entry::Http { request, answer } if Some(*request) == digest => {
                Answer::decode(answer).map(Some)
            }
            _ => None,
        };
        let next = self
            .journal
            .lock()
            .next(|| "an HTTP answer".to_owned(), take);
        Ok(next.map_err(Halt::from)?)
    }

    /// What the network answered, kept.
    async fn live(&mut self, exchange: &Exchange) -> Result<Option<Answer>> {
        self.send_ready().await?;
        let request = exchange.request.get().copied();
        let (Some(request), Some(answer)) = (request, exchange.answer.get()) else {
            self.keep_poll(Vec::new())?;
            return Ok(None);
        };
        let entry = Entry::Http {
            request,
            answer: answer.encode(),
        };
        self.journal.lock().push(entry).map_err(Halt::from)?;
        // Stored at once: what was done outside is not done again. If it cannot be stored, it is
        // with what comes next.
        let _ = Arc::clone(&self.verbs).flush().await?;
        Ok(Some(answer.clone()))
    }

    /// `outgoing-body.write`
    fn write(
        &mut self,
        body: &Resource<HostOutgoingBody>,
    ) -> Result<std::result::Result<Resource<DynOutputStream>, ()>> {
        let room = self.requests.hooks.limits().request_bytes;
        let Some(inner) = self.resources.get_mut(body)?.take_output_stream() else {
            return Ok(Err(()));
        };
        let stream: DynOutputStream = Box::new(Upload {
            inner,
            held: BytesMut::new(),
            limit: room,
            room,
        });
        Ok(Ok(self.resources.push_child(stream, body)?))
    }
}

impl Hooks {
    fn limits(&self) -> HttpLimits {
        let limits = self.grant.as_deref().map(|grant| *grant.limits());
        limits.unwrap_or_default()
    }
}

type Sent = wasmtime_wasi_http::Result<(
    Response<WasiBody>,
    Box<dyn Future<Output = std::result::Result<(), Error>> + Send>,
)>;

impl WasiHttpHooks for Hooks {
    fn send_request(
        &mut self,
        mut request: Request<WasiBody>,
        options: Option<RequestOptions>,
        _: Box<dyn Future<Output = std::result::Result<(), Error>> + Send>,
    ) -> Box<dyn Future<Output = Sent> + Send> {
        let mark = self.journal.lock().random().mark();
        let exchange = Arc::new(Exchange::default());
        self.made = Some(Arc::clone(&exchange));
        let (grant, ready) = (self.grant.clone(), Arc::clone(&self.ready));
        let outside = self.outside.clone();
        let options = options.unwrap_or_default();
        let asked = Asked {
            connect: options.connect_timeout,
            first_byte: options.first_byte_timeout,
            between_bytes: options.between_bytes_timeout,
        };
        Box::new(async move {
            let body = std::mem::take(request.body_mut()).collect().await;
            let body = body.map(|body| body.to_bytes());
            let request = request.map(|_| body.as_ref().cloned().unwrap_or_default());
            let digest = digest(&request);
            let _ = exchange.request.set(digest);
            ready.exchanges.lock().push(Arc::clone(&exchange));
            ready.more.notify_one();
            let stored = *exchange.go.wait().await;
            let answer = match (stored, body, grant) {
                (false, ..) => Answer::Failed(Failure::NotStored),
                (_, Err(_), _) => Answer::Failed(Failure::RequestBody),
                (_, _, None) => Answer::Failed(Failure::NotGranted),
                (true, Ok(_), Some(grant)) => match outside.connections.take() {
                    None => Answer::Failed(Failure::Connections),
                    Some(_place) => {
                        let request = with_key(request, mark, digest);
                        let mut span = begin(&outside.host_calls, &request);
                        let answer = outbound::send(&grant, request, asked).await;
                        tell(&mut span, &answer);
                        answer
                    }
                },
            };
            if matches!(&answer, Answer::Failed(failure) if failure.is_limit()) {
                outside.metrics.refuse(Limit::Http);
            }
            let _ = exchange.answer.set(answer.clone());
            given(answer).map(|(response, _)| (response, nothing_more()))
        })
    }

    fn p2_outgoing_body_buffer_chunks(&mut self) -> usize {
        // So many that a write never finds the buffer full: whether it is would depend on time.
        self.limits().request_bytes / CHUNK + 2
    }

    fn p2_outgoing_body_chunk_size(&mut self) -> usize {
        CHUNK
    }
}

/// The span of a request that goes out: its method and host. A path may hold secrets.
fn begin(host_calls: &HostCalls, request: &Request<Bytes>) -> Span {
    let mut span = host_calls.begin("http", HostCallKind::Outside);
    if host_calls.is_on() {
        span.set("http.request.method", request.method().to_string());
        if let Some(host) = request.uri().host() {
            span.set("server.address", host.to_owned());
        }
    }
    span
}

fn tell(span: &mut Span, answer: &Answer) {
    match answer {
        Answer::Response { status, .. } => {
            span.set("http.response.status_code", i64::from(*status));
            if *status >= 500 {
                span.fail("5xx");
            }
        }
        Answer::Failed(_) => span.fail("failed"),
    }
}

/// With what the other side can tell a request by that it has seen before. A guest may bring its own.
fn with_key(mut request: Request<Bytes>, mark: [u8; 16], digest: Digest) -> Request<Bytes> {
    const KEY: HeaderName = HeaderName::from_static("idempotency-key");
    let safe = [Method::GET, Method::HEAD, Method::OPTIONS, Method::TRACE];
    if !safe.contains(request.method()) && !request.headers().contains_key(&KEY) {
        let of = digest.with(&mark);
        // The form of the header's draft: a string in quotes.
        if let Ok(value) = HeaderValue::from_str(&format!("\"{of}\"")) {
            request.headers_mut().insert(KEY, value);
        }
    }
    request
}

/// Of all that a guest asks.
fn digest(request: &Request<Bytes>) -> Digest {
    let mut text = format!("{} {}\n", request.method(), request.uri()).into_bytes();
    for (name, value) in request.headers() {
        text.extend_from_slice(name.as_str().as_bytes());
        text.extend_from_slice(b": ");
        text.extend_from_slice(value.as_bytes());
        text.push(b'\n');
    }
    text.push(b'\n');
    text.extend_from_slice(request.body());
    Digest::of(&text)
}

/// What the guest is given: the answer, from memory.
fn given(
    answer: Answer,
) -> wasmtime_wasi_http::Result<(Response<WasiBody>, AbortOnDropJoinHandle<()>)> {
    match answer {
        Answer::Failed(failure) => Err(error(failure)),
        Answer::Response {
            status,
            headers,
            body,
        } => {
            let (status, headers) = outbound::head(status, &headers);
            let body = Full::new(Bytes::from(body)).map_err(|never| match never {});
            let mut response = Response::new(body.boxed_unsync());
            *response.status_mut() = status;
            *response.headers_mut() = headers;
            Ok((response, spawn(async {})))
        }
    }
}

fn nothing_more() -> Box<dyn Future<Output = std::result::Result<(), Error>> + Send> {
    Box::new(async { Ok(()) })
}

fn error(failure: Failure) -> Error {
    match failure {
        Failure::NotGranted => Error::HttpRequestDenied,
        Failure::Url => Error::HttpRequestUriInvalid,
        Failure::NotPublic => Error::DestinationIpProhibited,
        Failure::NotFound => Error::DestinationNotFound,
        Failure::Connections => Error::ConnectionLimitReached,
        Failure::Refused => Error::ConnectionRefused,
        Failure::ConnectTime => Error::ConnectionTimeout,
        Failure::Certificate(_) => Error::TlsCertificateError,
        Failure::Tls(_) => Error::TlsProtocolError,
        Failure::RequestBody => Error::HttpRequestBodySize(None),
        Failure::Time => Error::HttpResponseTimeout,
        Failure::Head(limit) => Error::HttpResponseHeaderSectionSize(Some(limit)),
        Failure::Body(limit) => Error::HttpResponseBodySize(Some(limit)),
        Failure::Protocol => Error::HttpProtocolError,
        failure @ Failure::NotStored => Error::InternalError(Some(failure.to_string())),
    }
}

/// Takes a request's body, up to a limit, at the guest's pace and never slower.
struct Upload {
    inner: DynOutputStream,
    held: BytesMut,
    limit: usize,
    room: usize,
}

impl Upload {
    fn hand_on(&mut self) -> std::result::Result<(), StreamError> {
        if self.held.is_empty() {
            return Ok(());
        }
        self.inner.write(self.held.split().freeze())
    }
}

#[wasmtime_wasi::async_trait]
impl OutputStream for Upload {
    fn write(&mut self, bytes: Bytes) -> std::result::Result<(), StreamError> {
        let Some(room) = self.room.checked_sub(bytes.len()) else {
            return Err(StreamError::LastOperationFailed(format_err!(
                "the request's body has more than {} bytes (limit http.limits.request-bytes)",
                self.limit
            )));
        };
        self.room = room;
        for part in bytes.chunks(CHUNK) {
            if self.held.len() + part.len() > CHUNK {
                self.hand_on()?;
            }
            self.held.extend_from_slice(part);
        }
        Ok(())
    }

    fn flush(&mut self) -> std::result::Result<(), StreamError> {
        Ok(())
    }

    fn check_write(&mut self) -> std::result::Result<usize, StreamError> {
        Ok(CHUNK)
    }
}

#[wasmtime_wasi::async_trait]
impl Pollable for Upload {
    async fn ready(&mut self) {}
}

impl Drop for Upload {
    fn drop(&mut self) {
        // What is wrong with the body shows when it is finished.
        let _ = self.hand_on();
    }
}
