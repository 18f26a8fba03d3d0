//! Questions to the client, and what counts as an answer (MCP 2026-07-28,
//! elicitation, sampling and roots; SEP-2663, `inputRequests`).
//!
//! Invariant: only well-formed requests are stored, and only well-formed answers reach a guest.

use super::features::ClientFeatures;
use super::schema::Schema;
use serde_json::{Map, Value, json};

/// A question.
#[derive(Clone, Debug, PartialEq)]
pub enum InputRequest {
    /// A form for the user.
    Form {
        /// What is asked.
        message: String,
        /// MCP's restricted schema.
        schema: Value,
    },
    /// A page for the user.
    Url {
        /// What is asked.
        message: String,
        /// Absolute http(s) URL.
        url: String,
    },
    /// A question to the model: `sampling/createMessage` parameters.
    Sampling(Map<String, Value>),
    /// The client's root folders.
    Roots,
}

/// Why a request is malformed.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("{0}")]
pub struct RequestError(String);

/// Why an answer is malformed.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("{0}")]
pub struct AnswerError(String);

impl InputRequest {
    /// Checks the request and gives its form on the wire: method and params.
    ///
    /// # Errors
    /// What is malformed.
    pub fn to_wire(&self) -> Result<Value, RequestError> {
        let bad = |what: &str| Err(RequestError(what.to_owned()));
        match self {
            Self::Form { message, schema } => {
                if message.is_empty() {
                    return bad("the message is empty");
                }
                let schema = form_schema(schema).map_err(RequestError)?;
                Ok(json!({
                    "method": "elicitation/create",
                    "params": { "mode": "form", "message": message, "requestedSchema": schema },
                }))
            }
            Self::Url { message, url } => {
                let rest = url
                    .strip_prefix("https://")
                    .or_else(|| url.strip_prefix("http://"));
                let fits = rest.is_some_and(|rest| !rest.is_empty() && !rest.starts_with('/'));
                if !fits || url.contains(|c: char| c.is_whitespace() || c.is_control()) {
                    return bad("the url must be an absolute http or https URL");
                }
                Ok(json!({
                    "method": "elicitation/create",
                    "params": { "mode": "url", "message": message, "url": url },
                }))
            }
            Self::Sampling(params) => {
                let empty = |value: &Value| value.as_array().is_none_or(Vec::is_empty);
                if params.get("messages").is_none_or(empty) {
                    return bad("sampling needs at least one message");
                }
                if params
                    .get("maxTokens")
                    .and_then(Value::as_u64)
                    .is_none_or(|max| max == 0)
                {
                    return bad("max-tokens must be at least 1");
                }
                if params.get("tools").is_some_and(|tools| !tools.is_array()) {
                    return bad("tools must be a JSON array");
                }
                for key in ["metadata", "modelPreferences", "toolChoice"] {
                    if params.get(key).is_some_and(|value| !value.is_object()) {
                        return Err(RequestError(format!("{key} must be a JSON object")));
                    }
                }
                Ok(json!({ "method": "sampling/createMessage", "params": params }))
            }
            Self::Roots => Ok(json!({ "method": "roots/list" })),
        }
    }
}

/// MCP's restricted schema: a flat object of primitive properties. Gives the schema as it is sent;
/// annotations that MCP does not name at the top are left out.
fn form_schema(schema: &Value) -> Result<Value, String> {
    Schema::compile(schema).map_err(|error| format!("the form's schema: {error}"))?;
    let object = schema
        .as_object()
        .ok_or("the form's schema must be a JSON object")?;
    if object.get("type") != Some(&json!("object")) {
        return Err("the form's schema needs \"type\": \"object\"".to_owned());
    }
    let properties = object
        .get("properties")
        .and_then(Value::as_object)
        .ok_or("the form's schema needs \"properties\"")?;
    for key in object.keys() {
        let known = ["$schema", "type", "properties", "required"].contains(&key.as_str());
        let dropped = ["title", "description", "additionalProperties"].contains(&key.as_str());
        if !known && !dropped {
            return Err(format!("a form's schema cannot use {key:?}"));
        }
    }
    for (name, property) in properties {
        property_fits(property).map_err(|what| format!("form property {name:?}: {what}"))?;
    }
    if let Some(required) = object.get("required") {
        let names = required.as_array().ok_or("\"required\" must be an array")?;
        let unknown = |name: &&Value| {
            name.as_str()
                .is_none_or(|name| !properties.contains_key(name))
        };
        if let Some(name) = names.iter().find(unknown) {
            return Err(format!("\"required\" names {name}, which is no property"));
        }
    }
    let kept = ["$schema", "type", "properties", "required"];
    let kept = kept
        .iter()
        .filter_map(|&key| Some((key.to_owned(), object.get(key)?.clone())));
    Ok(Value::Object(kept.collect()))
}

