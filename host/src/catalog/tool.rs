//! A tool that can be called: its description, its schemas, its program.

use super::{Kept, Updates};
use crate::grants::Grants;
use crate::limits::{RunLimits, TaskDefaults, TaskLimits};
use crate::protocol::{
    Answer, Content, HeaderParam, Kind, Schema, header_params, parse_guest_json, raw, written,
};
use crate::runtime::{Program, wit::handler};
use crate::signature::Signer;
use crate::store::StoreError;
use crate::task::Millis;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use std::sync::Arc;
use std::time::Duration;

/// A component that serves.
pub struct Component {
    /// What the operator calls it: its file.
    pub name: Arc<str>,
    /// The names of its tools on the server.
    pub tool_names: Vec<String>,
    /// Stands for the source that it belongs to.
    pub source: Arc<str>,
    /// Lower-case hexadecimal sha-256 of the file.
    pub digest: String,
    /// What runs.
    pub program: Program,
    /// What it may reach.
    pub grants: Arc<Grants>,
    /// What a call of it starts with.
    pub limits: RunLimits,
    /// What a task of it is given.
    pub tasks: TaskDefaults,
    /// Who signed it, of those who are trusted.
    pub signer: Option<Signer>,
    pub(super) kept: Kept,
    pub(super) updates: Arc<Updates>,
}

impl Component {
    /// It says that what a resource holds changed.
    pub fn resource_updated(&self, uri: &str) {
        self.updates.say_resource(&self.source, uri);
    }

    /// It says that a list of its own changed.
    pub fn list_changed(&self, kind: Kind) {
        self.updates.say_list(&self.source, kind);
    }

    /// Promises that this version can be had until some time, though no task needs it.
    pub fn keep_until(&self, time: Millis) {
        self.kept.promise(&self.digest, time);
    }

    /// Makes sure that other nodes of the store can have this version until some time; longer, while an
    /// unfinished task runs it.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn share_until(&self, time: Millis) -> Result<(), StoreError> {
        self.kept.share(&self.digest, time).await
    }
}

/// Whether calls of a tool may become tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskSupport {
    /// Never.
    None,
    /// If the client knows tasks.
    Optional,
    /// Always; other clients are refused.
    Required,
}

/// Why an answer cannot be a result.
#[derive(Debug, thiserror::Error)]
pub enum SealError {
    /// It does not fit the tool's output schema; what does not.
    #[error("The tool's result does not fit its output schema: {0}")]
    Unfit(String),
    /// It is larger than it may be; its bytes.
    #[error("The tool's result has {0} bytes")]
    TooLarge(usize),
}

/// A tool that can be called.
pub struct Tool {
    /// Its name on the server.
    pub name: Arc<str>,
    /// Its name in the component, which the operator's prefix is not part of.
    pub own_name: String,
    /// The component that serves it.
    pub component: Arc<Component>,
    /// MCP's description of it.
    pub definition: Box<RawValue>,
    /// Whether calls may become tasks.
    pub task_support: TaskSupport,
    /// Arguments that a client repeats in headers.
    pub header_params: Vec<HeaderParam>,
    /// When the server makes a task of a call by itself.
    pub detach_after: Option<Duration>,
    input: Schema,
    output: Option<Schema>,
}

