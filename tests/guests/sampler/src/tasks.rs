//! Tools that become tasks.

use cofferdam_guest::prelude::*;
use cofferdam_guest::StartError;
use crate::faults;

/// Options of a task, as a test gives them.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Options {
    /// Milliseconds, or "unlimited".
    ttl: Option<serde_json::Value>,
    poll: Option<u64>,
    message: Option<String>,
    attempts: Option<u32>,
}

impl Options {
    pub fn task(self) -> TaskOptions {
        let mut options = TaskOptions::new();
        options = match self.ttl {
            Some(serde_json::Value::String(_)) => options.unlimited(),
            Some(ttl) => options.ttl(Duration::from_millis(ttl.as_u64().unwrap_or_default())),
            None => options,
        };
        if let Some(poll) = self.poll {
            options = options.poll_interval(Duration::from_millis(poll));
        }
        if let Some(message) = self.message {
            options = options.status(message);
        }
        if let Some(attempts) = self.attempts {
            options = options.attempts(attempts);
        }
        options
    }
}

/// What a failure to start is called.
fn name(error: &StartError) -> String {
    match error {
        StartError::AlreadyStarted => "already-started".to_owned(),
        StartError::NotAllowed => "not-allowed".to_owned(),
        StartError::InvalidOption(text) => format!("invalid-option: {text}"),
        StartError::LimitReached => "limit-reached".to_owned(),
        StartError::StoreFailed(text) => format!("store-failed: {text}"),
        StartError::Final => "final".to_owned(),
    }
}

fn begin(call: &Call, options: Option<Options>) -> Result<&'static str> {
    match call.start_task(options.unwrap_or_default().task()) {
        Ok(Started::Task) => Ok("task"),
        Ok(Started::Inline) => Ok("inline"),
        Err(StartError::LimitReached) => Err(Error::rpc(-32603, "Task limit reached")),
        Err(error) => Err(error.into()),
    }
}

/// Becomes a task, and ends in one way or another.
#[tool(task = "optional")]
pub fn finish(
    call: &Call,
    how: Option<String>,
    code: Option<i32>,
    text: Option<String>,
    options: Option<Options>,
) -> Result<ToolResult> {
    let started = begin(call, options)?;
    end(call, how.as_deref().unwrap_or("return"), code, text.unwrap_or(started.to_owned()))
}

pub fn end(call: &Call, how: &str, code: Option<i32>, text: String) -> Result<ToolResult> {
    match how {
        "return" => ToolResult::text(&text).structured(&serde_json::json!({"text": text})),
        "complete" => {
            call.complete(ToolResult::text("completed"))?;
            Ok(ToolResult::text("too late"))
        }
        "fail" => {
            call.fail(&RpcError::new(code.unwrap_or(7), "failed"))?;
            Ok(ToolResult::text("too late"))
        }
        "tool-error" => Err(Error::tool("the tool says no")),
        "rpc-error" => Err(RpcError::new(code.unwrap_or(7), "the tool failed").with_data(&serde_json::json!({"why": "test"})).into()),
        "missing" => Err(Error::MissingFeatures(cofferdam_guest::ClientFeatures::SAMPLING)),
        "trap" => faults::trap(),
        "panic" => panic!("as told"),
        "overflow" => Ok(ToolResult::text(faults::overflow(0).to_string())),
        "spin" => faults::spin(),
        "sleep" => {
            call.sleep(Duration::from_secs(3600))?;
            Ok(ToolResult::text("slept"))
        }
        "large" => Ok(ToolResult::text("x".repeat(1 << 20))),
        "allocate" => Ok(ToolResult::text(faults::allocate(256 << 20))),
        other => bail!("unknown end {other}"),
    }
}

/// Becomes a task, and goes on until it is stopped.
#[tool(task = "optional")]
pub fn wait(
    call: &Call,
    how: Option<String>,
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
    match how.as_deref() {
        Some("spin") => faults::spin(),
        Some("stubborn") => loop {
            let _ = call.sleep(Duration::from_millis(5));
        },
        _ => {
            while call.sleep(Duration::from_secs(3600)).is_ok() {}
        }
    }
    log!(info, "{}: {:?} {} final: {}", mark.unwrap_or_default(), call.status(), call.cancelled(), refused(call));
    Ok("stopped".to_owned())
}

/// Starts a task so many times, and says what came of it.
#[tool(task = "optional")]
pub fn start(call: &Call, times: Option<u32>, options: Option<Options>) -> String {
    started(call, times, options)
}

fn started(call: &Call, times: Option<u32>, options: Option<Options>) -> String {
    let mut options = options;
    let mut said = Vec::new();
    for _ in 0..times.unwrap_or(1) {
        said.push(match call.start_task(options.take().unwrap_or_default().task()) {
            Ok(Started::Task) => "task".to_owned(),
            Ok(Started::Inline) => "inline".to_owned(),
            Err(error) => name(&error),
        });
    }
    said.join(", ")
}

/// Tries to start a task, though the tool does not allow it.
#[tool(name = "start-none")]
pub fn start_none(call: &Call) -> String {
    started(call, None, None)
}

/// Must be a task.
#[tool(task = "required")]
pub fn required(call: &Call, keys: Option<Vec<String>>) -> Result<String> {
    begin(call, None)?;
    Ok(format!("{}", keys.unwrap_or_default().len()))
}

/// The verbs that answer that the call is over.
fn refused(call: &Call) -> String {
    let verbs = [
        ("progress", call.progress(100, None, "late").is_err()),
        ("complete", call.complete(ToolResult::text("late")).is_err()),
        ("fail", call.fail(&RpcError::new(7, "late")).is_err()),
        ("record", call.record("l", b"v").is_err()),
        ("start", call.start_task(TaskOptions::new()).is_err()),
        ("ask", call.roots("k").is_err()),
    ];
    verbs.iter().filter(|(_, refused)| *refused).map(|(verb, _)| *verb).collect::<Vec<_>>().join(" ")
}

/// Ends its task, then tries everything else.
#[tool(task = "optional")]
pub fn late(call: &Call, mark: String) -> Result<String> {
    let before = call.status();
    begin(call, None)?;
    let during = call.status();
    call.progress(1, None, "working")?;
    let recorded = call.record("k", b"v").is_ok() && call.recall("k").as_deref() == Some(b"v");
    call.complete(ToolResult::text("first"))?;
    let after = call.status();
    let refused = refused(call);
    log!(info, "{mark}: {before:?} {during:?} {after:?} {recorded} final: {refused}");
    Ok("last".to_owned())
}

/// Reports progress with a pause after each step, then waits for a question to be answered.
#[tool(task = "optional")]
pub fn steps(call: &Call, number: u32, pause: u64) -> Result<String> {
    begin(call, None)?;
    for step in 1..=number {
        call.progress(step, Some(number), &format!("step {step}"))?;
        call.sleep(Duration::from_millis(pause))?;
    }
    Ok("done".to_owned())
}