fn property_fits(property: &Value) -> Result<(), String> {
    let object = property.as_object().ok_or("must be an object")?;
    let kind = object
        .get("type")
        .and_then(Value::as_str)
        .ok_or("needs a \"type\"")?;
    let allowed: &[&str] = match kind {
        "string" => &[
            "minLength",
            "maxLength",
            "pattern",
            "format",
            "default",
            "enum",
            "enumNames",
            "oneOf",
        ],
        "number" | "integer" => &["minimum", "maximum", "default"],
        "boolean" => &["default"],
        "array" => &["items", "minItems", "maxItems", "default"],
        other => {
            return Err(format!(
                "type {other:?} is not one of string, number, integer, boolean, array"
            ));
        }
    };
    for key in object.keys() {
        if !["type", "title", "description"].contains(&key.as_str())
            && !allowed.contains(&key.as_str())
        {
            return Err(format!("{key:?} does not go with type {kind:?}"));
        }
    }
    if let Some(format) = object.get("format")
        && !["email", "uri", "date", "date-time"]
            .iter()
            .any(|&known| format == known)
    {
        return Err(format!(
            "format {format} is not one of email, uri, date, date-time"
        ));
    }
    if kind == "array" {
        let items = object.get("items").and_then(Value::as_object);
        if !items.is_some_and(|items| items.contains_key("enum") || items.contains_key("anyOf")) {
            return Err("an array needs \"items\" with \"enum\" or \"anyOf\"".to_owned());
        }
    }
    Ok(())
}

/// What a client must have declared to be sent a request, in its form on the wire.
#[must_use]
pub fn request_features(request: &Value) -> ClientFeatures {
    let params = &request["params"];
    match request["method"].as_str() {
        Some("elicitation/create") if params["mode"] == "url" => ClientFeatures::ELICITATION_URL,
        Some("elicitation/create") => ClientFeatures::ELICITATION_FORM,
        Some("sampling/createMessage")
            if params.get("tools").is_some() || params.get("toolChoice").is_some() =>
        {
            ClientFeatures::SAMPLING | ClientFeatures::SAMPLING_TOOLS
        }
        Some("sampling/createMessage") => ClientFeatures::SAMPLING,
        Some("roots/list") => ClientFeatures::ROOTS,
        _ => ClientFeatures::empty(),
    }
}

/// Checks an answer against the request it belongs to, both in their form on the wire.
///
/// # Errors
/// What is malformed.
pub fn check_answer(request: &Value, answer: &Value) -> Result<(), AnswerError> {
    let bad = |what: &str| Err(AnswerError(what.to_owned()));
    let Some(object) = answer.as_object() else {
        return bad("must be an object");
    };
    let params = &request["params"];
    match request["method"].as_str() {
        Some("elicitation/create") => match object.get("action").and_then(Value::as_str) {
            Some("decline" | "cancel") => Ok(()),
            Some("accept") if params["mode"] == "url" => Ok(()),
            Some("accept") => form_content(&params["requestedSchema"], object.get("content")),
            _ => bad("\"action\" must be accept, decline or cancel"),
        },
        Some("sampling/createMessage") => {
            let content = object.get("content");
            let block = |block: &Value| block.get("type").is_some_and(Value::is_string);
            let fits = content.is_some_and(|content| match content {
                Value::Array(blocks) => blocks.iter().all(block),
                other => block(other),
            });
            if !fits {
                return bad("\"content\" must be a content block or an array of them");
            }
            if !matches!(
                object.get("role").and_then(Value::as_str),
                Some("user" | "assistant")
            ) {
                return bad("\"role\" must be user or assistant");
            }
            if !object.get("model").is_some_and(Value::is_string) {
                return bad("\"model\" must be a string");
            }
            Ok(())
        }
        Some("roots/list") => {
            let root = |root: &Value| {
                root.get("uri").is_some_and(Value::is_string)
                    && root.get("name").is_none_or(Value::is_string)
            };
            match object.get("roots") {
                Some(Value::Array(roots)) if roots.iter().all(root) => Ok(()),
                _ => bad("\"roots\" must be an array of objects with a uri"),
            }
        }
        _ => bad("belongs to no known request"),
    }
}

