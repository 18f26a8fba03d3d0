//! A modern request: its method, metadata and parameters (MCP 2026-07-28, "Request metadata").
//!
//! Invariant: a [`Request`] has passed, in this order, the checks of its metadata, of the headers
//! that repeat it, and of the protocol version. Everything borrows from the body.

use super::envelope::{Message, present, text};
use super::error::{Code, RpcError};
use super::features::ClientFeatures;
use super::headers::Headers;
use super::id::check_id;
use super::level::Level;
use super::{PROTOCOL_VERSION, json::is_object};
use crate::telemetry::TraceContext;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;

/// The methods this server knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are the methods'")]
pub enum Method {
    Discover,
    ToolsList,
    ToolsCall,
    PromptsList,
    PromptsGet,
    ResourcesList,
    TemplatesList,
    ResourcesRead,
    Complete,
    TasksGet,
    TasksUpdate,
    TasksCancel,
    Listen,
}

impl Method {
    /// The method of that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "server/discover" => Self::Discover,
            "tools/list" => Self::ToolsList,
            "tools/call" => Self::ToolsCall,
            "prompts/list" => Self::PromptsList,
            "prompts/get" => Self::PromptsGet,
            "resources/list" => Self::ResourcesList,
            "resources/templates/list" => Self::TemplatesList,
            "resources/read" => Self::ResourcesRead,
            "completion/complete" => Self::Complete,
            "tasks/get" => Self::TasksGet,
            "tasks/update" => Self::TasksUpdate,
            "tasks/cancel" => Self::TasksCancel,
            "subscriptions/listen" => Self::Listen,
            _ => return None,
        })
    }

    /// True for the methods of the Tasks extension.
    #[must_use]
    pub fn is_task_method(self) -> bool {
        matches!(self, Self::TasksGet | Self::TasksUpdate | Self::TasksCancel)
    }
}

/// The members that any method's parameters may have.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
#[allow(missing_docs, reason = "the names are the specification's")]
pub struct Params<'a> {
    #[serde(borrow, rename = "_meta")]
    pub meta: Option<&'a RawValue>,
    #[serde(borrow)]
    pub name: Option<&'a RawValue>,
    #[serde(borrow)]
    pub uri: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    pub arguments: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    pub cursor: Option<&'a RawValue>,
    #[serde(borrow)]
    pub task_id: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    pub input_responses: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    pub request_state: Option<&'a RawValue>,
    #[serde(borrow)]
    pub notifications: Option<&'a RawValue>,
    #[serde(borrow, rename = "ref")]
    pub reference: Option<&'a RawValue>,
    #[serde(borrow)]
    pub argument: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    pub context: Option<&'a RawValue>,
}

/// What the client said about itself in this request.
#[derive(Debug)]
pub struct Meta<'a> {
    /// Declared capabilities.
    pub features: ClientFeatures,
    /// Least severe log messages wanted; none wanted if absent.
    pub log_level: Option<Level>,
    /// Token for progress notifications, a string or an integer as it came.
    pub progress_token: Option<&'a RawValue>,
    /// Where the client's trace goes on.
    pub trace: Option<TraceContext>,
}

/// A request that passed every check which needs no knowledge of tools or tasks.
#[derive(Debug)]
pub struct Request<'a> {
    /// The id as it came.
    pub id: &'a RawValue,
    /// The method, if this server knows it.
    pub method: Option<Method>,
    /// The parameters.
    pub params: Params<'a>,
    /// The metadata.
    pub meta: Meta<'a>,
}

impl<'a> Request<'a> {
    /// Checks metadata, headers and version of a message that has an id.
    ///
    /// # Errors
    /// The JSON-RPC error to answer with.
    pub fn read(
        id: &'a RawValue,
        message: &Message<'a>,
        headers: &Headers<'_>,
        lenient_names: bool,
    ) -> Result<Self, RpcError> {
        let bad = |what: String| RpcError::new(Code::InvalidMeta, what);
        let params = match message.params {
            None => Params::default(),
            Some(params) if is_object(params) => serde_json::from_str(params.get())
                .map_err(|error| bad(format!("Invalid params: {error}")))?,
            Some(_) => return Err(bad("Invalid params: expected an object".to_owned())),
        };
        let (version, meta) = read_meta(params.meta)?;

        headers.check_version(&version)?;
        headers.check_method(&message.method)?;
        let (named_by, required) = match &*message.method {
            "tools/call" | "prompts/get" => (params.name, true),
            "resources/read" => (params.uri, true),
            "tasks/get" | "tasks/update" | "tasks/cancel" => (params.task_id, !lenient_names),
            _ => (None, false),
        };
        if let Some(name) = named_by.and_then(text) {
            headers.check_name(&name, required)?;
        }

        if version != PROTOCOL_VERSION {
            return Err(RpcError::unsupported_version(&version));
        }
        Ok(Self {
            id,
            method: Method::from_name(&message.method),
            params,
            meta,
        })
    }
}

