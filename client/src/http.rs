//! One POST, and the messages that answer it.
//!
//! Invariant: nothing is sent but to the address that was typed (no redirect is followed), what is held
//! of an answer is bounded, and dropping a [`Reply`] closes its stream, which cancels the request
//! (Streamable HTTP, "Cancellation").
//!
//! The official SDK's transport (`rmcp::transport`) is not used: it reads answers as the types that it
//! knows, which loses what it does not know of a result, and closes a `subscriptions/listen` that sends
//! `notifications/tasks`. The SDK's models are used where they say all that there is.

use crate::endpoint::is_local;
use crate::limits::{CONNECT, MESSAGE_BYTES, REFUSAL_BYTES};
use futures_util::stream::{BoxStream, StreamExt as _};
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderValue, LOCATION};
use reqwest::{Client, Response, StatusCode, redirect};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ClientConfig, RootCertStore};
use serde_json::Value;
use sse_stream::{Sse, SseStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use url::Url;

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum HttpError {
    /// The file of authorities.
    #[error("the file {0} with authorities: {1}")]
    Authorities(PathBuf, String),
    /// The client itself.
    #[error("the client cannot be set up: {0}")]
    Setup(String),
    /// No connection.
    #[error("{0} cannot be reached: {1}; does the server run, and is the address right?")]
    Unreachable(String, String),
    /// A certificate that nobody vouches for.
    #[error("{0} has a certificate that is not trusted: {1}; name its authority with --ca FILE")]
    Certificate(String, String),
    /// The connection broke, or the stream ended too soon.
    #[error("{0} broke off before it answered: {1}")]
    Broken(String, String),
    /// Nothing came for too long.
    #[error("{0} does not answer")]
    Silent(String),
    /// 401.
    #[error("{0} wants {1} token: give it with --token-file FILE or in COFFERDAM_TOKEN")]
    Unauthorized(String, &'static str),
    /// 403.
    #[error("{0} refuses this caller or host (403): {1}")]
    Forbidden(String, String),
    /// 404 without a message.
    #[error(
        "no MCP server is at {0} (404: {1}); most are at /mcp, so try its address with that path"
    )]
    NotFound(String, String),
    /// 3xx.
    #[error("{0} sends elsewhere ({1}): {2}; if that is right, call there")]
    Moved(String, StatusCode, String),
    /// Another status.
    #[error("{0} answers {1}: {2}")]
    Status(String, StatusCode, String),
    /// Something else than MCP.
    #[error(
        "what answers at {0} is no MCP server of revision 2026-07-28: {1}; is the address right?"
    )]
    Other(String, String),
    /// Too much.
    #[error("{0} sends a message of more than {max} bytes", max = MESSAGE_BYTES)]
    TooLarge(String),
}

impl HttpError {
    /// Whether the same may go well a little later.
    pub(crate) fn may_pass(&self) -> bool {
        match self {
            Self::Unreachable(..) | Self::Broken(..) | Self::Silent(_) => true,
            Self::Status(_, status, _) => {
                status.is_server_error() || *status == StatusCode::TOO_MANY_REQUESTS
            }
            _ => false,
        }
    }
}

/// A way to a server.
pub(crate) struct Http {
    client: Client,
    url: Url,
    has_token: bool,
}

