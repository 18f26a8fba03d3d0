//! Tools that become tasks.

use crate::{faults, names};
use cofferdam_guest::prelude::*;
use cofferdam_guest::{ClientFeatures, InputError, RecordError, StartError};
use serde_json::json;
use std::hint::black_box;

/// Options of a task, as a test gives them.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Options {
    ttl: Option<Ttl>,
    /// Milliseconds.
    poll: Option<u64>,
    message: Option<String>,
    attempts: Option<u32>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
enum Ttl {
    Milliseconds(u64),
    Word(Unlimited),
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum Unlimited {
    Unlimited,
}

impl Options {
    pub fn task(self) -> TaskOptions {
        let mut options = match self.ttl {
            None => TaskOptions::new(),
            Some(Ttl::Milliseconds(ttl)) => TaskOptions::new().ttl(Duration::from_millis(ttl)),
            Some(Ttl::Word(Unlimited::Unlimited)) => TaskOptions::new().unlimited(),
        };
        if let Some(poll) = self.poll {
            options = options.poll_interval(Duration::from_millis(poll));
        }
        if let Some(message) = self.message {
            options = options.status(message);
        }
        if let Some(attempts) = self.attempts {
            options = options.max_attempts(attempts);
        }
        options
    }
}

/// Becomes a task, and says whether it did.
pub fn begin(call: &Call, options: Option<Options>) -> Result<&'static str, StartError> {
    Ok(match call.start_task(options.unwrap_or_default().task())? {
        Started::Task => "task",
        Started::Inline => "inline",
    })
}

/// The ways in which a handler can end.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum End {
    #[default]
    Return,
    Complete,
    Fail,
    ToolError,
    RpcError,
    Missing,
    Trap,
    Panic,
    Overflow,
    Spin,
    Sleep,
    Large,
    Allocate,
}

impl End {
    pub fn meet(self, call: &Call, code: Option<i32>, text: &str) -> Result<ToolResult> {
        let code = code.unwrap_or(7);
        match self {
            Self::Return => ToolResult::text(text).structured(&json!({ "text": text })),
            Self::Complete => {
                call.complete("completed")?;
                Ok(ToolResult::text("too late"))
            }
            Self::Fail => {
                call.fail(&RpcError::new(code, "failed"))?;
                Ok(ToolResult::text("too late"))
            }
            Self::ToolError => bail!("the tool says no"),
            Self::RpcError => Err(RpcError::new(code, "the tool failed")
                .with_data(&json!({ "why": "test" }))
                .into()),
            Self::Missing => Err(Error::MissingFeatures(ClientFeatures::SAMPLING)),
            Self::Trap => faults::trap(),
            Self::Panic => panic!("as told"),
            Self::Overflow => Ok(ToolResult::text(faults::overflow(0).to_string())),
            Self::Spin => faults::spin(),
            Self::Sleep => {
                call.sleep(Duration::from_secs(3600))?;
                Ok(ToolResult::text("slept"))
            }
            Self::Large => Ok(ToolResult::text("x".repeat(1 << 20))),
            Self::Allocate => Ok(ToolResult::text(faults::fill(256 << 20).to_string())),
        }
    }
}

/// Becomes a task, and ends in one way or another.
#[tool(task = "optional")]
pub fn finish(
    call: &Call,
    how: Option<End>,
    /// Of an error.
    code: Option<i32>,
    /// To return, in place of `task` or `inline`.
    text: Option<String>,
    options: Option<Options>,
) -> Result<ToolResult> {
    let started = begin(call, options)?;
    how.unwrap_or_default()
        .meet(call, code, text.as_deref().unwrap_or(started))
}

/// What to do while waiting.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Wait {
    /// Sleep until the call is over.
    Sleep,
    /// Never look up.
    Spin,
    /// Sleep again and again, whatever is said.
    Stubborn,
}

