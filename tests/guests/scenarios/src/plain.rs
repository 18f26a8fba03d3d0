//! Results and errors.

use crate::Phase;
use cofferdam_guest::prelude::*;
use cofferdam_guest::{Annotations, Role};
use serde_json::json;

/// One block of each kind
#[tool(title = "Contents", read_only)]
pub(crate) fn contents() -> Vec<Content> {
    let annotations = Annotations {
        audience: vec![Role::User, Role::Assistant],
        priority: Some(0.5),
        last_modified: Some("2026-07-28T00:00:00Z".to_owned()),
    };
    let link = ResourceLink {
        title: Some("Report".to_owned()),
        description: Some("A report".to_owned()),
        mime_type: Some("text/plain".to_owned()),
        size: Some(7),
        ..ResourceLink::new("file:///report.txt", "report")
    };
    vec![
        Content::text("text").annotated(annotations),
        Image::png(vec![137, 80, 78, 71]).into(),
        Audio::wav(vec![82, 73, 70, 70, 0]).into(),
        link.into(),
        EmbeddedResource::text("test://text", "text/plain", "text").into(),
        EmbeddedResource::blob("test://blob", "application/octet-stream", vec![0, 255]).into(),
    ]
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Sum {
    sum: f64,
}

/// Adds two numbers
#[tool]
pub(crate) fn add(a: f64, b: f64) -> Structured<Sum> {
    Structured(Sum { sum: a + b })
}

/// Promises a count, and returns something else
#[tool(
    output_schema = r#"{"type":"object","properties":{"count":{"type":"integer"}},"required":["count"]}"#
)]
pub(crate) fn misfit() -> Result<ToolResult> {
    ToolResult::new().structured(&json!({"count": "many"}))
}

/// Takes only what is within bounds
#[tool]
pub(crate) fn strict(
    #[schemars(length(min = 1, max = 5))] word: String,
    #[schemars(range(min = 1, max = 10))] number: u32,
) -> String {
    format!("{word} {number}")
}

/// Cannot do what is asked
#[tool]
pub(crate) fn refuse(reason: String) -> Result<()> {
    Err(Error::tool(reason))
}

/// Fails with a JSON-RPC error
#[tool(task = "optional")]
pub(crate) fn fault(
    call: &Call,
    code: i32,
    message: String,
    #[serde(default)] phase: Phase,
) -> Result<()> {
    phase.begin(call)?;
    Err(RpcError::new(code, message)
        .with_data(&json!({"hint": "none"}))
        .into())
}

/// Has a bug
#[tool(task = "optional")]
pub(crate) fn crash(call: &Call, #[serde(default)] phase: Phase) -> Result<String> {
    phase.begin(call)?;
    panic!("a bug")
}
