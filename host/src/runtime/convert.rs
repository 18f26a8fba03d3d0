//! Between the guest contract's types and the protocol's.
//!
//! Invariant: JSON text from a guest is parsed, and its depth bounded, on the way in; the error
//! texts name the member that is wrong.

use super::wit::task;
use super::wit::types::{self, ClientFeatures as WitFeatures};
use crate::limits::{GUEST_VALUE_BYTES, SCHEMA_BYTES};
use crate::protocol::{
    Annotations, Answer, Blob, Body, ClientFeatures, Code, Content, InputRequest, ResourceContents,
    Role, RpcError, parse_guest_json,
};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

const FEATURES: [(ClientFeatures, WitFeatures); 6] = [
    (
        ClientFeatures::ELICITATION_FORM,
        WitFeatures::ELICITATION_FORM,
    ),
    (
        ClientFeatures::ELICITATION_URL,
        WitFeatures::ELICITATION_URL,
    ),
    (ClientFeatures::SAMPLING, WitFeatures::SAMPLING),
    (ClientFeatures::SAMPLING_TOOLS, WitFeatures::SAMPLING_TOOLS),
    (ClientFeatures::ROOTS, WitFeatures::ROOTS),
    (ClientFeatures::TASKS, WitFeatures::TASKS),
];

/// Features for a guest.
#[must_use]
pub fn features_to_wit(features: ClientFeatures) -> WitFeatures {
    let mut wit = WitFeatures::empty();
    for (ours, theirs) in FEATURES {
        if features.contains(ours) {
            wit |= theirs;
        }
    }
    wit
}

/// Features from a guest.
#[must_use]
pub fn features_from_wit(wit: WitFeatures) -> ClientFeatures {
    let pairs = FEATURES
        .into_iter()
        .filter(|(_, theirs)| wit.contains(*theirs));
    pairs.map(|(ours, _)| ours).collect()
}

fn json_of(member: &str, text: String) -> Result<Box<RawValue>, String> {
    parse_guest_json(text).map_err(|error| format!("{member}: {error}"))
}

/// Values take many times the room of their text, so that is bounded first.
fn value_of(member: &str, text: String) -> Result<Value, String> {
    let (most, key) = match member {
        "schema" => (SCHEMA_BYTES, "SCHEMA_BYTES"),
        _ => (GUEST_VALUE_BYTES, "GUEST_VALUE_BYTES"),
    };
    if text.len() > most {
        let length = text.len();
        return Err(format!(
            "{member}: it has {length} bytes; the limit is {most} ({key})"
        ));
    }
    let raw = json_of(member, text)?;
    serde_json::from_str(raw.get()).map_err(|error| format!("{member}: {error}"))
}

/// A JSON object from a guest's text; none is the empty one.
pub(crate) fn object_of(member: &str, text: Option<String>) -> Result<Map<String, Value>, String> {
    match text.map(|text| value_of(member, text)).transpose()? {
        None => Ok(Map::new()),
        Some(Value::Object(object)) => Ok(object),
        Some(_) => Err(format!("{member}: not a JSON object")),
    }
}

/// A tool's result.
pub(super) fn answer(result: types::ToolResult) -> Result<Answer, String> {
    Ok(Answer {
        content: result
            .content
            .into_iter()
            .map(content)
            .collect::<Result<_, _>>()?,
        structured: result
            .structured
            .map(|text| json_of("structured", text))
            .transpose()?,
        is_error: result.is_error,
        meta: object_of("meta", result.meta)?,
    })
}

pub(super) fn content(block: types::Content) -> Result<Content, String> {
    Ok(match block {
        types::Content::Text(block) => Content::Text {
            text: block.text,
            annotations: annotations(block.annotations)?,
        },
        types::Content::Image(block) => Content::Image {
            data: Blob(block.data),
            mime_type: block.mime_type,
            annotations: annotations(block.annotations)?,
        },
        types::Content::Audio(block) => Content::Audio {
            data: Blob(block.data),
            mime_type: block.mime_type,
            annotations: annotations(block.annotations)?,
        },
        types::Content::ResourceLink(link) => Content::ResourceLink {
            uri: link.uri,
            name: link.name,
            title: link.title,
            description: link.description,
            mime_type: link.mime_type,
            size: link.size,
            annotations: annotations(link.annotations)?,
        },
        types::Content::EmbeddedResource(resource) => Content::Resource {
            resource: ResourceContents {
                uri: resource.uri,
                mime_type: resource.mime_type,
                body: body(resource.body),
                meta: Map::new(),
            },
            annotations: annotations(resource.annotations)?,
        },
    })
}

pub(super) fn body(body: types::ResourceBody) -> Body {
    match body {
        types::ResourceBody::Text(text) => Body::Text(text),
        types::ResourceBody::Blob(bytes) => Body::Blob(Blob(bytes)),
    }
}

pub(super) fn annotations(
    hints: Option<types::Annotations>,
) -> Result<Option<Annotations>, String> {
    let Some(hints) = hints else { return Ok(None) };
    if hints
        .priority
        .is_some_and(|priority| !(0.0..=1.0).contains(&priority))
    {
        return Err("annotations: priority is not between 0 and 1".to_owned());
    }
    Ok(Some(Annotations {
        audience: hints.audience.into_iter().map(role).collect(),
        priority: hints.priority,
        last_modified: hints.last_modified,
    }))
}

pub(super) fn role(role: types::Role) -> Role {
    match role {
        types::Role::User => Role::User,
        types::Role::Assistant => Role::Assistant,
    }
}

