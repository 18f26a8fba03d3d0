//! The outermost layer: bytes to one JSON-RPC request or notification.
//!
//! Invariant: everything borrows from the body; nothing is copied, and the id stays as it came.

use super::error::{Code, RpcError};
use super::id::{IdError, check_id};
use super::json::{JsonError, scan};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use std::borrow::Cow;

/// How much JSON one message may have.
#[derive(Clone, Copy, Debug)]
pub struct JsonBounds {
    /// Deepest nesting (`server.max-json-depth`).
    pub depth: usize,
    /// Values, as [`scan`] counts them (`server.max-json-values`).
    pub values: usize,
}

/// What a client sent.
#[derive(Debug)]
pub enum Incoming<'a> {
    /// A request or a notification.
    Message(Message<'a>),
    /// An answer to a request of the server's. Only clients of earlier revisions get such.
    Response(Response<'a>),
}

/// One JSON-RPC response.
#[derive(Debug)]
pub struct Response<'a> {
    /// The id of the request that it answers.
    pub id: &'a RawValue,
    /// The result, or the error object.
    pub outcome: Result<&'a RawValue, &'a RawValue>,
}

/// One JSON-RPC request or notification.
#[derive(Debug)]
pub struct Message<'a> {
    /// The id of a request, a string or an integer as it came; none for a notification.
    pub id: Option<&'a RawValue>,
    /// The method.
    pub method: Cow<'a, str>,
    /// The parameters, if any.
    pub params: Option<&'a RawValue>,
}

/// The members of a JSON-RPC message, before it is known which kind it is.
#[derive(Debug, Deserialize)]
pub struct Envelope<'a> {
    #[serde(borrow)]
    jsonrpc: Option<&'a RawValue>,
    /// Present even if it is null, which is no id.
    #[serde(borrow, default, deserialize_with = "present")]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    method: Option<&'a RawValue>,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    result: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

impl<'a> Envelope<'a> {
    /// Reads one message.
    ///
    /// # Errors
    /// The JSON-RPC error to answer with, and the id if it could be read.
    pub fn read(
        body: &'a [u8],
        bounds: JsonBounds,
    ) -> Result<Incoming<'a>, (RpcError, Option<&'a RawValue>)> {
        let parse_error = |what: String| {
            (
                RpcError::new(Code::Parse, format!("Parse error: {what}")),
                None,
            )
        };
        let json = std::str::from_utf8(body).map_err(|_| parse_error("not UTF-8".to_owned()))?;
        let too_deep = |error| parse_error(format!("{error} (limit server.max-json-depth)"));
        let values = scan(body, bounds.depth).map_err(too_deep)?;
        let invalid = |what: Cow<'static, str>| RpcError::new(Code::InvalidRequest, what);

        if !json.trim_start().starts_with('{') {
            serde_json::from_str::<&RawValue>(json)
                .map_err(|error| parse_error(error.to_string()))?;
            return Err((
                invalid("Expected one JSON-RPC object; batches are not supported".into()),
                None,
            ));
        }
        if values > bounds.values {
            let error = JsonError::TooMany(bounds.values);
            return Err(parse_error(format!(
                "{error} (limit server.max-json-values)"
            )));
        }
        let envelope: Self = serde_json::from_str(json).map_err(|error| {
            if error.is_data() {
                (
                    RpcError::new(Code::InvalidRequest, format!("Invalid request: {error}")),
                    None,
                )
            } else {
                parse_error(error.to_string())
            }
        })?;

        let id = envelope.id;
        if let Some(Err(fault)) = id.map(check_id) {
            // A long one can be sent back this once, so that its client knows what was refused.
            let told = id.filter(|_| fault == IdError::TooLong);
            return Err((invalid(format!("The id {fault}").into()), told));
        }
        if envelope.jsonrpc.map(RawValue::get) != Some("\"2.0\"") {
            return Err((invalid("\"jsonrpc\" must be \"2.0\"".into()), id));
        }
        let outcome = match (envelope.result, envelope.error) {
            (Some(result), None) => Some(Ok(result)),
            (None, Some(error)) => Some(Err(error)),
            _ => None,
        };
        match (envelope.method, id, outcome) {
            (None, Some(id), Some(outcome)) => Ok(Incoming::Response(Response { id, outcome })),
            (None, ..) => Err((Self::no_method(), id)),
            (Some(method), ..) => match text(method) {
                Some(method) => Ok(Incoming::Message(Message {
                    id,
                    method,
                    params: envelope.params,
                })),
                None => Err((invalid("The method must be a string".into()), id)),
            },
        }
    }

    /// The error for what is neither a request nor a notification.
    #[must_use]
    pub fn no_method() -> RpcError {
        RpcError::new(
            Code::InvalidRequest,
            "Expected a request or a notification: no method",
        )
    }
}