impl Http {
    /// With headers for every request, and authorities in place of the usual ones.
    ///
    /// # Errors
    /// [`HttpError::Authorities`], [`HttpError::Setup`].
    pub(crate) fn new(url: Url, headers: HeaderMap, ca: Option<&Path>) -> Result<Self, HttpError> {
        let setup = |error: &dyn std::error::Error| HttpError::Setup(error.to_string());
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let tls = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| setup(&error))?
            .with_root_certificates(roots(ca)?)
            .with_no_client_auth();
        let has_token = headers.contains_key(reqwest::header::AUTHORIZATION);
        let mut client = Client::builder()
            .tls_backend_preconfigured(tls)
            .redirect(redirect::Policy::none())
            .connect_timeout(CONNECT)
            .tcp_keepalive(Duration::from_secs(15))
            .user_agent(concat!("cofferdam/", env!("CARGO_PKG_VERSION")))
            .default_headers(headers);
        // What goes to this machine goes by no other one.
        if is_local(&url) {
            client = client.no_proxy();
        }
        let client = client.build().map_err(|error| setup(&error))?;
        Ok(Self {
            client,
            url,
            has_token,
        })
    }

    /// Where it is.
    pub(crate) fn url(&self) -> &Url {
        &self.url
    }

    /// Sends a message.
    ///
    /// # Errors
    /// [`HttpError`]. An error of JSON-RPC is none: it is the reply's message.
    pub(crate) async fn post(&self, body: String, headers: HeaderMap) -> Result<Reply, HttpError> {
        let request = self.client.post(self.url.clone()).headers(headers);
        let request = request
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "application/json, text/event-stream")
            .body(body);
        let response = request
            .send()
            .await
            .map_err(|error| self.unreachable(&error))?;
        let name = self.url.to_string();
        if !response.status().is_success() {
            return self.refusal(response).await;
        }
        let kind = media_type(response.headers());
        match kind.as_str() {
            "text/event-stream" => Ok(Reply {
                name,
                body: Body::Events(events(response)),
            }),
            "application/json" => {
                let (bytes, whole) = read(response, MESSAGE_BYTES)
                    .await
                    .map_err(|error| self.broken(&error))?;
                if !whole {
                    return Err(HttpError::TooLarge(name));
                }
                let message = serde_json::from_slice(&bytes);
                let message = message.map_err(|error| {
                    HttpError::Other(
                        name.clone(),
                        format!("it answers with broken JSON ({error})"),
                    )
                })?;
                Ok(Reply {
                    name,
                    body: Body::Message(Some(message)),
                })
            }
            kind => {
                let kind = if kind.is_empty() { "nothing" } else { kind };
                Err(HttpError::Other(
                    name,
                    format!("it answers with {kind} in place of JSON"),
                ))
            }
        }
    }

    /// What a status other than success means.
    async fn refusal(&self, response: Response) -> Result<Reply, HttpError> {
        let name = self.url.to_string();
        let status = response.status();
        if status == StatusCode::UNAUTHORIZED {
            return Err(HttpError::Unauthorized(
                name,
                if self.has_token { "another" } else { "a" },
            ));
        }
        if status.is_redirection() {
            let place = response.headers().get(LOCATION).map(HeaderValue::as_bytes);
            let place = String::from_utf8_lossy(place.unwrap_or_default()).into_owned();
            return Err(HttpError::Moved(name, status, crate::clean::line(&place)));
        }
        let (bytes, _) = read(response, REFUSAL_BYTES).await.unwrap_or_default();
        let message = serde_json::from_slice::<Value>(&bytes).unwrap_or_default();
        // Of all errors, only that of an unknown method comes from a server that is there.
        let is_there = status != StatusCode::NOT_FOUND || message["error"]["code"] == -32601;
        if message["error"].is_object() && is_there {
            return Ok(Reply {
                name,
                body: Body::Message(Some(message)),
            });
        }
        let said = String::from_utf8_lossy(&bytes);
        let said = message["error"]["message"].as_str().unwrap_or(&said);
        let said: String = crate::clean::line(said).chars().take(200).collect();
        let said = if said.is_empty() {
            "it does not say why".to_owned()
        } else {
            said
        };
        Err(match status {
            StatusCode::NOT_FOUND => HttpError::NotFound(name, said),
            StatusCode::FORBIDDEN => HttpError::Forbidden(name, said),
            StatusCode::METHOD_NOT_ALLOWED => HttpError::Other(name, "it takes no POST".to_owned()),
            status => HttpError::Status(name, status, said),
        })
    }

    fn unreachable(&self, error: &reqwest::Error) -> HttpError {
        let name = self.url.to_string();
        let reason = cause(error);
        if reason.contains("certificate") {
            return HttpError::Certificate(name, reason);
        }
        if error.is_connect() || error.is_timeout() {
            return HttpError::Unreachable(name, reason);
        }
        HttpError::Broken(name, reason)
    }

    fn broken(&self, error: &reqwest::Error) -> HttpError {
        HttpError::Broken(self.url.to_string(), cause(error))
    }
}

