//! A tool that asks.

use crate::tasks::{End, Options};
use crate::{names, tasks};
use cofferdam_guest::prelude::*;
use cofferdam_guest::{Action, InputAnswer};
use serde_json::{Map, Value, json};

/// What to ask for.
#[derive(Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    #[default]
    Form,
    Url,
    Sampling,
    Roots,
}

/// When the call becomes a task.
#[derive(Clone, Copy, Default, Deserialize, JsonSchema, PartialEq)]
#[serde(rename_all = "kebab-case")]
pub enum Begin {
    /// Before it asks.
    #[default]
    First,
    /// After the first question is answered.
    Between,
    Never,
}

/// Becomes a task and asks all keys at once; then perhaps asks again; then ends, with the answers if
/// nothing else is said.
#[tool(task = "optional")]
#[allow(clippy::too_many_arguments)]
pub fn ask(
    call: &Call,
    keys: Vec<String>,
    again: Option<Vec<String>>,
    kind: Option<Kind>,
    /// The form's schema, as text.
    schema: Option<String>,
    then: Option<End>,
    begin: Option<Begin>,
    /// To be recorded before anything is asked, in bytes.
    kept: Option<usize>,
    options: Option<Options>,
) -> Result<ToolResult> {
    let when = begin.unwrap_or_default();
    let mut options = options.unwrap_or_default();
    if let Some(bytes) = kept {
        call.record("kept", &vec![7; bytes])?;
    }
    let request = request(kind.unwrap_or_default(), schema);
    let mut told = Map::new();
    for (keys, now) in [(Some(keys), Begin::First), (again, Begin::Between)] {
        if when == now {
            tasks::begin(call, Some(std::mem::take(&mut options)))?;
        }
        let keys = keys.unwrap_or_default();
        if keys.is_empty() && now == Begin::Between {
            continue;
        }
        match call.ask(keys.iter().map(|key| (key.as_str(), request.clone()))) {
            Ok(answers) => {
                told.extend(
                    keys.into_iter()
                        .filter_map(|key| answers.get(&key).map(tell).map(|told| (key, told))),
                );
            }
            Err(error) => return Ok(ToolResult::text(names::input(&error))),
        }
    }
    match then {
        Some(end) => end.meet(call, None, "asked"),
        None => ToolResult::text("asked").structured(&told),
    }
}

fn request(kind: Kind, schema: Option<String>) -> InputRequest {
    match kind {
        Kind::Form => {
            let mut form = InputRequest::form_with(
                "What is it?",
                &json!({ "type": "object", "properties": { "value": { "type": "string" } }, "required": ["value"] }),
            );
            if let (InputRequest::Form(form), Some(schema)) = (&mut form, schema) {
                form.schema = schema;
            }
            form
        }
        Kind::Url => InputRequest::visit("Go there", "https://example.com/page"),
        Kind::Sampling => InputRequest::prompt("Say something", 10),
        Kind::Roots => InputRequest::Roots,
    }
}

fn tell(answer: &InputAnswer) -> Value {
    match answer {
        InputAnswer::Elicitation(answer) => {
            let action = match answer.action {
                Action::Accept => "accept",
                Action::Decline => "decline",
                Action::Cancel => "cancel",
            };
            match answer.content.as_deref().map(serde_json::from_str::<Value>) {
                Some(Ok(content)) => json!({ "action": action, "content": content }),
                Some(Err(error)) => json!({ "action": action, "unreadable": error.to_string() }),
                None => json!({ "action": action }),
            }
        }
        InputAnswer::Sampling(answer) => json!({ "model": answer.model, "text": answer.text() }),
        InputAnswer::Roots(roots) => json!(roots.iter().map(|root| &root.uri).collect::<Vec<_>>()),
    }
}
