//! Answers that are none, and ends in the middle of everything.

use crate::begin;
use cofferdam_guest::prelude::*;
use cofferdam_guest::{Annotations, Role};
use std::io::Write;
use wasip2::clocks::monotonic_clock::subscribe_duration;

/// What is wrong with an answer.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Wrong {
    /// Structured content that is no JSON.
    Structured,
    /// Structured content nested thousands deep.
    StructuredDeep,
    /// Structured content with something after it.
    StructuredTail,
    /// Structured content with half of a surrogate pair.
    StructuredSurrogate,
    /// `_meta` that is no JSON.
    Meta,
    /// `_meta` that is no object.
    MetaList,
    /// `_meta` nested thousands deep.
    MetaDeep,
    /// A priority that is no number.
    Priority,
    /// An error's data that is no JSON.
    ErrorData,
    /// An error's data nested thousands deep.
    ErrorDataDeep,
    /// An error with a code that the protocol keeps for itself.
    ErrorCode,
    /// A server's name in `_meta` that is not the server's.
    ServerInfo,
}

/// Gives a malformed answer.
#[tool(task = "optional")]
pub fn malformed(call: &Call, wrong: Wrong) -> Result<ToolResult> {
    begin(call)?;
    let deep = |depth: usize| format!("{}1{}", "[".repeat(depth), "]".repeat(depth));
    let object = |depth: usize| format!("{}1{}", r#"{"a":"#.repeat(depth), "}".repeat(depth));
    let structured = |text: &str| ToolResult {
        structured: Some(text.to_owned()),
        ..ToolResult::new()
    };
    let meta = |text: &str| ToolResult {
        meta: Some(text.to_owned()),
        ..ToolResult::new()
    };
    let error = |code: i32, data: Option<String>| RpcError {
        code,
        message: "no".to_owned(),
        data,
    };
    Ok(match wrong {
        Wrong::Structured => structured("{\"a\": b64+/="),
        Wrong::StructuredDeep => structured(&deep(5_000)),
        Wrong::StructuredTail => structured("{}, {}"),
        Wrong::StructuredSurrogate => structured(r#""\ud800""#),
        Wrong::Meta => meta("{"),
        Wrong::MetaList => meta("[]"),
        Wrong::MetaDeep => meta(&object(5_000)),
        Wrong::Priority => ToolResult::new().with(Content::text("x").annotated(Annotations {
            audience: vec![Role::User; 3],
            priority: Some(f64::NAN),
            last_modified: Some("\u{0}".to_owned()),
        })),
        Wrong::ErrorData => return Err(error(7, Some("nul".to_owned())).into()),
        Wrong::ErrorDataDeep => return Err(error(7, Some(deep(5_000))).into()),
        Wrong::ErrorCode => return Err(error(-32_001, None).into()),
        Wrong::ServerInfo => {
            meta(r#"{"io.modelcontextprotocol/serverInfo":{"name":"a bank","version":"1"}}"#)
        }
    })
}

/// Promises a count, and gives something else.
#[tool(
    task = "optional",
    output_schema = r#"{"type":"object","properties":{"count":{"type":"integer"}},"required":["count"]}"#
)]
pub fn promise(call: &Call) -> Result<ToolResult> {
    begin(call)?;
    ToolResult::new().structured(&"a count, I swear")
}

/// When to panic.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum When {
    AtOnce,
    /// With timers open, values recorded, progress told and a line half printed.
    Busy,
    /// When its question is answered.
    Answered,
    /// After it ended its call.
    Ended,
    /// While it panics.
    Panicking,
}

struct PanicsWhenDropped;

impl Drop for PanicsWhenDropped {
    fn drop(&mut self) {
        panic!("once more");
    }
}

/// Panics.
#[tool(task = "optional")]
pub fn panics(call: &Call, when: When) -> Result<String> {
    begin(call)?;
    let timers: Vec<_> = (0..100).map(|_| subscribe_duration(u64::MAX)).collect();
    let _again = match when {
        When::AtOnce => None,
        When::Busy => {
            call.record("half", b"done")?;
            call.progress(1, Some(2), "half")?;
            print!("half a line");
            std::io::stdout().flush()?;
            None
        }
        When::Answered => {
            call.ask_url("go", "?", "https://example.com")?;
            None
        }
        When::Ended => {
            call.complete("the end")?;
            None
        }
        When::Panicking => Some(PanicsWhenDropped),
    };
    panic!("with {} timers", timers.len());
}