/// Tells a null from an absent member.
pub(crate) fn present<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

/// The text of a JSON string; borrows where it has no escapes.
pub(crate) fn text(value: &RawValue) -> Option<Cow<'_, str>> {
    read_text(value).ok()
}

/// The same, with the reader's reason if it is none.
pub(super) fn read_text(value: &RawValue) -> Result<Cow<'_, str>, serde_json::Error> {
    #[derive(Deserialize)]
    struct Text<'a>(#[serde(borrow)] Cow<'a, str>);
    serde_json::from_str::<Text<'_>>(value.get()).map(|text| text.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOUNDS: JsonBounds = JsonBounds {
        depth: 64,
        values: 100,
    };

    fn code(body: &str) -> i32 {
        match Envelope::read(body.as_bytes(), BOUNDS) {
            Ok(Incoming::Message(_)) => 0,
            Ok(Incoming::Response(_)) => 1,
            Err((error, _)) => error.code.table().0,
        }
    }

    #[test]
    fn only_one_object_with_a_method() {
        assert_eq!(code(r#"{"jsonrpc":"2.0","id":1,"method":"x"}"#), 0);
        assert_eq!(code(r#"{"jsonrpc":"2.0","method":"x"}"#), 0);
        for (body, expected) in [
            ("", -32700),
            ("{", -32700),
            ("nope", -32700),
            ("[", -32700),
            ("[]", -32600),
            ("1", -32600),
            (r#"[{"jsonrpc":"2.0","id":1,"method":"x"}]"#, -32600),
            (r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, 1),
            (r#"{"jsonrpc":"2.0","id":1,"result":null}"#, 1),
            (r#"{"jsonrpc":"2.0","id":1,"error":{"code":-1}}"#, 1),
            (r#"{"jsonrpc":"2.0","id":1,"result":{},"error":{}}"#, -32600),
            (r#"{"jsonrpc":"2.0","result":{}}"#, -32600),
            (r#"{"jsonrpc":"2.0","id":null,"method":"x"}"#, -32600),
            (r#"{"jsonrpc":"2.0","id":1.5,"method":"x"}"#, -32600),
            (r#"{"jsonrpc":"2.0","id":{},"method":"x"}"#, -32600),
            (r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"x"}"#, -32600),
            (r#"{"jsonrpc":"1.0","id":1,"method":"x"}"#, -32600),
            (r#"{"id":1,"method":"x"}"#, -32600),
            (r#"{"jsonrpc":"2.0","id":1,"method":5}"#, -32600),
            (r#"{"jsonrpc":"2.0","id":1,"method":"x"} trailing"#, -32700),
        ] {
            assert_eq!(code(body), expected, "{body}");
        }
        assert_eq!(code(&"[".repeat(65)), -32700);
        let (error, _) = Envelope::read(b"\xff", BOUNDS).unwrap_err();
        assert_eq!(error.code, Code::Parse);
    }

    #[test]
    fn a_long_id_is_refused_by_its_id_and_an_unreadable_one_is_not_sent_back() {
        let refused = |id: &str| {
            let body = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"x"}}"#);
            let (error, told) = Envelope::read(body.as_bytes(), BOUNDS).unwrap_err();
            assert_eq!(error.code, Code::InvalidRequest);
            told.map(|told| told.get().to_owned())
        };
        let long = "9".repeat(5_000);
        assert_eq!(refused(&long), Some(long));
        assert_eq!(refused(r#""\ud800""#), None);
        assert_eq!(refused("null"), None);
    }

    #[test]
    fn a_message_has_so_many_values_and_names_the_limit() {
        let body = |values: usize| {
            let values = vec!["[]"; values].join(",");
            format!(r#"{{"jsonrpc":"2.0","id":1,"method":"x","params":[{values}]}}"#)
        };
        // Itself, its members and the array: six; and two for each empty array but the comma's.
        assert_eq!(code(&body(47)), 0);
        let too_many = body(48);
        let (error, id) = Envelope::read(too_many.as_bytes(), BOUNDS).unwrap_err();
        assert!(error.code == Code::Parse && id.is_none());
        assert!(
            error
                .message
                .contains("100 values (limit server.max-json-values)"),
            "{error:?}"
        );
        // What is no single message is told so, however many values it has.
        assert_eq!(code(&format!("[{}1]", "1,".repeat(200))), -32600);
    }

    #[test]
    fn the_id_is_kept_to_the_letter() {
        for id in [
            "1796000000000",
            "-7",
            "\"a\\u0062\"",
            "123456789012345678901234567890",
        ] {
            let body = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"x"}}"#);
            let Ok(Incoming::Message(message)) = Envelope::read(body.as_bytes(), BOUNDS) else {
                panic!("it is a request");
            };
            assert_eq!(message.id.unwrap().get(), id);
        }
    }
}
