//! JSON-RPC messages as bytes.

use super::RpcError;
use bytes::Bytes;
use serde::Serialize;
use serde_json::value::RawValue;

#[derive(Serialize)]
struct Success<'a, R> {
    jsonrpc: &'static str,
    id: &'a RawValue,
    result: R,
}

#[derive(Serialize)]
struct Failure<'a> {
    jsonrpc: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a RawValue>,
    error: &'a RpcError,
}

#[derive(Serialize)]
struct Notification<'a, P> {
    jsonrpc: &'static str,
    method: &'a str,
    params: P,
}

/// A response with a result. The id is echoed as it came.
pub fn success<R: Serialize>(id: &RawValue, result: R) -> Bytes {
    bytes(&Success {
        jsonrpc: "2.0",
        id,
        result,
    })
}

/// An error response. Without a readable id the member is left out.
#[must_use]
pub fn failure(id: Option<&RawValue>, error: &RpcError) -> Bytes {
    bytes(&Failure {
        jsonrpc: "2.0",
        id,
        error,
    })
}

/// A notification.
pub fn notification<P: Serialize>(method: &str, params: P) -> Bytes {
    bytes(&Notification {
        jsonrpc: "2.0",
        method,
        params,
    })
}

fn bytes<T: Serialize>(message: &T) -> Bytes {
    #[expect(clippy::expect_used, reason = "maps with non-string keys do not occur")]
    Bytes::from(serde_json::to_vec(message).expect("message serializes"))
}
