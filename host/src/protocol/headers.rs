//! The headers that repeat the body (MCP 2026-07-28, "Streamable HTTP", request headers), and the
//! arguments that a tool's schema wants repeated (`x-mcp-header`).
//!
//! Invariant: header and body agree, or the request is refused with `-32020`.

use super::error::RpcError;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hyper::header::HeaderMap;
use serde_json::{Map, Value};
use std::borrow::Cow;

/// A view of a request's headers; of none on transports that have none, where nothing is repeated.
#[derive(Clone, Copy, Debug)]
pub struct Headers<'a>(pub Option<&'a HeaderMap>);

impl Headers<'_> {
    /// `MCP-Protocol-Version` against the metadata.
    ///
    /// # Errors
    /// `-32020`.
    pub fn check_version(&self, version: &str) -> Result<(), RpcError> {
        self.check("MCP-Protocol-Version", version, true, false)
    }

    /// `Mcp-Method` against the method.
    ///
    /// # Errors
    /// `-32020`.
    pub fn check_method(&self, method: &str) -> Result<(), RpcError> {
        self.check("Mcp-Method", method, true, false)
    }

    /// `Mcp-Name` against the name, URI or task id in the parameters.
    ///
    /// # Errors
    /// `-32020`.
    pub fn check_name(&self, name: &str, required: bool) -> Result<(), RpcError> {
        self.check("Mcp-Name", name, required, true)
    }

    /// `Mcp-Param-*` against the arguments.
    ///
    /// # Errors
    /// `-32020`.
    pub fn check_params(
        &self,
        params: &[HeaderParam],
        arguments: &Map<String, Value>,
    ) -> Result<(), RpcError> {
        for param in params.iter().filter(|_| self.0.is_some()) {
            let Some(argument) = param.find(arguments) else {
                continue;
            };
            let value = self
                .single(&param.header)?
                .ok_or_else(|| missing(&param.header))?;
            let value = decode(value).ok_or_else(|| malformed(&param.header))?;
            if !same(&value, argument) {
                return Err(differs(&param.header));
            }
        }
        Ok(())
    }

    fn check(
        &self,
        header: &str,
        expected: &str,
        required: bool,
        encoded: bool,
    ) -> Result<(), RpcError> {
        let Some(value) = self.single(header)? else {
            return if required && self.0.is_some() {
                Err(missing(header))
            } else {
                Ok(())
            };
        };
        let value = if encoded {
            decode(value).ok_or_else(|| malformed(header))?
        } else {
            Cow::Borrowed(value)
        };
        if value == expected {
            Ok(())
        } else {
            Err(differs(header))
        }
    }

    /// The one value of a header, without the white space around it.
    fn single(&self, header: &str) -> Result<Option<&str>, RpcError> {
        let Some(headers) = self.0 else {
            return Ok(None);
        };
        let mut values = headers.get_all(header).iter();
        let Some(value) = values.next() else {
            return Ok(None);
        };
        if values.next().is_some() {
            return Err(RpcError::header_mismatch(format!(
                "Header {header} occurs twice"
            )));
        }
        let value = value.to_str().map_err(|_| malformed(header))?;
        Ok(Some(value.trim_matches([' ', '\t'])))
    }
}

fn missing(header: &str) -> RpcError {
    RpcError::header_mismatch(format!("Header {header} is missing"))
}

fn malformed(header: &str) -> RpcError {
    RpcError::header_mismatch(format!("Header {header} is malformed"))
}

fn differs(header: &str) -> RpcError {
    RpcError::header_mismatch(format!("Header {header} differs from the request body"))
}

/// Undoes the base64 form `=?base64?…?=`; anything else is literal. `None` if what it wraps is not
/// strict base64 of UTF-8.
fn decode(value: &str) -> Option<Cow<'_, str>> {
    let Some(encoded) = value
        .strip_prefix("=?base64?")
        .and_then(|rest| rest.strip_suffix("?="))
    else {
        return Some(Cow::Borrowed(value));
    };
    let bytes = STANDARD.decode(encoded).ok()?;
    String::from_utf8(bytes).ok().map(Cow::Owned)
}

/// Compares a header's text with an argument; numbers by value.
fn same(text: &str, argument: &Value) -> bool {
    match argument {
        Value::String(string) => string == text,
        Value::Bool(boolean) => text == if *boolean { "true" } else { "false" },
        Value::Number(number) => {
            if number
                .as_i64()
                .is_some_and(|number| text.parse() == Ok(number))
            {
                return true;
            }
            let plain = text
                .bytes()
                .all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte));
            plain
                && number
                    .as_f64()
                    .zip(text.parse().ok())
                    .is_some_and(|(a, b): (f64, f64)| a == b)
        }
        _ => false,
    }
}

/// One argument that must be repeated in a header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeaderParam {
    /// Full header name, `Mcp-Param-…`.
    pub header: String,
    /// Property names from the root of the arguments.
    pub path: Vec<String>,
}

impl HeaderParam {
    /// The argument, if it is there and not null.
    fn find<'v>(&self, arguments: &'v Map<String, Value>) -> Option<&'v Value> {
        let (first, rest) = self.path.split_first()?;
        let mut value = arguments.get(first)?;
        for name in rest {
            value = value.get(name)?;
        }
        (!value.is_null()).then_some(value)
    }
}

/// What is wrong with an `x-mcp-header` annotation.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum HeaderParamError {
    /// Not an HTTP token.
    #[error("x-mcp-header at {0} is not an HTTP token")]
    NotAToken(String),
    /// Two annotations with one name.
    #[error("x-mcp-header {0:?} occurs twice")]
    Duplicate(String),
    /// On a type that cannot be a header.
    #[error("x-mcp-header at {0} is on a property that is not a string, an integer or a boolean")]
    WrongType(String),
    /// Not reachable through `properties` alone.
    #[error("x-mcp-header at {0} is not reached through \"properties\" alone")]
    Unreachable(String),
}

