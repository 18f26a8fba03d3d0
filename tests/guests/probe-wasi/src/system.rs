//! Files, environment, streams and time, as the standard library reaches them.

use cofferdam_guest::prelude::*;
use serde_json::{Map, Value, json};
use std::io::{Read, Write};
use std::{env, fs, io, thread};

/// Tries to read files, folders, the environment and standard input, and tells what came of each:
/// what was read, or the error.
#[tool]
pub fn reach() -> Result<ToolResult> {
    let variables: Map<String, Value> = env::vars_os()
        .map(|(name, value)| {
            (
                name.to_string_lossy().into_owned(),
                json!(value.to_string_lossy()),
            )
        })
        .collect();
    let arguments: Vec<String> = env::args_os()
        .map(|argument| argument.to_string_lossy().into_owned())
        .collect();
    let mut report = Map::from_iter([
        ("environment".to_owned(), Value::Object(variables)),
        ("arguments".to_owned(), json!(arguments)),
        ("preopened".to_owned(), json!(preopened())),
        ("stdin".to_owned(), json!(told(stdin()))),
    ]);
    for path in ["/", ".", "..", "/tmp"] {
        let entries = fs::read_dir(path).map(|entries| format!("{} entries", entries.count()));
        report.insert(format!("list {path}"), json!(told(entries)));
    }
    for path in [
        "/etc/passwd",
        "../etc/passwd",
        "/proc/self/environ",
        "/dev/urandom",
        "Cargo.toml",
    ] {
        let bytes = fs::read(path).map(|bytes| format!("{} bytes", bytes.len()));
        report.insert(format!("read {path}"), json!(told(bytes)));
    }
    for path in ["/tmp/probe-wasi", "probe-wasi", "/probe-wasi"] {
        let written = fs::write(path, b"probe").map(|()| "written".to_owned());
        report.insert(format!("write {path}"), json!(told(written)));
    }
    ToolResult::new().structured(&report)
}

/// Prints so many lines to both standard streams; then perhaps asks `go`, and prints a last one.
#[tool]
pub fn say(call: &Call, lines: u32, ask: Option<bool>) -> Result<&'static str> {
    let (mut out, mut err) = (io::stdout(), io::stderr());
    for n in 0..lines {
        writeln!(out, "stdout line {n}")?;
        writeln!(err, "stderr line {n}")?;
    }
    if ask == Some(true) {
        call.ask_url("go", "Go there", "https://example.com")?;
        writeln!(out, "the last line")?;
    }
    Ok("said")
}

/// Sleeps by the clock of WASI rather than by the verb, perhaps as a task.
#[tool(task = "optional")]
pub fn doze(call: &Call, ms: u64, task: Option<bool>) -> Result<&'static str> {
    if task == Some(true) {
        call.start_task(TaskOptions::new())?;
    }
    thread::sleep(Duration::from_millis(ms));
    Ok("slept")
}

fn preopened() -> Vec<String> {
    wasip2::filesystem::preopens::get_directories()
        .into_iter()
        .map(|(_, path)| path)
        .collect()
}

fn stdin() -> io::Result<String> {
    let mut text = String::new();
    io::stdin().read_to_string(&mut text)?;
    Ok(format!("{} bytes", text.len()))
}

fn told(outcome: io::Result<String>) -> String {
    outcome.unwrap_or_else(|error| format!("error: {error}"))
}

/// Writes and reads some files, tells each outcome; perhaps as a task, perhaps asking `go` between.
#[tool(task = "optional")]
pub fn files(
    call: &Call,
    write: Option<Vec<String>>,
    read: Option<Vec<String>>,
    task: Option<bool>,
    ask: Option<bool>,
) -> Result<ToolResult> {
    if task == Some(true) {
        call.start_task(TaskOptions::new())?;
    }
    let mut report = Map::new();
    for path in write.unwrap_or_default() {
        let written = fs::write(&path, b"from the guest").map(|()| "written".to_owned());
        report.insert(format!("write {path}"), json!(told(written)));
    }
    if ask == Some(true) {
        call.ask_url("go", "Go there", "https://example.com")?;
    }
    for path in read.unwrap_or_default() {
        report.insert(
            format!("read {path}"),
            json!(told(fs::read_to_string(&path))),
        );
    }
    ToolResult::new().structured(&report)
}
