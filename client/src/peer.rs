//! A server, and what is asked of it: JSON-RPC requests with the metadata and headers of MCP
//! 2026-07-28.
//!
//! Invariant: every request says its version, its client and what this can (elicitation by form and by
//! URL, the Tasks extension; no sampling, no roots); an answer counts if it has the request's id.

use crate::http::{Http, HttpError, Reply};
use crate::limits::{ANSWER, LIST_PAGES};
use crate::{clean, headers, nearest};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use rmcp::model::{
    ClientCapabilities, ElicitationCapability, ErrorCode, FormElicitationCapability,
    Implementation, ProtocolVersion, TASKS_EXTENSION_ID, Tool, UrlElicitationCapability,
};
use serde_json::{Map, Value, json};
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::time::timeout;

/// Before the names of MCP's own metadata.
const META: &str = "io.modelcontextprotocol/";

/// Why there is no result.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PeerError {
    /// No answer.
    #[error(transparent)]
    Http(#[from] HttpError),
    /// An error of JSON-RPC.
    #[error("{0}")]
    Rpc(RpcError),
    /// An answer that means nothing.
    #[error("the server answers {0}, which means nothing: {1}")]
    Protocol(&'static str, String),
    /// No such tool.
    #[error("the server has no tool {name:?}{}; {known}", nearest::hint(.nearest.as_deref()))]
    NoTool {
        /// As typed.
        name: String,
        /// The one that was meant, perhaps.
        nearest: Option<String>,
        /// How to see them.
        known: String,
    },
}

impl PeerError {
    /// Whether the same may go well a little later.
    pub(crate) fn may_pass(&self) -> bool {
        matches!(self, Self::Http(error) if error.may_pass())
    }

    /// The number of an error of JSON-RPC.
    pub(crate) fn code(&self) -> Option<i64> {
        match self {
            Self::Rpc(error) => Some(error.code),
            _ => None,
        }
    }
}

/// An error of JSON-RPC, as it came.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RpcError {
    /// Its number.
    pub(crate) code: i64,
    /// In the server's words.
    pub(crate) message: String,
    /// More of it.
    pub(crate) data: Option<Value>,
}

impl RpcError {
    /// Reads one, whatever is missing.
    pub(crate) fn read(error: &Value) -> Self {
        Self {
            code: error["code"].as_i64().unwrap_or_default(),
            message: error["message"]
                .as_str()
                .unwrap_or("it does not say why")
                .to_owned(),
            data: error.get("data").cloned(),
        }
    }
}

impl fmt::Display for RpcError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the server refuses: {} ({})",
            clean::line(&self.message),
            self.code
        )?;
        let of = |name: &str| {
            let data = self.data.as_ref().and_then(|data| data.get(name));
            data.map_or_else(
                || "others".to_owned(),
                |data| clean::line(&data.to_string()),
            )
        };
        match i32::try_from(self.code).map(ErrorCode) {
            Ok(ErrorCode::UNSUPPORTED_PROTOCOL_VERSION) => {
                write!(
                    f,
                    "; this client speaks 2026-07-28 only, the server {}",
                    of("supported")
                )
            }
            Ok(ErrorCode::MISSING_REQUIRED_CLIENT_CAPABILITY) => {
                write!(
                    f,
                    "; it needs a client with {}, which this one is not",
                    of("requiredCapabilities")
                )
            }
            Ok(ErrorCode::METHOD_NOT_FOUND) => {
                f.write_str("; the server does not offer this, or speaks an older revision of MCP")
            }
            _ => match &self.data {
                Some(data) => write!(f, "; {}", clean::line(&data.to_string())),
                None => Ok(()),
            },
        }
    }
}

/// What is asked.
#[derive(Clone, Default)]
pub(crate) struct Request<'a> {
    /// The method.
    pub(crate) method: &'static str,
    /// Without metadata.
    pub(crate) params: Map<String, Value>,
    /// For the header `Mcp-Name`.
    pub(crate) name: Option<&'a str>,
    /// Those of arguments.
    pub(crate) headers: Vec<(HeaderName, HeaderValue)>,
    /// Whether progress is told.
    pub(crate) progress: bool,
    /// The least level of log lines that are told.
    pub(crate) log: Option<&'a str>,
}

/// What comes before a result.
#[derive(Debug, Clone)]
pub(crate) struct Notification {
    /// Its method.
    pub(crate) method: String,
    /// What it says.
    pub(crate) params: Value,
}

/// What comes on a stream.
pub(crate) enum Heard {
    /// Something before the result.
    Notification(Notification),
    /// The result, which is the last.
    Result(Value),
}

/// The answer to a request, while it comes. Dropping it cancels the request.
pub(crate) struct Answer {
    reply: Reply,
    id: u64,
}

impl Answer {
    /// What comes next.
    ///
    /// # Errors
    /// [`PeerError`].
    pub(crate) async fn next(&mut self) -> Result<Heard, PeerError> {
        loop {
            let mut message = self.reply.next().await?;
            if let Some(error) = message.get("error") {
                return Err(PeerError::Rpc(RpcError::read(error)));
            }
            if message["id"].as_u64() == Some(self.id)
                && let Some(result) = message.get_mut("result")
            {
                return Ok(Heard::Result(result.take()));
            }
            if let Some(method) = message["method"].as_str().map(str::to_owned) {
                // A request is not for a client to answer in this revision; it has an id.
                if message.get("id").is_none() {
                    let params = message["params"].take();
                    return Ok(Heard::Notification(Notification { method, params }));
                }
                continue;
            }
            let said = clean::line(&message.to_string())
                .chars()
                .take(200)
                .collect();
            return Err(PeerError::Protocol("with a message", said));
        }
    }
}

