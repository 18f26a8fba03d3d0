//! A prompt that can be had: its description, its arguments, its component.

use super::Component;
use super::tool::{is_name, schema_text, value};
use crate::limits::PROMPT_ARGUMENTS;
use crate::protocol::{RpcError, raw};
use crate::runtime::wit::prompts;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// A prompt that can be had.
pub struct Prompt {
    /// Its name on the server.
    pub name: Arc<str>,
    /// Its name in the component, which the operator's prefix is not part of.
    pub own_name: String,
    /// What its calls are counted and logged under.
    pub label: Arc<str>,
    /// The component that serves it.
    pub component: Arc<Component>,
    /// MCP's description of it.
    pub definition: Box<RawValue>,
    arguments: Vec<Argument>,
}

struct Argument {
    name: String,
    required: bool,
}

impl Prompt {
    /// Checks what a component says of a prompt.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn new(
        prompt: prompts::Prompt,
        prefix: &str,
        component: Arc<Component>,
    ) -> Result<Self, String> {
        let name = format!("{prefix}{}", prompt.name);
        if !is_name(&prompt.name) || !is_name(&name) {
            return Err("the name must be 1 to 128 of A-Z a-z 0-9 _ - .".to_owned());
        }
        if prompt.arguments.len() > PROMPT_ARGUMENTS {
            return Err(format!(
                "it has {} arguments; the limit is {PROMPT_ARGUMENTS} (PROMPT_ARGUMENTS)",
                prompt.arguments.len()
            ));
        }
        let meta = prompt.meta.map(|text| schema_text("meta", text));
        let meta = meta.transpose()?;
        let mut arguments: Vec<Argument> = Vec::with_capacity(prompt.arguments.len());
        let mut described = Vec::with_capacity(prompt.arguments.len());
        for argument in prompt.arguments {
            let name = argument.name;
            if name.is_empty() || name.len() > 128 {
                return Err("an argument's name has 1 to 128 bytes".to_owned());
            }
            if arguments.iter().any(|other| other.name == name) {
                return Err(format!("it has the argument {name:?} twice"));
            }
            let mut definition = Map::new();
            definition.insert("name".to_owned(), json!(name));
            insert(&mut definition, "title", argument.title);
            insert(&mut definition, "description", argument.description);
            definition.insert("required".to_owned(), json!(argument.required));
            described.push(Value::Object(definition));
            arguments.push(Argument {
                name,
                required: argument.required,
            });
        }
        let mut definition = Map::new();
        definition.insert("name".to_owned(), json!(name));
        insert(&mut definition, "title", prompt.title);
        insert(&mut definition, "description", prompt.description);
        if !described.is_empty() {
            definition.insert("arguments".to_owned(), Value::Array(described));
        }
        meta.map(|meta| definition.insert("_meta".to_owned(), value(&meta)));
        Ok(Self {
            label: format!("prompt:{name}").into(),
            name: name.into(),
            own_name: prompt.name,
            component,
            definition: raw(&definition),
            arguments,
        })
    }

    /// True if it has an argument of that name.
    #[must_use]
    pub fn has(&self, argument: &str) -> bool {
        self.arguments.iter().any(|it| it.name == argument)
    }

    /// Checks a call's arguments: all that are required, and no others than it has.
    ///
    /// # Errors
    /// `-32602`.
    pub fn check(&self, arguments: Map<String, Value>) -> Result<Vec<(String, String)>, RpcError> {
        let bad = |what: String| RpcError::invalid_params(format!("Invalid params: {what}"));
        for required in self.arguments.iter().filter(|it| it.required) {
            if !arguments.contains_key(&required.name) {
                let name = &required.name;
                return Err(bad(format!("the argument {name:?} is missing")));
            }
        }
        let text = |(name, value): (String, Value)| {
            let short: String = name.chars().take(128).collect();
            if !self.has(&name) {
                return Err(bad(format!("the prompt has no argument {short:?}")));
            }
            match value {
                Value::String(value) => Ok((name, value)),
                _ => Err(bad(format!("the argument {short:?} must be a string"))),
            }
        };
        arguments.into_iter().map(text).collect()
    }
}

fn insert(definition: &mut Map<String, Value>, member: &str, text: Option<String>) {
    if let Some(text) = text {
        definition.insert(member.to_owned(), Value::String(text));
    }
}
