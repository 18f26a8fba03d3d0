//! What came of a request, in the form a journal keeps.
//!
//! Invariant: the form on disk is postcard's, by the order of the variants and fields: new variants
//! go to the end, and none changes.

use hyper::header::{HeaderName, HeaderValue};
use hyper::{HeaderMap, StatusCode};
use serde::{Deserialize, Serialize};

/// What came of a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Answer {
    /// The server answered.
    Response {
        /// Status.
        status: u16,
        /// Headers in their order.
        headers: Vec<(String, Vec<u8>)>,
        /// Body.
        body: Vec<u8>,
    },
    /// There is no answer.
    Failed(Failure),
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum Failure {
    /// The host is not granted.
    #[error("the host is not granted")]
    NotGranted,
    /// The URL has no host, or names a user.
    #[error("the URL is not one of http or https with a host")]
    Url,
    /// The name leads to an address that may not be dialled.
    #[error("the host is at no public address")]
    NotPublic,
    /// The name is not known.
    #[error("the host's name cannot be resolved")]
    NotFound,
    /// As many connections as may be are open.
    #[error("too many connections")]
    Connections,
    /// Nobody listens.
    #[error("the connection was refused")]
    Refused,
    /// It took too long to connect.
    #[error("connecting took too long")]
    ConnectTime,
    /// The other side's certificate is not trusted.
    #[error("the certificate is not trusted: {0}")]
    Certificate(String),
    /// No common protocol.
    #[error("TLS failed: {0}")]
    Tls(String),
    /// The request's body was not finished, or is not as long as it says.
    #[error("the request's body is not whole")]
    RequestBody,
    /// The answer took too long.
    #[error("the answer took too long")]
    Time,
    /// The answer's head is too large.
    #[error("the answer's head is larger than {0} bytes")]
    Head(u32),
    /// The answer's body is too large.
    #[error("the answer's body is larger than {0} bytes")]
    Body(u64),
    /// The connection ended early, or the other side does not speak HTTP.
    #[error("the answer is no HTTP")]
    Protocol,
    /// What leads to the request could not be stored, so it was not sent.
    #[error("the call's journal could not be stored")]
    NotStored,
}

impl Failure {
    /// True if a limit of the grant or of the tenant was reached.
    #[must_use]
    pub fn is_limit(&self) -> bool {
        matches!(
            self,
            Self::Connections | Self::ConnectTime | Self::Time | Self::Head(_) | Self::Body(_)
        )
    }
}

impl Answer {
    /// Its form in a journal.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        // Only a serializer that refuses could fail, and an answer is plain data.
        postcard::to_allocvec(self).unwrap_or_default()
    }

    /// Reads that form.
    #[must_use]
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        postcard::from_bytes(bytes).ok()
    }
}

/// Status and headers; those that are none are left out.
#[must_use]
pub fn head(status: u16, headers: &[(String, Vec<u8>)]) -> (StatusCode, HeaderMap) {
    let pairs = headers.iter().filter_map(|(name, value)| {
        let name = HeaderName::from_bytes(name.as_bytes()).ok()?;
        Some((name, HeaderValue::from_bytes(value).ok()?))
    });
    let mut map = HeaderMap::new();
    for (name, value) in pairs {
        map.append(name, value);
    }
    (StatusCode::from_u16(status).unwrap_or_default(), map)
}