/// Becomes a task, and goes on until it is stopped. Then it logs, after the mark, what the verbs say.
#[tool(task = "optional")]
pub fn wait(
    call: &Call,
    how: Option<Wait>,
    mark: Option<String>,
    progress: Option<u32>,
    log: Option<bool>,
    options: Option<Options>,
) -> Result<String> {
    begin(call, options)?;
    for step in 1..=progress.unwrap_or(0) {
        call.progress(step, progress, "")?;
    }
    if log == Some(true) {
        log!(error, "a line of a task");
    }
    match how.unwrap_or(Wait::Sleep) {
        Wait::Sleep => while call.sleep(Duration::from_secs(3600)).is_ok() {},
        Wait::Spin => faults::spin(),
        Wait::Stubborn => loop {
            let _ = call.sleep(Duration::from_millis(5));
        },
    }
    log!(
        info,
        "{}: cancelled: {}; {}; status {}",
        mark.unwrap_or_default(),
        call.cancelled(),
        refused(call),
        names::status(call.status())
    );
    Ok("stopped".to_owned())
}

/// Becomes a task, and reports progress with a pause after each step.
#[tool(task = "optional")]
pub fn steps(call: &Call, number: u32, pause: u64) -> Result<String> {
    begin(call, None)?;
    for step in 1..=number {
        call.progress(step, Some(number), &format!("step {step}"))?;
        call.sleep(Duration::from_millis(pause))?;
    }
    Ok("done".to_owned())
}

/// Becomes a task, says that it is at work, and adds up so many million numbers, from 0 on.
#[tool(task = "optional")]
pub fn work(call: &Call, millions: u32) -> Result<String> {
    begin(call, None)?;
    call.progress(1, None, "at work")?;
    let sum = (0..u64::from(millions) * 1_000_000).fold(0, |sum, n| black_box(sum + n));
    Ok(sum.to_string())
}

/// Starts a task so many times, and says what came of each.
#[tool(task = "optional")]
pub fn start(call: &Call, times: Option<u32>, options: Option<Options>) -> String {
    let mut options = options.unwrap_or_default();
    let outcomes: Vec<String> = (0..times.unwrap_or(1))
        .map(|_| names::started(&call.start_task(std::mem::take(&mut options).task())))
        .collect();
    outcomes.join(", ")
}

/// Tries to start a task, though it does not declare that it may.
#[tool(name = "start-none")]
pub fn start_none(call: &Call) -> String {
    names::started(&call.start_task(TaskOptions::new()))
}

/// Must be a task, and becomes one.
#[tool(task = "required")]
pub fn required(call: &Call, keys: Option<Vec<String>>) -> Result<String> {
    begin(call, None)?;
    Ok(keys.unwrap_or_default().len().to_string())
}

/// Must be a task, but never becomes one.
#[tool(name = "required-inline", task = "required")]
pub fn required_inline() -> String {
    "inline".to_owned()
}

/// Ends its task, then tries everything else, and logs, after the mark, what the verbs say.
#[tool(task = "optional")]
pub fn late(call: &Call, mark: String) -> Result<String> {
    let before = names::status(call.status());
    begin(call, None)?;
    let during = names::status(call.status());
    call.complete("first")?;
    let after = names::status(call.status());
    log!(
        info,
        "{mark}: {before}, {during}, {after}; {}",
        refused(call)
    );
    Ok("last".to_owned())
}

/// Tries all verbs that change a call, and names those that say that it is over.
fn refused(call: &Call) -> String {
    let ended = RpcError::new(7, "late");
    let outcomes = [
        (
            "start-task",
            matches!(call.start_task(TaskOptions::new()), Err(StartError::Final)),
        ),
        ("progress", call.progress(1000, None, "late").is_err()),
        (
            "complete",
            matches!(call.complete("late"), Err(Error::Final)),
        ),
        ("fail", call.fail(&ended).is_err()),
        ("sleep", call.sleep(Duration::from_secs(3600)).is_err()),
        (
            "require-input",
            matches!(call.roots("late"), Err(InputError::Final)),
        ),
        (
            "record",
            matches!(call.record("late", b"late"), Err(RecordError::Final)),
        ),
    ];
    let refused: Vec<&str> = outcomes
        .iter()
        .filter(|(_, over)| *over)
        .map(|(verb, _)| *verb)
        .collect();
    format!("final: {}", refused.join(" "))
}
