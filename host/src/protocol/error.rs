//! JSON-RPC errors, and the one table that gives each its number and its HTTP status
//! (MCP 2026-07-28, "Error codes").

use super::ClientFeatures;
use serde::Serialize;
use serde::ser::{SerializeStruct, Serializer};
use serde_json::{Value, json};
use std::borrow::Cow;
use std::time::Duration;

/// What kind of error it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    /// The body is not JSON.
    Parse,
    /// The JSON is not one request or notification.
    InvalidRequest,
    /// The client accepts no form that the answer could have.
    NotAcceptable,
    /// Unknown method, or one this server does not offer.
    MethodNotFound,
    /// Required request metadata is missing or malformed.
    InvalidMeta,
    /// Parameters do not fit, or name something unknown.
    InvalidParams,
    /// There is no such resource. Clients of earlier revisions know another number for it.
    UnknownResource,
    /// The server or the tool failed.
    Internal,
    /// A header is missing, malformed, or differs from the body.
    HeaderMismatch,
    /// The client lacks a capability.
    MissingCapability,
    /// The protocol version is not supported.
    UnsupportedVersion,
    /// A tool's own code.
    Tool(i32),
}

impl Code {
    /// Number on the wire and HTTP status (used while nothing was streamed yet).
    #[must_use]
    pub fn table(self) -> (i32, u16) {
        match self {
            Self::Parse => (-32700, 400),
            Self::InvalidRequest => (-32600, 400),
            Self::NotAcceptable => (-32600, 406),
            Self::MethodNotFound => (-32601, 404),
            Self::InvalidMeta => (-32602, 400),
            Self::InvalidParams | Self::UnknownResource => (-32602, 200),
            Self::Internal => (-32603, 200),
            Self::HeaderMismatch => (-32020, 400),
            Self::MissingCapability => (-32021, 400),
            Self::UnsupportedVersion => (-32022, 400),
            Self::Tool(number) => (number, 200),
        }
    }

    /// A tool's choice of code: invalid params, internal error, or a number outside JSON-RPC's
    /// reserved range. Every other number is reserved and becomes an internal error.
    #[must_use]
    pub fn from_tool(number: i32) -> Self {
        match number {
            -32602 => Self::InvalidParams,
            -32768..=-32000 => Self::Internal,
            other => Self::Tool(other),
        }
    }
}

/// A JSON-RPC error object.
#[derive(Clone, Debug, PartialEq)]
pub struct RpcError {
    /// Its kind.
    pub code: Code,
    /// What went wrong, for a person.
    pub message: Cow<'static, str>,
    /// Details, if the code defines any.
    pub data: Option<Value>,
}

impl RpcError {
    /// An error without data.
    pub fn new(code: Code, message: impl Into<Cow<'static, str>>) -> Self {
        Self {
            code,
            message: message.into(),
            data: None,
        }
    }

    /// `-32602`, in band.
    pub fn invalid_params(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Code::InvalidParams, message)
    }

    /// `-32603`.
    pub fn internal(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Code::Internal, message)
    }

    /// The same, and that it may go well after some time: `data.retryAfterMs`.
    #[must_use]
    pub fn retry_after(self, time: Duration) -> Self {
        let millis = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        Self {
            data: Some(json!({ "retryAfterMs": millis })),
            ..self
        }
    }

    /// `-32020`.
    pub fn header_mismatch(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Code::HeaderMismatch, message)
    }

    /// `-32601`.
    #[must_use]
    pub fn method_not_found() -> Self {
        Self::new(Code::MethodNotFound, "Method not found")
    }

    /// `-32021`, naming what the client would have to declare.
    #[must_use]
    pub fn missing(features: ClientFeatures) -> Self {
        Self {
            code: Code::MissingCapability,
            message: Cow::Owned(format!("Missing required client capability: {features}")),
            data: Some(json!({ "requiredCapabilities": features.to_capabilities() })),
        }
    }

    /// `-32022`, naming what is supported.
    #[must_use]
    pub fn unsupported_version(requested: &str) -> Self {
        Self {
            code: Code::UnsupportedVersion,
            message: Cow::Borrowed("Unsupported protocol version"),
            data: Some(json!({ "supported": [super::PROTOCOL_VERSION], "requested": requested })),
        }
    }
}

impl Serialize for RpcError {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object =
            serializer.serialize_struct("RpcError", 2 + usize::from(self.data.is_some()))?;
        object.serialize_field("code", &self.code.table().0)?;
        object.serialize_field("message", &self.message)?;
        if let Some(data) = &self.data {
            object.serialize_field("data", data)?;
        }
        object.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tools_cannot_use_reserved_codes() {
        for reserved in [
            -32700, -32600, -32601, -32603, -32020, -32021, -32000, -32768,
        ] {
            assert_eq!(Code::from_tool(reserved), Code::Internal);
        }
        assert_eq!(Code::from_tool(-32602), Code::InvalidParams);
        assert_eq!(Code::from_tool(-31999), Code::Tool(-31999));
        assert_eq!(Code::from_tool(7), Code::Tool(7));
    }
}
