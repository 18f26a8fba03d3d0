//! The headers that repeat what is in a request's body (Streamable HTTP, "Standard headers" and
//! "Custom headers from tool parameters").
//!
//! Invariant: every value that comes out is one that HTTP can carry, and decodes to the value in the
//! body.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use reqwest::header::{HeaderName, HeaderValue};
use serde_json::{Map, Value};

/// What a header of an argument begins with.
const PARAM: &str = "mcp-param-";
const OPEN: &str = "=?base64?";
const CLOSE: &str = "?=";

/// The value as it is, or in base64 where HTTP could not carry it.
pub(crate) fn encode(value: &str) -> Option<HeaderValue> {
    let plain = value.bytes().all(|byte| (0x20..=0x7e).contains(&byte))
        && value.trim() == value
        && !(value.starts_with(OPEN) && value.ends_with(CLOSE));
    let encoded = || format!("{OPEN}{}{CLOSE}", STANDARD.encode(value));
    let value = if plain { value.to_owned() } else { encoded() };
    HeaderValue::try_from(value).ok()
}

/// The headers of arguments whose properties say `x-mcp-header`.
pub(crate) fn of_arguments(
    schema: &Map<String, Value>,
    arguments: &Map<String, Value>,
) -> Vec<(HeaderName, HeaderValue)> {
    let mut headers = Vec::new();
    collect(schema, arguments, &mut headers);
    headers
}

/// Only through `properties`: elsewhere the annotation has no meaning.
fn collect(
    schema: &Map<String, Value>,
    arguments: &Map<String, Value>,
    headers: &mut Vec<(HeaderName, HeaderValue)>,
) {
    let Some(Value::Object(properties)) = schema.get("properties") else {
        return;
    };
    for (name, schema) in properties {
        let (Some(schema), Some(value)) = (schema.as_object(), arguments.get(name)) else {
            continue;
        };
        if let Some(Value::String(header)) = schema.get("x-mcp-header") {
            let value = match value {
                Value::String(text) => encode(text),
                Value::Bool(_) | Value::Number(_) => encode(&value.to_string()),
                _ => None,
            };
            let header = HeaderName::try_from(format!("{PARAM}{header}"));
            headers.extend(header.ok().zip(value));
        }
        if let Value::Object(inner) = value {
            collect(schema, inner, headers);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{encode, of_arguments};
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    fn decode(value: &str) -> String {
        let inner = value
            .strip_prefix("=?base64?")
            .and_then(|rest| rest.strip_suffix("?="));
        match inner {
            Some(inner) => {
                let bytes = STANDARD.decode(inner).expect("base64");
                String::from_utf8(bytes).expect("UTF-8")
            }
            None => value.to_owned(),
        }
    }

    proptest! {
        #[test]
        fn any_text_comes_through(text in any::<String>()) {
            let value = encode(&text).expect("a value");
            prop_assert_eq!(decode(value.to_str().expect("ASCII")), text);
        }
    }

    #[test]
    fn what_looks_encoded_is_encoded() {
        let value = encode("=?base64?eA==?=").expect("a value");
        assert_eq!(decode(value.to_str().expect("ASCII")), "=?base64?eA==?=");
    }

    fn object(value: Value) -> serde_json::Map<String, Value> {
        match value {
            Value::Object(object) => object,
            other => panic!("{other}"),
        }
    }

    #[test]
    fn annotated_arguments_become_headers() {
        let schema = object(json!({"properties": {
            "region": {"type": "string", "x-mcp-header": "Region"},
            "dry": {"type": "boolean", "x-mcp-header": "Dry"},
            "none": {"type": "string", "x-mcp-header": "None"},
            "bad": {"type": "string", "x-mcp-header": "a b"},
            "zone": {"properties": {"number": {"type": "integer", "x-mcp-header": "Zone"}}},
            "list": {"items": {"properties": {"x": {"x-mcp-header": "X"}}}},
        }}));
        let arguments = object(json!({
            "region": "zürich", "dry": true, "none": null, "bad": "x",
            "zone": {"number": 7}, "list": [{"x": 1}],
        }));
        let headers: Vec<(String, String)> = of_arguments(&schema, &arguments)
            .into_iter()
            .map(|(name, value)| {
                let value = value.to_str().expect("ASCII");
                (name.as_str().to_owned(), decode(value))
            })
            .collect();
        let expected = [
            ("mcp-param-region", "zürich"),
            ("mcp-param-dry", "true"),
            ("mcp-param-zone", "7"),
        ];
        assert_eq!(headers, expected.map(|(a, b)| (a.to_owned(), b.to_owned())));
    }
}