/// The innermost reason: those around it say less.
fn cause(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    crate::clean::line(&cause.to_string())
}

fn roots(file: Option<&Path>) -> Result<RootCertStore, HttpError> {
    let mut roots = RootCertStore::empty();
    let Some(file) = file else {
        roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
        return Ok(roots);
    };
    let bad = |reason: String| HttpError::Authorities(file.to_owned(), reason);
    let certificates = CertificateDer::pem_file_iter(file)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|error| bad(error.to_string()))?;
    match roots.add_parsable_certificates(certificates) {
        (0, _) => Err(bad("no certificate is in it".to_owned())),
        _ => Ok(roots),
    }
}

fn media_type(headers: &HeaderMap) -> String {
    let kind = headers
        .get(CONTENT_TYPE)
        .and_then(|kind| kind.to_str().ok());
    let kind = kind
        .unwrap_or_default()
        .split(';')
        .next()
        .unwrap_or_default();
    kind.trim().to_ascii_lowercase()
}

/// At most so much of a body, and whether that is all.
async fn read(mut response: Response, most: usize) -> Result<(Vec<u8>, bool), reqwest::Error> {
    let mut bytes = Vec::new();
    while let Some(chunk) = response.chunk().await? {
        let room = most - bytes.len();
        bytes.extend_from_slice(&chunk[..chunk.len().min(room)]);
        if chunk.len() > room {
            return Ok((bytes, false));
        }
    }
    Ok((bytes, true))
}

/// An event may be as large as a message.
struct Events {
    stream: BoxStream<'static, Result<Sse, sse_stream::Error>>,
    /// Bytes since the last event.
    held: Arc<AtomicUsize>,
}

/// Why a stream is not read on.
#[derive(Debug, thiserror::Error)]
enum StreamError {
    #[error("too large")]
    TooLarge,
    #[error(transparent)]
    Read(#[from] reqwest::Error),
}

fn events(response: Response) -> Events {
    let held = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&held);
    let bytes = response
        .bytes_stream()
        .map(move |chunk| -> Result<_, StreamError> {
            let chunk = chunk?;
            let held = counted.fetch_add(chunk.len(), Ordering::Relaxed) + chunk.len();
            if held > MESSAGE_BYTES {
                return Err(StreamError::TooLarge);
            }
            Ok(chunk)
        });
    Events {
        stream: SseStream::from_bytes_stream(bytes).boxed(),
        held,
    }
}

/// The messages that answer a POST.
pub(crate) struct Reply {
    name: String,
    body: Body,
}

enum Body {
    Message(Option<Value>),
    Events(Events),
}

impl Reply {
    /// The next message, as it comes.
    ///
    /// # Errors
    /// [`HttpError::Broken`], also at the end; [`HttpError::Other`], [`HttpError::TooLarge`].
    pub(crate) async fn next(&mut self) -> Result<Value, HttpError> {
        let ended = |name: &String| HttpError::Broken(name.clone(), "its stream ended".to_owned());
        let events = match &mut self.body {
            Body::Message(message) => return message.take().ok_or_else(|| ended(&self.name)),
            Body::Events(events) => events,
        };
        while let Some(event) = events.stream.next().await {
            events.held.store(0, Ordering::Relaxed);
            let event = event.map_err(|error| unread(&self.name, &error))?;
            let Some(data) = event.data.filter(|data| !data.is_empty()) else {
                continue;
            };
            return serde_json::from_str(&data).map_err(|error| {
                HttpError::Other(
                    self.name.clone(),
                    format!("it streams broken JSON ({error})"),
                )
            });
        }
        Err(ended(&self.name))
    }
}

/// Why the next event of a stream cannot be had.
fn unread(name: &str, error: &sse_stream::Error) -> HttpError {
    let name = name.to_owned();
    match error {
        sse_stream::Error::Body(inner) => match inner.downcast_ref() {
            Some(StreamError::TooLarge) => HttpError::TooLarge(name),
            Some(StreamError::Read(error)) => HttpError::Broken(name, cause(error)),
            None => HttpError::Broken(name, crate::clean::line(&inner.to_string())),
        },
        error => HttpError::Other(name, crate::clean::line(&error.to_string())),
    }
}
