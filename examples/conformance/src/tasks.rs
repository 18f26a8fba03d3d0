//! Tools whose calls become tasks.

use cofferdam_guest::prelude::*;

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Confirm {
    /// Really delete it?
    confirm: bool,
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Name {
    /// What you are called.
    name: String,
}

/// Computes for some seconds.
#[tool(task = "optional")]
pub fn slow_compute(
    call: &Call,
    /// How long it takes.
    #[schemars(range(min = 0.0, max = 3600.0))]
    seconds: f64,
    /// What the answer names.
    label: Option<String>,
) -> Result<String> {
    call.start_task(TaskOptions::new().status("computing"))?;
    let steps = (seconds * 10.0).ceil().max(1.0);
    let step = Duration::from_secs_f64(seconds.clamp(0.0, 3600.0) / steps);
    let mut done = 0.0;
    while done < steps {
        call.sleep(step)?;
        done += 1.0;
        call.progress(done, Some(steps), &format!("{:.0} %", 100.0 * done / steps))?;
    }
    Ok(format!("Computed {} in {seconds} s", label.as_deref().unwrap_or("it")))
}

/// Works for a second and then cannot do what was asked.
#[tool(task = "required")]
pub fn failing_job(call: &Call) -> Result<String> {
    call.start_task(TaskOptions::new())?;
    call.sleep(Duration::from_secs(1))?;
    Err(Error::tool("The job could not be done"))
}

/// Fails with a JSON-RPC error.
#[tool(task = "optional")]
pub fn protocol_error_job(call: &Call) -> Result<String> {
    call.start_task(TaskOptions::new())?;
    Err(Error::rpc(RpcError::INTERNAL, "The job broke"))
}

/// Deletes a file that does not exist, after asking.
#[tool(task = "optional", destructive)]
pub fn confirm_delete(
    call: &Call,
    /// The file.
    filename: Option<String>,
) -> Result<String> {
    call.start_task(TaskOptions::new())?;
    let filename = filename.as_deref().unwrap_or("it");
    let answer = call.ask_form::<Confirm>("confirm", &format!("Really delete {filename}?"))?;
    Ok(match answer {
        Answer::Accepted(answer) if answer.confirm => format!("Deleted {filename}"),
        _ => format!("Kept {filename}"),
    })
}

/// Asks for a name and a confirmation at once.
#[tool(task = "optional")]
pub fn multi_input(call: &Call) -> Result<String> {
    call.start_task(TaskOptions::new())?;
    let answers = call.ask([
        ("name", InputRequest::form_of::<Name>("What is your name?")),
        ("confirm", InputRequest::form_of::<Confirm>("Go on?")),
    ])?;
    let name = answers.form::<Name>("name")?.accepted();
    let confirmed = answers.form::<Confirm>("confirm")?.accepted().is_some_and(|it| it.confirm);
    let name = name.map_or_else(|| "nobody".to_owned(), |answer| answer.name);
    Ok(format!("{name} {}", if confirmed { "agrees" } else { "does not agree" }))
}