#[derive(Deserialize)]
struct RawMeta<'a> {
    #[serde(borrow, rename = "io.modelcontextprotocol/protocolVersion")]
    version: Option<&'a RawValue>,
    #[serde(borrow, rename = "io.modelcontextprotocol/clientCapabilities")]
    capabilities: Option<&'a RawValue>,
    #[serde(borrow, rename = "io.modelcontextprotocol/clientInfo")]
    client: Option<&'a RawValue>,
    #[serde(
        borrow,
        default,
        deserialize_with = "present",
        rename = "io.modelcontextprotocol/logLevel"
    )]
    log_level: Option<&'a RawValue>,
    #[serde(
        borrow,
        default,
        deserialize_with = "present",
        rename = "progressToken"
    )]
    progress_token: Option<&'a RawValue>,
    #[serde(borrow)]
    traceparent: Option<&'a RawValue>,
    #[serde(borrow)]
    tracestate: Option<&'a RawValue>,
}

fn read_meta(meta: Option<&RawValue>) -> Result<(Cow<'_, str>, Meta<'_>), RpcError> {
    let bad = |what: &str| RpcError::new(Code::InvalidMeta, format!("Invalid params: {what}"));
    let meta = meta.ok_or_else(|| bad("missing _meta"))?;
    if !is_object(meta) {
        return Err(bad("_meta must be an object"));
    }
    let meta: RawMeta<'_> =
        serde_json::from_str(meta.get()).map_err(|error| bad(&format!("_meta: {error}")))?;
    let version = meta
        .version
        .ok_or_else(|| bad("missing _meta[\"io.modelcontextprotocol/protocolVersion\"]"))?;
    let version = text(version).ok_or_else(|| {
        bad("_meta[\"io.modelcontextprotocol/protocolVersion\"] must be a string")
    })?;
    let features = match meta.capabilities {
        Some(capabilities) if is_object(capabilities) => {
            ClientFeatures::from_capabilities(capabilities).map_err(|error| {
                bad(&format!(
                    "_meta[\"io.modelcontextprotocol/clientCapabilities\"]: {error}"
                ))
            })?
        }
        Some(_) => {
            return Err(bad(
                "_meta[\"io.modelcontextprotocol/clientCapabilities\"] must be an object",
            ));
        }
        None => {
            return Err(bad(
                "missing _meta[\"io.modelcontextprotocol/clientCapabilities\"]",
            ));
        }
    };
    if meta.client.is_some_and(|client| !is_implementation(client)) {
        return Err(bad(
            "_meta[\"io.modelcontextprotocol/clientInfo\"] needs a name and a version",
        ));
    }
    let log_level = meta
        .log_level
        .map(|level| serde_json::from_str::<Level>(level.get()))
        .transpose()
        .map_err(|_| bad("_meta[\"io.modelcontextprotocol/logLevel\"] is no log level"))?;
    if let Some(Err(fault)) = meta.progress_token.map(check_id) {
        return Err(bad(&format!("_meta.progressToken {fault}")));
    }
    Ok((
        version,
        Meta {
            features,
            log_level,
            progress_token: meta.progress_token,
            trace: trace(meta.traceparent, meta.tracestate),
        },
    ))
}

/// The trace context in a request's metadata. What is no text is none.
pub(crate) fn trace(parent: Option<&RawValue>, state: Option<&RawValue>) -> Option<TraceContext> {
    let parent = parent.and_then(text);
    TraceContext::read(parent.as_deref(), state.and_then(text).as_deref())
}

/// What of `Implementation` every client must say.
#[derive(Deserialize)]
struct Implementation<'a> {
    #[serde(borrow)]
    name: Option<&'a RawValue>,
    #[serde(borrow)]
    version: Option<&'a RawValue>,
}

fn is_implementation(client: &RawValue) -> bool {
    let client = serde_json::from_str::<Implementation<'_>>(client.get());
    client.is_ok_and(|client| {
        client.name.and_then(text).is_some() && client.version.and_then(text).is_some()
    })
}