impl Tool {
    /// Checks what a component says of a tool.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn new(
        tool: handler::Tool,
        prefix: &str,
        component: Arc<Component>,
        tasks: &TaskLimits,
    ) -> Result<Self, String> {
        let name = format!("{prefix}{}", tool.name);
        if !is_name(&tool.name) || !is_name(&name) {
            return Err("the name must be 1 to 128 of A-Z a-z 0-9 _ - .".to_owned());
        }
        let input_text = schema_text("input-schema", tool.input_schema)?;
        let input_value = value(&input_text);
        if input_value.get("type") != Some(&json!("object")) {
            return Err("input-schema: the root needs \"type\": \"object\"".to_owned());
        }
        let input =
            Schema::compile(&input_value).map_err(|error| format!("input-schema: {error}"))?;
        let header_params =
            header_params(&input_value).map_err(|error| format!("input-schema: {error}"))?;
        let output_text = tool
            .output_schema
            .map(|text| schema_text("output-schema", text))
            .transpose()?;
        let output = output_text
            .as_ref()
            .map(|text| Schema::compile(&value(text)))
            .transpose()
            .map_err(|error| format!("output-schema: {error}"))?;
        let meta = tool
            .meta
            .map(|text| schema_text("meta", text))
            .transpose()?;

        let task_support = match tool.task_support {
            handler::TaskSupport::None => TaskSupport::None,
            handler::TaskSupport::Optional => TaskSupport::Optional,
            handler::TaskSupport::Required => TaskSupport::Required,
        };
        let detach_after = tasks.detach_after_ms.get(&name).copied();
        if detach_after.is_some() && task_support == TaskSupport::None {
            return Err(format!(
                "tasks.detach-after-ms.{name} is set, but the tool's task-support is none"
            ));
        }
        let of_source = component.tasks.detach_after_ms;
        let detach_after =
            detach_after.or_else(|| of_source.filter(|_| task_support != TaskSupport::None));

        let mut definition = Map::new();
        let text = |text: String| Value::String(text);
        definition.insert("name".to_owned(), text(name.clone()));
        tool.title
            .map(|title| definition.insert("title".to_owned(), text(title)));
        tool.description
            .map(|about| definition.insert("description".to_owned(), text(about)));
        definition.insert("inputSchema".to_owned(), input_value);
        output_text.map(|schema| definition.insert("outputSchema".to_owned(), value(&schema)));
        tool.hints
            .map(|hints| definition.insert("annotations".to_owned(), annotations(hints)));
        meta.map(|meta| definition.insert("_meta".to_owned(), value(&meta)));

        Ok(Self {
            name: name.into(),
            own_name: tool.name,
            component,
            definition: raw(&definition),
            task_support,
            header_params,
            detach_after: detach_after.map(Duration::from_millis),
            input,
            output,
        })
    }

    /// Checks a call's arguments.
    ///
    /// # Errors
    /// What does not fit, for a person or a model.
    pub fn check_arguments(&self, arguments: &Value) -> Result<(), String> {
        self.input.check(arguments)
    }

    /// Checks an answer and gives it its final form, of at most `limit` bytes.
    ///
    /// # Errors
    /// [`SealError`].
    pub fn seal(&self, mut answer: Answer, limit: usize) -> Result<Box<RawValue>, SealError> {
        if let Some(schema) = self.output.as_ref().filter(|_| !answer.is_error) {
            let structured = answer.structured.as_deref().map(value);
            let fits = match &structured {
                Some(structured) => schema.check(structured),
                None => Err("there is no structured content".to_owned()),
            };
            fits.map_err(SealError::Unfit)?;
        }
        if let Some(structured) = answer
            .structured
            .as_deref()
            .filter(|_| answer.content.is_empty())
        {
            let text = structured.get().to_owned();
            answer.content.push(Content::Text {
                text,
                annotations: None,
            });
        }
        written(&answer, limit).map_err(SealError::TooLarge)
    }
}

pub(super) fn is_name(name: &str) -> bool {
    (1..=128).contains(&name.len())
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte))
}

pub(super) fn schema_text(member: &str, text: String) -> Result<Box<RawValue>, String> {
    let text = parse_guest_json(text).map_err(|error| format!("{member}: {error}"))?;
    if crate::protocol::is_object(&text) {
        Ok(text)
    } else {
        Err(format!("{member}: not a JSON object"))
    }
}

/// A value from text that is known to be JSON.
pub(super) fn value(text: &RawValue) -> Value {
    serde_json::from_str(text.get()).unwrap_or_default()
}

fn annotations(hints: handler::ToolHints) -> Value {
    let members = [
        ("readOnlyHint", hints.read_only),
        ("destructiveHint", hints.destructive),
        ("idempotentHint", hints.idempotent),
        ("openWorldHint", hints.open_world),
    ];
    let members = members
        .into_iter()
        .filter_map(|(name, hint)| Some((name.to_owned(), hint?.into())));
    Value::Object(members.collect())
}
