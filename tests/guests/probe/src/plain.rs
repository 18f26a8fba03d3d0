//! Tools that are answered at once.

use cofferdam_guest::prelude::*;
use cofferdam_guest::{Annotations, ClientFeatures, Role};
use serde_json::Value;
use std::sync::atomic::{AtomicU32, Ordering};

/// One block of each kind.
#[tool(title = "Contents", read_only)]
pub fn contents() -> Vec<Content> {
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

/// Says what it was told.
#[tool(read_only)]
pub fn echo(text: String) -> String {
    text
}

/// Returns any value as structured content, though it promises a count.
#[tool(
    output_schema = r#"{"type":"object","properties":{"count":{"type":"integer"}},"required":["count"]}"#
)]
pub fn structured(value: Value) -> Result<ToolResult> {
    ToolResult::new().structured(&value)
}

#[derive(Serialize, JsonSchema)]
pub struct Sum {
    sum: f64,
}

/// Adds two numbers.
#[tool(title = "Add", read_only, idempotent, open_world = false)]
pub fn add(
    a: f64,
    /// What to add to it.
    b: f64,
) -> Structured<Sum> {
    Structured(Sum { sum: a + b })
}

#[derive(Deserialize, JsonSchema)]
pub struct Zone {
    #[schemars(extend("x-mcp-header" = "Zone"))]
    number: Option<i64>,
}

/// Says the arguments that clients repeat as headers.
#[tool]
pub fn header(
    #[schemars(extend("x-mcp-header" = "Region"))] region: Option<String>,
    #[schemars(extend("x-mcp-header" = "Priority"))] priority: Option<i64>,
    #[schemars(extend("x-mcp-header" = "Dry"))] dry: Option<bool>,
    zone: Option<Zone>,
) -> String {
    let zone = zone.and_then(|zone| zone.number);
    format!("region {region:?}, priority {priority:?}, dry {dry:?}, zone {zone:?}")
}

/// Takes only what is within bounds.
#[tool]
pub fn strict(
    #[schemars(length(min = 1, max = 5), regex(pattern = "^[a-z]+$"))] word: String,
    #[schemars(range(min = 1, max = 10))] number: u32,
    #[schemars(length(max = 3))] list: Option<Vec<bool>>,
) -> String {
    format!("{word} {number} {}", list.unwrap_or_default().len())
}

static CALLS: AtomicU32 = AtomicU32::new(0);

/// How many calls this instance has seen.
#[tool]
pub fn count() -> String {
    (CALLS.fetch_add(1, Ordering::Relaxed) + 1).to_string()
}

/// What the client can do, as the tool is told.
#[tool]
pub fn features(call: &Call) -> String {
    let known = [
        (ClientFeatures::ELICITATION_FORM, "elicitation-form"),
        (ClientFeatures::ELICITATION_URL, "elicitation-url"),
        (ClientFeatures::SAMPLING, "sampling"),
        (ClientFeatures::SAMPLING_TOOLS, "sampling-tools"),
        (ClientFeatures::ROOTS, "roots"),
        (ClientFeatures::TASKS, "tasks"),
    ];
    let names: Vec<&str> = known
        .iter()
        .filter(|(feature, _)| call.features().contains(*feature))
        .map(|(_, name)| *name)
        .collect();
    names.join(", ")
}
