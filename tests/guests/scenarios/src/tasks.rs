//! What a tool tells while it works, and how it waits and ends.

use crate::Phase;
use cofferdam_guest::log::{Level, write};
use cofferdam_guest::prelude::*;
use serde_json::{Map, json};
use std::time::Instant;

/// Counts, and tells how far it is
#[tool(task = "optional")]
pub(crate) fn count(
    call: &Call,
    #[schemars(range(min = 1, max = 100))] to: u32,
    #[serde(default)] phase: Phase,
) -> Result<String> {
    phase.begin(call)?;
    for n in 1..=to {
        call.progress(n, Some(to), &format!("counted {n}"))?;
    }
    Ok(format!("counted to {to}"))
}

/// Writes a line to the log
#[tool]
pub(crate) fn say(level: String, message: String) -> Result<String> {
    let level = match level.as_str() {
        "debug" => Level::Debug,
        "info" => Level::Info,
        "notice" => Level::Notice,
        "warning" => Level::Warning,
        "error" => Level::Error,
        "critical" => Level::Critical,
        "alert" => Level::Alert,
        "emergency" => Level::Emergency,
        _ => bail!("there is no level {level}"),
    };
    let fields = Map::from_iter([("from".to_owned(), json!("scenarios"))]);
    write(level, &message, &fields);
    Ok("said".to_owned())
}

/// Sleeps
#[tool(task = "optional")]
pub(crate) fn nap(call: &Call, ms: u64, #[serde(default)] phase: Phase) -> Result<&'static str> {
    phase.begin(call)?;
    let before = Instant::now();
    let time = Duration::from_millis(ms);
    call.sleep(time)?;
    Ok(if before.elapsed() >= time {
        "slept"
    } else {
        "woke early"
    })
}

/// Goes on until it is cancelled, and cleans up
#[tool(task = "optional")]
pub(crate) fn linger(call: &Call, #[serde(default)] phase: Phase) -> Result<()> {
    phase.begin(call)?;
    while !call.cancelled() {
        // That it is over is what the loop asks.
        let _ = call.sleep(Duration::from_millis(10));
    }
    log!(info, "cleaned up");
    Ok(())
}
