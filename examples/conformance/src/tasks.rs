//! The fixtures of the Tasks extension.

use crate::questions::Name;
use cofferdam_guest::prelude::*;

#[derive(Deserialize, JsonSchema)]
struct Confirm {
    /// Go on?
    confirm: bool,
}

/// Greets, at once.
#[tool]
pub fn greet(name: String) -> String {
    format!("Hello, {name}!")
}

/// Computes for some seconds; as a task for clients that know tasks.
#[tool(task = "optional")]
pub fn slow_compute(
    call: &Call,
    /// How long, at most an hour.
    #[schemars(range(min = 0, max = 3600))]
    seconds: f64,
    /// A name for the computation.
    label: Option<String>,
) -> Result<String> {
    call.start_task(TaskOptions::new())?;
    call.sleep(Duration::from_secs_f64(seconds))?;
    Ok(format!(
        "Computed {} for {seconds} seconds.",
        label.as_deref().unwrap_or("nothing in particular")
    ))
}

/// Works for a second, and fails; only as a task.
#[tool(task = "required")]
pub fn failing_job(call: &Call) -> Result<()> {
    call.start_task(TaskOptions::new())?;
    call.sleep(Duration::from_secs(1))?;
    bail!("The job failed, as it always does.");
}

/// Ends in a protocol error.
#[tool(task = "optional")]
pub fn protocol_error_job(call: &Call) -> Result<()> {
    call.start_task(TaskOptions::new())?;
    call.sleep(Duration::from_millis(100))?;
    Err(Error::rpc(
        RpcError::INTERNAL,
        "The job broke, as it always does.",
    ))
}

/// Pretends to delete a file, after asking.
#[tool(task = "optional", destructive = false)]
pub fn confirm_delete(call: &Call, filename: String) -> Result<String> {
    call.start_task(TaskOptions::new())?;
    Ok(
        match call.ask_form::<Confirm>("confirm", &format!("Delete {filename}?"))? {
            Answer::Accepted(Confirm { confirm: true }) => format!("Deleted {filename}."),
            _ => format!("Kept {filename}."),
        },
    )
}

/// Asks for two things at once.
#[tool(task = "optional")]
pub fn multi_input(call: &Call) -> Result<String> {
    call.start_task(TaskOptions::new())?;
    let answers = call.ask([
        ("name", InputRequest::form_of::<Name>("What is your name?")),
        (
            "confirm",
            InputRequest::form_of::<Confirm>("Shall we go on?"),
        ),
    ])?;
    let name = answers
        .form::<Name>("name")?
        .accepted()
        .map_or_else(|| "Nobody".to_owned(), |answer| answer.name);
    let confirmed = answers
        .form::<Confirm>("confirm")?
        .accepted()
        .is_some_and(|answer| answer.confirm);
    Ok(if confirmed {
        format!("{name} goes on.")
    } else {
        format!("{name} stays.")
    })
}

/// Asks for a name, and only then becomes a task.
#[tool(task = "required")]
pub fn test_tool_with_task(call: &Call) -> Result<String> {
    let name = match call.ask_form::<Name>("user_name", "What is your name?")? {
        Answer::Accepted(Name { name }) => name,
        Answer::Declined | Answer::Cancelled => bail!("A task needs a name."),
    };
    call.start_task(TaskOptions::new())?;
    call.sleep(Duration::from_millis(200))?;
    Ok(format!("The task of {name} is done."))
}
