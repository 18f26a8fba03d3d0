//! Tools that look for what is not theirs, and leave messages where another call may look.

use crate::fresh;
use cofferdam_guest::prelude::*;
use serde_json::{Map, Value, json};
use std::sync::Mutex;
use std::{env, fs, io};

static LEFT: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Where a message might lie between two calls.
const KEYS: [&str; 4] = ["message", "step:message", "half", "runs"];
const FILES: [&str; 4] = ["/tmp/message", "message", "/message", "../message"];

/// Leaves a message in every place that there is, and says in which one was before.
#[tool(task = "optional")]
pub fn leave(call: &Call, message: String) -> Result<ToolResult> {
    crate::begin(call)?;
    let mut before = found(call);
    let (memory, own) = fresh::look_and_leave();
    before.extend(memory.into_iter().map(str::to_owned));
    if let Ok(mut left) = LEFT.lock() {
        left.push(message.clone());
    }
    for key in KEYS {
        call.record(key, message.as_bytes())?;
    }
    for path in FILES {
        // Whether it could is seen by whoever finds it.
        let _ = fs::write(path, &message);
    }
    let after = found(call);
    ToolResult::new().structured(&json!({ "before": before, "after": after, "memory": own }))
}

/// Says where a message lies, and what there is of environment, arguments and files.
#[tool]
pub fn look(call: &Call) -> Result<ToolResult> {
    let variables: Map<String, Value> = env::vars_os()
        .map(|(name, value)| (told(&name), json!(told(&value))))
        .collect();
    let arguments: Vec<String> = env::args_os().map(|argument| told(&argument)).collect();
    let mut files = Map::new();
    for path in [
        "/",
        ".",
        "..",
        "/etc/passwd",
        "../../../../etc/passwd",
        "/proc/self/environ",
        "/proc/self/mem",
        "/dev/mem",
        "cofferdam.sqlite",
        "../cofferdam.sqlite",
        "request-state.key",
    ] {
        let bytes = fs::read(path).map(|bytes| bytes.len());
        let entries = fs::read_dir(path).map(Iterator::count);
        for (verb, outcome) in [("read", bytes), ("list", entries)] {
            files.insert(format!("{verb} {path}"), json!(outcome_of(outcome)));
        }
    }
    ToolResult::new().structured(&json!({
        "found": found(call),
        "environment": variables,
        "arguments": arguments,
        "files": files,
    }))
}

/// Places in which there is a message.
fn found(call: &Call) -> Vec<String> {
    let mut found = Vec::new();
    if LEFT.lock().is_ok_and(|left| !left.is_empty()) {
        found.push("a global".to_owned());
    }
    let kept = KEYS.iter().filter(|key| call.recall(key).is_some());
    found.extend(kept.map(|key| format!("the record {key}")));
    let files = FILES.iter().filter(|path| fs::read(path).is_ok());
    found.extend(files.map(|path| format!("the file {path}")));
    found
}

fn told(text: &std::ffi::OsStr) -> String {
    text.to_string_lossy().into_owned()
}

fn outcome_of(outcome: io::Result<usize>) -> String {
    match outcome {
        Ok(size) => size.to_string(),
        Err(error) => format!("error: {error}"),
    }
}