/// A server.
pub(crate) struct Peer {
    http: Http,
    ids: AtomicU64,
}

impl Peer {
    pub(crate) fn new(http: Http) -> Self {
        Self {
            http,
            ids: AtomicU64::new(1),
        }
    }

    /// Its address.
    pub(crate) fn url(&self) -> &url::Url {
        self.http.url()
    }

    /// Sends a request, and gives what answers as it comes.
    ///
    /// # Errors
    /// [`PeerError`].
    pub(crate) async fn open(&self, request: Request<'_>) -> Result<Answer, PeerError> {
        let id = self.ids.fetch_add(1, Ordering::Relaxed);
        let version = ProtocolVersion::V_2026_07_28;
        let mut meta = json!({
            format!("{META}protocolVersion"): version,
            format!("{META}clientInfo"): Implementation::new("cofferdam", env!("CARGO_PKG_VERSION")),
            format!("{META}clientCapabilities"): capabilities(),
        });
        if request.progress {
            meta["progressToken"] = id.into();
        }
        if let Some(level) = request.log {
            meta[format!("{META}logLevel")] = level.into();
        }
        let mut headers = HeaderMap::new();
        headers.extend(request.headers);
        for (name, value) in [
            ("mcp-protocol-version", Some(version.as_str())),
            ("mcp-method", Some(request.method)),
            ("mcp-name", request.name),
        ] {
            if let Some(value) = value.and_then(headers::encode) {
                headers.insert(name, value);
            }
        }
        let mut params = request.params;
        params.insert("_meta".to_owned(), meta);
        let body = json!({
            "jsonrpc": "2.0", "id": id, "method": request.method, "params": params,
        });
        let reply = self.http.post(body.to_string(), headers).await?;
        Ok(Answer { reply, id })
    }

    /// Sends a request that runs no tool, and waits for its result.
    ///
    /// # Errors
    /// [`PeerError`]; nothing for [`ANSWER`] is [`HttpError::Silent`].
    pub(crate) async fn ask(&self, request: Request<'_>) -> Result<Value, PeerError> {
        self.ask_within(ANSWER, request).await
    }

    /// The same, with another patience.
    pub(crate) async fn ask_within(
        &self,
        patience: Duration,
        request: Request<'_>,
    ) -> Result<Value, PeerError> {
        let asked = async {
            let mut answer = self.open(request).await?;
            loop {
                if let Heard::Result(result) = answer.next().await? {
                    return Ok(result);
                }
            }
        };
        let silent = || HttpError::Silent(self.url().to_string());
        timeout(patience, asked).await.map_err(|_| silent())?
    }

    /// All tools that it shows, as it describes them.
    ///
    /// # Errors
    /// [`PeerError`].
    pub(crate) async fn tools(&self) -> Result<Vec<Value>, PeerError> {
        self.list("tools/list", "tools").await
    }

    /// All that a method lists, page by page, in this member of its results.
    ///
    /// # Errors
    /// [`PeerError`].
    pub(crate) async fn list(
        &self,
        method: &'static str,
        member: &str,
    ) -> Result<Vec<Value>, PeerError> {
        let mut all = Vec::new();
        let mut cursor = None;
        for _ in 0..LIST_PAGES {
            let params = cursor.take().map(|cursor| ("cursor".to_owned(), cursor));
            let request = Request {
                method,
                params: params.into_iter().collect(),
                ..Request::default()
            };
            let mut page = self.ask(request).await?;
            let Value::Array(found) = page[member].take() else {
                let what = format!("{method} has no {member}");
                return Err(PeerError::Protocol("without a list", what));
            };
            all.extend(found);
            match page["nextCursor"].take() {
                Value::String(next) => cursor = Some(Value::String(next)),
                _ => return Ok(all),
            }
        }
        let what = format!("{method} has more than {LIST_PAGES} pages");
        Err(PeerError::Protocol("without an end", what))
    }

    /// One of its tools.
    ///
    /// # Errors
    /// [`PeerError::NoTool`], with the nearest name, and as [`Peer::tools`].
    pub(crate) async fn tool(&self, name: &str) -> Result<Tool, PeerError> {
        let mut tools = self.tools().await?;
        let names = || tools.iter().filter_map(|tool| tool["name"].as_str());
        let Some(at) = tools.iter().position(|tool| tool["name"] == name) else {
            let known = match tools.len() {
                0 => "it shows none to this caller".to_owned(),
                number => format!(
                    "`cofferdam tools {}` lists the {number} that it has",
                    self.url()
                ),
            };
            let nearest = nearest::nearest(name, names()).map(clean::line);
            return Err(PeerError::NoTool {
                name: name.to_owned(),
                nearest,
                known,
            });
        };
        let unread =
            |error: serde_json::Error| PeerError::Protocol("with a tool", error.to_string());
        serde_json::from_value(tools.swap_remove(at)).map_err(unread)
    }
}

fn capabilities() -> ClientCapabilities {
    let mut capabilities = ClientCapabilities::default();
    let tasks = (TASKS_EXTENSION_ID.to_owned(), Map::new());
    capabilities.extensions = Some([tasks].into());
    let mut elicitation = ElicitationCapability::default();
    elicitation.form = Some(FormElicitationCapability::default());
    elicitation.url = Some(UrlElicitationCapability::default());
    capabilities.elicitation = Some(elicitation);
    capabilities
}
