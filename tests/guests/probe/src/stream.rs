//! Tools that take their time, and tell of it.

use crate::faults;
use cofferdam_guest::prelude::*;

/// Sleeps. Never starts a task itself.
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

/// What to do instead of returning.
#[derive(Deserialize, JsonSchema, PartialEq)]
#[serde(rename_all = "kebab-case")]
pub enum Then {
    Trap,
}

/// Reports progress, each step twice, with a pause after each.
#[tool]
pub fn progress(
    call: &Call,
    steps: u32,
    delay_ms: Option<u64>,
    then: Option<Then>,
) -> Result<String> {
    for step in 1..=steps {
        call.progress(step, Some(steps), "step")?;
        call.progress(step, Some(steps), "the same again")?;
        if let Some(delay) = delay_ms {
            call.sleep(Duration::from_millis(delay))?;
        }
    }
    if then == Some(Then::Trap) {
        faults::trap();
    }
    Ok("done".to_owned())
}

/// Writes a line of each level.
#[tool(name = "log")]
pub fn log_each() -> String {
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

/// Writes so many lines.
#[tool(name = "log-many")]
pub fn log_many(lines: u32) -> String {
    for n in 0..lines {
        log!(info, "line {n} of many");
    }
    "logged".to_owned()
}
