//! Tools that tell their version, at once, after a question, and as tasks.
//!
//! The version stands in the component's bytes, where tests write another of the same length: a
//! component of that version.

use cofferdam_guest::prelude::*;

cofferdam_guest::export!(version, asked, task);

/// The version, wherever it stands in the component.
static VERSION: &str = "version 00000000";

/// What the version is, as far as the compiler knows: not before it runs.
fn this() -> &'static str {
    std::hint::black_box(VERSION)
}

/// Tells that this is version 00000000.
#[tool]
fn version() -> ToolResult {
    ToolResult::text(this())
}

/// Tells its version when the client has answered, before it is a task.
#[tool]
fn asked(call: &Call) -> Result<ToolResult> {
    call.ask_form::<Go>("go", this())?;
    Ok(ToolResult::text(this()))
}

/// Tells its version when the client has answered, as a task.
#[tool(task = "optional")]
fn task(call: &Call) -> Result<ToolResult> {
    call.start_task(TaskOptions::new())?;
    call.ask_form::<Go>("go", this())?;
    Ok(ToolResult::text(this()))
}

#[derive(Deserialize, JsonSchema)]
struct Go {
    #[expect(dead_code, reason = "only asked")]
    value: String,
}