fn form_content(schema: &Value, content: Option<&Value>) -> Result<(), AnswerError> {
    let empty = json!({});
    let content = content.unwrap_or(&empty);
    let Some(object) = content.as_object() else {
        return Err(AnswerError("\"content\" must be an object".to_owned()));
    };
    let primitive = |value: &Value| match value {
        Value::Array(items) => items.iter().all(Value::is_string),
        other => other.is_string() || other.is_number() || other.is_boolean(),
    };
    if let Some((name, _)) = object.iter().find(|(_, value)| !primitive(value)) {
        return Err(AnswerError(format!(
            "content {name:?} must be a string, a number, a boolean or an array of strings"
        )));
    }
    let schema = Schema::compile(schema)
        .map_err(|error| AnswerError(format!("the form cannot be checked: {error}")))?;
    schema
        .check(content)
        .map_err(|reason| AnswerError(format!("content does not fit the form: {reason}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form(schema: Value) -> Result<Value, RequestError> {
        InputRequest::Form {
            message: "?".to_owned(),
            schema,
        }
        .to_wire()
    }

    #[test]
    fn forms_are_flat() {
        let good = json!({"title":"T","type":"object","additionalProperties":false,"required":["a"],"properties":{
            "a":{"type":"string","minLength":1,"format":"email"},
            "b":{"type":"integer","minimum":0},
            "c":{"type":"array","items":{"type":"string","enum":["x"]}},
            "d":{"type":"string","oneOf":[{"const":"x","title":"X"}]}}});
        let wire = form(good).unwrap();
        assert!(wire["params"]["requestedSchema"].get("title").is_none());
        for bad in [
            json!([]),
            json!({"type":"object"}),
            json!({"type":"array","properties":{}}),
            json!({"type":"object","properties":{"a":{"type":"object","properties":{}}}}),
            json!({"type":"object","properties":{"a":{"type":"string","minimum":1}}}),
            json!({"type":"object","properties":{"a":{"type":"string","format":"ipv4"}}}),
            json!({"type":"object","properties":{"a":{"type":"array"}}}),
            json!({"type":"object","properties":{},"required":["x"]}),
            json!({"type":"object","properties":{},"allOf":[]}),
        ] {
            assert!(form(bad.clone()).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_request_needs_what_its_client_must_be_able_to_do() {
        let sampling = |more: Option<(&str, Value)>| {
            let mut params = Map::new();
            params.insert("messages".into(), json!([{}]));
            params.insert("maxTokens".into(), json!(1));
            params.extend(more.map(|(key, value)| (key.to_owned(), value)));
            InputRequest::Sampling(params)
        };
        let with_tools = ClientFeatures::SAMPLING | ClientFeatures::SAMPLING_TOOLS;
        let form = InputRequest::Form {
            message: "?".to_owned(),
            schema: json!({ "type": "object", "properties": {} }),
        };
        let url = InputRequest::Url {
            message: "?".to_owned(),
            url: "https://a.example".to_owned(),
        };
        for (request, features) in [
            (form, ClientFeatures::ELICITATION_FORM),
            (url, ClientFeatures::ELICITATION_URL),
            (sampling(None), ClientFeatures::SAMPLING),
            (sampling(Some(("tools", json!([])))), with_tools),
            (sampling(Some(("toolChoice", json!({})))), with_tools),
            (InputRequest::Roots, ClientFeatures::ROOTS),
        ] {
            let wire = request.to_wire().unwrap();
            assert_eq!(request_features(&wire), features, "{wire}");
        }
    }

    #[test]
    fn urls_are_absolute_http() {
        let url = |url: &str| {
            InputRequest::Url {
                message: "m".into(),
                url: url.into(),
            }
            .to_wire()
            .is_ok()
        };
        assert!(url("https://a.example/x?y=1") && url("http://localhost:1"));
        assert!(
            !url("ftp://a")
                && !url("https://")
                && !url("//a")
                && !url("https:///x")
                && !url("https://a b")
        );
    }

    #[test]
    fn answers_fit_their_request() {
        let request = form(json!({"type":"object","properties":{"n":{"type":"number","maximum":2}},"required":["n"]})).unwrap();
        let good = |answer: Value| check_answer(&request, &answer).is_ok();
        assert!(good(json!({"action":"accept","content":{"n":1.5}})));
        assert!(good(json!({"action":"decline"})) && good(json!({"action":"cancel"})));
        for bad in [
            json!(5),
            json!(null),
            json!({}),
            json!({"action":"maybe"}),
            json!({"action":"accept"}),
            json!({"action":"accept","content":{"n":3}}),
            json!({"action":"accept","content":{"n":{"deep":1}}}),
            json!({"action":"accept","content":[]}),
        ] {
            assert!(!good(bad.clone()), "{bad}");
        }
        let roots = InputRequest::Roots.to_wire().unwrap();
        assert!(check_answer(&roots, &json!({"roots":[{"uri":"file:///a","name":"a"}]})).is_ok());
        assert!(check_answer(&roots, &json!({"roots":[{"name":"a"}]})).is_err());
        let mut params = Map::new();
        params.insert(
            "messages".into(),
            json!([{"role":"user","content":{"type":"text","text":"hi"}}]),
        );
        params.insert("maxTokens".into(), json!(10));
        let sampling = InputRequest::Sampling(params).to_wire().unwrap();
        assert!(
            check_answer(
                &sampling,
                &json!({"role":"assistant","model":"m","content":{"type":"text","text":"x"}})
            )
            .is_ok()
        );
        assert!(
            check_answer(
                &sampling,
                &json!({"role":"assistant","content":{"type":"text","text":"x"}})
            )
            .is_err()
        );
    }
}
