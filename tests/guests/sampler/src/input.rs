//! A tool that asks.

use cofferdam_guest::prelude::*;
use cofferdam_guest::{InputAnswer, InputError, SamplingContent, SamplingMessage, SamplingRequest};
use crate::tasks::{Options, end};
use serde_json::{Map, Value, json};

const FORM: &str = r#"{"type":"object","properties":{"value":{"type":"string"}},"required":["value"]}"#;

fn request(kind: &str, schema: Option<&str>) -> InputRequest {
    match kind {
        "url" => InputRequest::visit("Go there", "https://example.com/page"),
        "roots" => InputRequest::Roots,
        "sampling" => InputRequest::Sampling(SamplingRequest {
            messages: vec![SamplingMessage {
                role: cofferdam_guest::Role::User,
                content: vec![SamplingContent::Text("Say something".to_owned())],
            }],
            max_tokens: 10,
            system_prompt: None,
            temperature: None,
            stop_sequences: Vec::new(),
            model_preferences: None,
            metadata: None,
            tools: None,
            tool_choice: None,
        }),
        _ => InputRequest::Form(cofferdam_guest::bindings::cofferdam::tool::task::FormRequest {
            message: "What is it?".to_owned(),
            schema: schema.unwrap_or(FORM).to_owned(),
        }),
    }
}

fn name(error: &InputError) -> String {
    match error {
        InputError::Invalid(text) => format!("invalid: {text}"),
        InputError::DuplicateKeys(keys) => format!("duplicate-keys: {}", keys.join(", ")),
        InputError::MissingFeatures(features) => format!("missing-features: {features:?}"),
        InputError::Unavailable => "unavailable".to_owned(),
        InputError::StoreFailed(text) => format!("store-failed: {text}"),
        InputError::Final => "final".to_owned(),
    }
}

fn told(answer: &InputAnswer) -> Value {
    match answer {
        InputAnswer::Elicitation(answer) => {
            let mut told = json!({"action": format!("{:?}", answer.action).rsplit("::").next().unwrap_or_default().to_lowercase()});
            if let Some(content) = &answer.content {
                told["content"] = serde_json::from_str(content).unwrap_or_default();
            }
            told
        }
        InputAnswer::Sampling(answer) => json!({"model": answer.model}),
        InputAnswer::Roots(roots) => json!(roots.iter().map(|root| &root.uri).collect::<Vec<_>>()),
    }
}

/// Becomes a task and asks; then perhaps asks again; then ends with the answers.
#[tool(task = "optional")]
pub fn ask(
    call: &Call,
    keys: Vec<String>,
    again: Option<Vec<String>>,
    kind: Option<String>,
    schema: Option<String>,
    then: Option<String>,
    options: Option<Options>,
) -> Result<ToolResult> {
    call.start_task(options.unwrap_or_default().task())?;
    let mut answers = Map::new();
    for keys in [Some(keys), again].into_iter().flatten() {
        let requests = keys.iter().map(|key| {
            (key.as_str(), request(kind.as_deref().unwrap_or("form"), schema.as_deref()))
        });
        match call.ask(requests) {
            Ok(asked) => {
                for key in &keys {
                    if let Some(answer) = asked.get(key) {
                        answers.insert(key.clone(), told(answer));
                    }
                }
            }
            Err(error) => return Ok(ToolResult::text(name(&error))),
        }
    }
    match then {
        Some(how) => end(call, &how, None, String::new()),
        None => ToolResult::text("asked").structured(&answers),
    }
}
