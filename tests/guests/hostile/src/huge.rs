//! Huge texts, through everything that takes a text.

use crate::begin;
use cofferdam_guest::bindings::cofferdam::tool::task::FormRequest;
use cofferdam_guest::bindings::cofferdam::tool::{log, task};
use cofferdam_guest::prelude::*;
use cofferdam_guest::{Answers, InputError, RecordError, SamplingRequest, StartError};
use std::io;
use std::io::Write;

/// Where a text can go.
#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Through {
    Status,
    Progress,
    Log,
    Fields,
    RecordKey,
    RecordValue,
    Recall,
    InputKey,
    Question,
    Schema,
    Sampling,
    Stdout,
    Stderr,
    Result,
    Image,
    Structured,
    Meta,
    Error,
    ErrorData,
    Complete,
    Fail,
}

/// Hands over a text of about so many bytes, and says what came of it.
#[tool(task = "optional")]
pub fn shout(
    call: &Call,
    through: Through,
    bytes: usize,
    /// What it repeats; `x` if left out.
    unit: Option<String>,
    /// What is before and after that.
    around: Option<(String, String)>,
    /// How often; once if left out. Then the texts begin with their numbers.
    times: Option<usize>,
) -> Result<ToolResult> {
    let times = times.unwrap_or(1);
    let mut text = text(bytes, &unit.unwrap_or_else(|| "x".to_owned()), around);
    if let Through::Status = through {
        let refused = call.start_task(TaskOptions::new().status(text));
        return Ok(ToolResult::text(match refused {
            Err(StartError::InvalidOption(reason)) => format!("invalid-option: {reason}"),
            other => format!("{other:?}"),
        }));
    }
    begin(call)?;
    for n in 1..times {
        text.replace_range(..8, &format!("{n:08}"));
        hand_over(call, through, &text, n)?;
    }
    end(call, through, text, times)
}

fn text(bytes: usize, unit: &str, around: Option<(String, String)>) -> String {
    let (before, after) = around.unwrap_or_default();
    let mut text = before;
    text.reserve_exact(bytes + after.len());
    // Doubled rather than appended one by one: the attack is the text, not the making of it.
    let start = text.len();
    text.push_str(unit);
    while text.len() - start < bytes / 2 {
        text.extend_from_within(start..);
    }
    let rest = (bytes - (text.len() - start)) / unit.len() * unit.len();
    text.extend_from_within(start..start + rest);
    text.push_str(&after);
    text
}

/// What leaves the call with its end.
fn end(call: &Call, through: Through, text: String, n: usize) -> Result<ToolResult> {
    let nothing = || ToolResult::text("");
    Ok(match through {
        Through::Result => ToolResult::text(text),
        Through::Image => ToolResult::new().with(Image::png(text.into_bytes())),
        Through::Structured => ToolResult {
            structured: Some(text),
            ..nothing()
        },
        Through::Meta => ToolResult {
            meta: Some(text),
            ..nothing()
        },
        Through::Error => return Err(Error::rpc(7, text)),
        Through::ErrorData => {
            return Err(RpcError {
                code: 7,
                message: "with data".to_owned(),
                data: Some(text),
            }
            .into());
        }
        Through::Complete => {
            call.complete(text)?;
            nothing()
        }
        Through::Fail => {
            call.fail(&RpcError::new(7, text))?;
            nothing()
        }
        other => ToolResult::text(hand_over(call, other, &text, n)?),
    })
}

/// What leaves the call in its middle.
fn hand_over(call: &Call, through: Through, text: &str, n: usize) -> Result<String> {
    let record = |outcome: Result<(), RecordError>| match outcome {
        Ok(()) => "recorded".to_owned(),
        Err(RecordError::TooLarge(limit)) => format!("too-large: {limit}"),
        Err(RecordError::InvalidKey) => "invalid-key".to_owned(),
        Err(other) => other.to_string(),
    };
    Ok(match through {
        Through::Progress => {
            let told = task::progress(n as f64, None, Some(text));
            if told.is_ok() { "told" } else { "final" }.to_owned()
        }
        Through::Log => {
            log::write(log::Level::Info, text, None);
            "logged".to_owned()
        }
        Through::Fields => {
            log::write(log::Level::Info, "fields", Some(text));
            "logged".to_owned()
        }
        Through::RecordKey => record(call.record(text, b"value")),
        Through::RecordValue => record(call.record("key", text.as_bytes())),
        Through::Recall => {
            let found = call.recall(text).is_some();
            if found { "found" } else { "nothing" }.to_owned()
        }
        Through::InputKey => {
            let question = InputRequest::visit("?", "https://example.com");
            asked(call.ask([(text, question)]))
        }
        Through::Question => ask(call, InputRequest::visit(text, "https://example.com")),
        Through::Schema => ask(
            call,
            InputRequest::Form(FormRequest {
                message: "?".to_owned(),
                schema: text.to_owned(),
            }),
        ),
        Through::Sampling => ask(
            call,
            InputRequest::Sampling(SamplingRequest {
                metadata: Some(text.to_owned()),
                ..SamplingRequest::new("?", 1)
            }),
        ),
        Through::Stdout => {
            io::stdout().write_all(text.as_bytes())?;
            "printed".to_owned()
        }
        Through::Stderr => {
            io::stderr().write_all(text.as_bytes())?;
            "printed".to_owned()
        }
        // Said at the end.
        _ => String::new(),
    })
}

fn ask(call: &Call, request: InputRequest) -> String {
    asked(call.ask([("key", request)]))
}

fn asked(answers: Result<Answers, InputError>) -> String {
    match answers {
        Ok(_) => "answered".to_owned(),
        Err(InputError::Invalid(reason)) => format!("invalid: {reason}"),
        Err(other) => other.to_string(),
    }
}
