//! What a tool says before it answers.

use cofferdam_guest::prelude::*;

/// Reports progress three times.
#[tool]
pub fn test_tool_with_progress(call: &Call) -> Result<&'static str> {
    const PAUSE: Duration = Duration::from_millis(50);
    call.progress(0, Some(100), "Starting")?;
    call.sleep(PAUSE)?;
    call.progress(50, Some(100), "Halfway")?;
    call.sleep(PAUSE)?;
    call.progress(100, Some(100), "Done")?;
    Ok("All steps are done.")
}

/// Writes log lines.
#[tool]
pub fn test_logging_tool() -> &'static str {
    log!(info, "The tool begins");
    log!(warning, "The tool is only a test");
    log!(info, "The tool ends");
    "The tool has logged three lines."
}