/// Collects the `x-mcp-header` annotations of an input schema.
///
/// # Errors
/// The first annotation that clients would have to refuse.
pub fn header_params(schema: &Value) -> Result<Vec<HeaderParam>, HeaderParamError> {
    let mut found = Vec::new();
    collect(schema, "#", Some(Vec::new()), &mut found)?;
    Ok(found)
}

fn collect(
    schema: &Value,
    place: &str,
    path: Option<Vec<String>>,
    found: &mut Vec<HeaderParam>,
) -> Result<(), HeaderParamError> {
    let Some(schema) = schema.as_object() else {
        return Ok(());
    };
    if let Some(annotation) = schema.get("x-mcp-header") {
        let path = path.clone().filter(|path| !path.is_empty());
        let path = path.ok_or_else(|| HeaderParamError::Unreachable(place.to_owned()))?;
        let token = annotation.as_str().filter(|token| is_token(token));
        let token = token.ok_or_else(|| HeaderParamError::NotAToken(place.to_owned()))?;
        let kind = schema.get("type").and_then(Value::as_str);
        if !matches!(kind, Some("string" | "integer" | "boolean")) {
            return Err(HeaderParamError::WrongType(place.to_owned()));
        }
        let header = format!("Mcp-Param-{token}");
        if found
            .iter()
            .any(|param| param.header.eq_ignore_ascii_case(&header))
        {
            return Err(HeaderParamError::Duplicate(token.to_owned()));
        }
        found.push(HeaderParam { header, path });
    }
    for (keyword, value) in schema {
        let place = format!("{place}/{keyword}");
        match (keyword.as_str(), value) {
            ("properties", Value::Object(properties)) => {
                for (name, property) in properties {
                    let mut path = path.clone();
                    if let Some(path) = &mut path {
                        path.push(name.clone());
                    }
                    collect(property, &format!("{place}/{name}"), path, found)?;
                }
            }
            (
                "patternProperties" | "$defs" | "definitions" | "dependentSchemas",
                Value::Object(map),
            ) => {
                for (name, value) in map {
                    collect(value, &format!("{place}/{name}"), None, found)?;
                }
            }
            ("const" | "enum" | "default" | "examples", _) => {}
            (_, Value::Object(_)) => collect(value, &place, None, found)?,
            (_, Value::Array(items)) => {
                for item in items {
                    collect(item, &place, None, found)?;
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// RFC 9110 `token`.
fn is_token(text: &str) -> bool {
    !text.is_empty()
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_base64_form_is_strict_and_all_else_is_literal() {
        assert_eq!(decode("plain").unwrap(), "plain");
        assert_eq!(decode("=?base64?SGVsbG8=?=").unwrap(), "Hello");
        assert_eq!(
            decode("=?base64?SGVsbG8="),
            Some(Cow::Borrowed("=?base64?SGVsbG8="))
        );
        assert_eq!(decode("SGVsbG8=?=").unwrap(), "SGVsbG8=?=");
        assert_eq!(
            decode("=?BASE64?SGVsbG8=?=").unwrap(),
            "=?BASE64?SGVsbG8=?="
        );
        for bad in [
            "=?base64?SGVsbG8?=",
            "=?base64?SGVs!!!bG8=?=",
            "=?base64?/w==?=",
        ] {
            assert_eq!(decode(bad), None, "{bad}");
        }
    }

    #[test]
    fn arguments_compare_by_value() {
        assert!(same("42", &json!(42)) && same("42.0", &json!(42)) && same("true", &json!(true)));
        assert!(same("x", &json!("x")) && same("42", &json!("42")));
        for (text, value) in [
            ("43", json!(42)),
            ("inf", json!(42)),
            ("True", json!(true)),
            ("x", json!(null)),
            ("", json!(0)),
        ] {
            assert!(!same(text, &value), "{text}");
        }
        assert!(same("9007199254740993", &json!(9_007_199_254_740_993_i64)));
    }

    #[test]
    fn annotations_are_found_at_any_depth_of_properties_only() {
        let schema = json!({"type":"object","properties":{
            "region":{"type":"string","x-mcp-header":"Region"},
            "x-mcp-header":{"type":"string"},
            "deep":{"type":"object","properties":{"n":{"type":"integer","x-mcp-header":"N"}}}}});
        let params = header_params(&schema).unwrap();
        assert_eq!(params.len(), 2);
        assert_eq!(
            params[1],
            HeaderParam {
                header: "Mcp-Param-N".into(),
                path: vec!["deep".into(), "n".into()]
            }
        );
        let at =
            |property: Value| header_params(&json!({"properties":{"p":property}})).unwrap_err();
        assert!(matches!(
            at(json!({"type":"number","x-mcp-header":"N"})),
            HeaderParamError::WrongType(_)
        ));
        assert!(matches!(
            at(json!({"type":"string","x-mcp-header":"a b"})),
            HeaderParamError::NotAToken(_)
        ));
        assert!(matches!(
            at(json!({"type":"array","items":{"type":"string","x-mcp-header":"N"}})),
            HeaderParamError::Unreachable(_)
        ));
        assert!(matches!(
            header_params(
                &json!({"properties":{"a":{"type":"string","x-mcp-header":"N"},"b":{"type":"string","x-mcp-header":"n"}}})
            ),
            Err(HeaderParamError::Duplicate(_))
        ));
    }
}
