//! Tools that are answered at once.

use cofferdam_guest::prelude::*;
use cofferdam_guest::{Annotations, ResourceBody, Role};
use serde_json::Value;
use std::cell::Cell;

/// Says what it was told.
#[tool(read_only)]
pub fn echo(text: String) -> String {
    text
}

fn annotated(text: &str) -> Content {
    let Content::Text(mut block) = Content::text(text) else { unreachable!() };
    block.annotations = Some(Annotations {
        audience: vec![Role::User, Role::Assistant],
        priority: Some(0.5),
        last_modified: Some("2026-07-28T00:00:00Z".to_owned()),
    });
    Content::Text(block)
}

/// One block of each kind.
#[tool]
pub fn contents() -> Vec<Content> {
    let link = ResourceLink {
        uri: "file:///report.txt".to_owned(),
        name: "report".to_owned(),
        title: Some("Report".to_owned()),
        description: Some("A report".to_owned()),
        mime_type: Some("text/plain".to_owned()),
        size: Some(7),
        annotations: None,
    };
    let embedded = |uri: &str, mime: &str, body| EmbeddedResource {
        uri: uri.to_owned(),
        mime_type: Some(mime.to_owned()),
        body,
        annotations: None,
    };
    vec![
        annotated("text"),
        Image { data: vec![137, 80, 78, 71], mime_type: "image/png".into() }.into(),
        Audio { data: vec![82, 73, 70, 70, 0], mime_type: "audio/wav".into() }.into(),
        link.into(),
        embedded("test://text", "text/plain", ResourceBody::Text("text".to_owned())).into(),
        embedded("test://blob", "application/octet-stream", ResourceBody::Blob(vec![0, 255])).into(),
    ]
}

/// Returns any value as structured content, which must be a count.
#[tool(output_schema = r#"{"type":"object","properties":{"count":{"type":"integer"}},"required":["count"]}"#)]
pub fn structured(value: Value) -> Result<ToolResult> {
    ToolResult::new().structured(&value)
}

/// Says the region, which is repeated as a header.
#[tool(schema = r#"{
    "type": "object",
    "properties": {
        "region": {"type": "string", "x-mcp-header": "Region"},
        "zone": {"type": "object", "properties": {"number": {"type": "integer", "x-mcp-header": "Zone"}}},
        "dry": {"type": "boolean", "x-mcp-header": "Dry"}
    },
    "additionalProperties": false
}"#)]
pub fn header(Args(arguments): Args<Value>) -> String {
    arguments.to_string()
}

thread_local!(static CALLS: Cell<u32> = const { Cell::new(0) });

/// How many calls this instance has seen.
#[tool]
pub fn count() -> String {
    CALLS.with(|calls| {
        calls.set(calls.get() + 1);
        calls.get().to_string()
    })
}

/// Sleeps.
#[tool(task = "optional")]
pub fn sleep(call: &Call, ms: u64, progress: Option<bool>) -> Result<String> {
    log!(info, "sleep begins");
    if progress == Some(true) {
        call.progress(1, None, "asleep")?;
    }
    if call.sleep(Duration::from_millis(ms)).is_err() {
        log!(info, "sleep ended: final; cancelled: {}", call.cancelled());
    }
    Ok("slept".to_owned())
}

/// Reports progress step by step.
#[tool]
pub fn progress(call: &Call, steps: u32, then: Option<String>) -> Result<String> {
    for step in 1..=steps {
        call.progress(step, Some(steps), "step")?;
        call.progress(step, Some(steps), "the same again")?;
    }
    if then.as_deref() == Some("trap") {
        crate::faults::trap();
    }
    Ok("done".to_owned())
}

/// Writes a line of each level.
#[tool(name = "log")]
pub fn log_all() -> String {
    log!(debug, "line"; n = 0);
    log!(info, "line"; n = 1);
    log!(notice, "line"; n = 2);
    log!(warning, "line"; n = 3);
    log!(error, "line"; n = 4);
    log!(critical, "line"; n = 5);
    log!(alert, "line"; n = 6);
    log!(emergency, "line");
    "logged".to_owned()
}