/// A guest's JSON-RPC error.
pub(super) fn rpc_error(error: types::RpcError) -> Result<RpcError, String> {
    Ok(RpcError {
        code: Code::from_tool(error.code),
        message: error.message.into(),
        data: error.data.map(|text| value_of("data", text)).transpose()?,
    })
}

/// A handler's error.
pub(super) fn call_error(error: types::CallError) -> Result<RpcError, String> {
    match error {
        types::CallError::Rpc(error) => rpc_error(error),
        types::CallError::MissingFeatures(features) => {
            Ok(RpcError::missing(features_from_wit(features)))
        }
    }
}

/// A question to the client.
pub(super) fn input_request(request: task::InputRequest) -> Result<InputRequest, String> {
    Ok(match request {
        task::InputRequest::Form(form) => InputRequest::Form {
            message: form.message,
            schema: value_of("schema", form.schema)?,
        },
        task::InputRequest::Url(url) => InputRequest::Url {
            message: url.message,
            url: url.url,
        },
        task::InputRequest::Sampling(sampling) => {
            InputRequest::Sampling(sampling_params(sampling)?)
        }
        task::InputRequest::Roots => InputRequest::Roots,
    })
}

fn sampling_params(request: task::SamplingRequest) -> Result<Map<String, Value>, String> {
    let mut params = Map::new();
    let messages = request.messages.into_iter().map(|message| {
        let mut blocks = message
            .content
            .into_iter()
            .map(sampling_block)
            .collect::<Result<Vec<_>, _>>()?;
        let content = if blocks.len() == 1 {
            blocks.remove(0)
        } else {
            Value::Array(blocks)
        };
        Ok(json!({ "role": role(message.role), "content": content }))
    });
    params.insert(
        "messages".to_owned(),
        Value::Array(messages.collect::<Result<_, String>>()?),
    );
    params.insert("maxTokens".to_owned(), request.max_tokens.into());
    if let Some(prompt) = request.system_prompt {
        params.insert("systemPrompt".to_owned(), prompt.into());
    }
    if let Some(temperature) = request.temperature {
        params.insert("temperature".to_owned(), temperature.into());
    }
    if !request.stop_sequences.is_empty() {
        params.insert("stopSequences".to_owned(), request.stop_sequences.into());
    }
    let members = [
        ("modelPreferences", request.model_preferences),
        ("metadata", request.metadata),
        ("tools", request.tools),
        ("toolChoice", request.tool_choice),
    ];
    for (name, text) in members {
        if let Some(text) = text {
            params.insert(name.to_owned(), value_of(name, text)?);
        }
    }
    Ok(params)
}

fn sampling_block(block: task::SamplingContent) -> Result<Value, String> {
    let media = |kind: &str, data: Vec<u8>, mime: String| json!({ "type": kind, "data": STANDARD.encode(data), "mimeType": mime });
    Ok(match block {
        task::SamplingContent::Text(text) => json!({ "type": "text", "text": text }),
        task::SamplingContent::Image((data, mime)) => media("image", data, mime),
        task::SamplingContent::Audio((data, mime)) => media("audio", data, mime),
        task::SamplingContent::Other(text) => Value::Object(object_of("content", Some(text))?),
    })
}

/// A client's answer, already checked against its request.
pub(super) fn input_answer(answer: &Value) -> Result<task::InputAnswer, String> {
    let text = |member: &str| answer[member].as_str().unwrap_or_default().to_owned();
    if let Some(action) = answer.get("action").and_then(Value::as_str) {
        let action = match action {
            "accept" => task::Action::Accept,
            "decline" => task::Action::Decline,
            _ => task::Action::Cancel,
        };
        let content = answer
            .get("content")
            .filter(|_| action == task::Action::Accept);
        let content = content.map(Value::to_string);
        return Ok(task::InputAnswer::Elicitation(task::ElicitationAnswer {
            action,
            content,
        }));
    }
    if let Some(roots) = answer.get("roots").and_then(Value::as_array) {
        let roots = roots.iter().map(|root| task::Root {
            uri: root["uri"].as_str().unwrap_or_default().to_owned(),
            name: root["name"].as_str().map(str::to_owned),
        });
        return Ok(task::InputAnswer::Roots(roots.collect()));
    }
    let blocks = match &answer["content"] {
        Value::Array(blocks) => blocks
            .iter()
            .map(answered_block)
            .collect::<Result<_, _>>()?,
        block => vec![answered_block(block)?],
    };
    Ok(task::InputAnswer::Sampling(task::SamplingAnswer {
        role: if answer["role"] == "user" {
            types::Role::User
        } else {
            types::Role::Assistant
        },
        content: blocks,
        model: text("model"),
        stop_reason: answer["stopReason"].as_str().map(str::to_owned),
    }))
}

fn answered_block(block: &Value) -> Result<task::SamplingContent, String> {
    let mime = || block["mimeType"].as_str().unwrap_or_default().to_owned();
    let data = || {
        let data = block["data"].as_str().unwrap_or_default();
        STANDARD
            .decode(data)
            .map_err(|error| format!("sampled content: {error}"))
    };
    Ok(match block["type"].as_str() {
        Some("text") => {
            task::SamplingContent::Text(block["text"].as_str().unwrap_or_default().to_owned())
        }
        Some("image") => task::SamplingContent::Image((data()?, mime())),
        Some("audio") => task::SamplingContent::Audio((data()?, mime())),
        _ => task::SamplingContent::Other(block.to_string()),
    })
}
