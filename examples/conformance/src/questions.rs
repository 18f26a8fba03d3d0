//! Tools that ask their client before they answer.

use cofferdam_guest::prelude::*;
use cofferdam_guest::bindings::cofferdam::tool::types::ClientFeatures;
use cofferdam_guest::SamplingRequest;

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Name {
    /// What you are called.
    name: String,
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Color {
    /// Any color.
    color: String,
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Confirm {
    /// Go on?
    #[serde(rename = "ok")]
    _ok: Option<bool>,
}

fn greet(answer: Answer<Name>) -> String {
    match answer {
        Answer::Accepted(answer) => format!("Hello, {}!", answer.name),
        _ => "Hello, whoever you are!".to_owned(),
    }
}

fn capital() -> SamplingRequest {
    SamplingRequest::new("What is the capital of France?", 100)
}

/// Needs a client that samples.
#[tool]
pub fn test_missing_capability(call: &Call) -> Result<String> {
    call.require_features(ClientFeatures::SAMPLING)?;
    Ok("The client samples".to_owned())
}

/// Answers without ever sending a request of its own.
#[tool]
pub fn test_streaming_elicitation(call: &Call) -> Result<String> {
    call.progress(0, Some(1), "working")?;
    Ok("No request was sent on this stream".to_owned())
}

/// Asks for a name.
#[tool]
pub fn test_input_required_result_elicitation(call: &Call) -> Result<String> {
    Ok(greet(call.ask_form("user_name", "What is your name?")?))
}

/// Asks the model.
#[tool]
pub fn test_input_required_result_sampling(call: &Call) -> Result<String> {
    Ok(format!("The model says: {}", call.sample("capital_question", capital())?.text()))
}

/// Asks for the roots.
#[tool]
pub fn test_input_required_result_list_roots(call: &Call) -> Result<String> {
    Ok(format!("There are {} roots", call.roots("client_roots")?.len()))
}

/// Asks for a confirmation, and remembers across the question.
#[tool]
pub fn test_input_required_result_request_state(call: &Call) -> Result<String> {
    let started = call.step("started", || Ok(1))?;
    call.ask_form::<Confirm>("confirm", "Go on?")?;
    Ok(format!("state-ok {started}"))
}

/// Asks three questions at once, one of each kind.
#[tool]
pub fn test_input_required_result_multiple_inputs(call: &Call) -> Result<String> {
    let answers = call.ask([
        ("user_name", InputRequest::form_of::<Name>("What is your name?")),
        ("greeting", InputRequest::Sampling(capital())),
        ("client_roots", InputRequest::Roots),
    ])?;
    let name = greet(answers.form("user_name")?);
    let said = answers.prompt("greeting")?.text();
    Ok(format!("{name} {said} {} roots", answers.roots("client_roots")?.len()))
}

/// Asks twice, one question after the other.
#[tool]
pub fn test_input_required_result_multi_round(call: &Call) -> Result<String> {
    let name = greet(call.ask_form("step1", "Step 1: what is your name?")?);
    let color = call.ask_form::<Color>("step2", "Step 2: what is your favorite color?")?;
    let color = color.accepted().map_or_else(|| "no color".to_owned(), |answer| answer.color);
    Ok(format!("{name} You like {color}."))
}

/// Asks for a confirmation whose state nobody can forge.
#[tool]
pub fn test_input_required_result_tampered_state(call: &Call) -> Result<String> {
    call.ask_form::<Confirm>("confirm", "Go on?")?;
    Ok("state-ok".to_owned())
}

/// Asks whatever the client can answer.
#[tool]
pub fn test_input_required_result_capabilities(call: &Call) -> Result<String> {
    if call.features().contains(ClientFeatures::ELICITATION_FORM) {
        return Ok(greet(call.ask_form("user_name", "What is your name?")?));
    }
    Ok(call.sample("capital_question", capital())?.text())
}

/// Asks for a name, and becomes a task once it has it.
#[tool(task = "optional")]
pub fn test_tool_with_task(call: &Call) -> Result<String> {
    let name = call.ask_form::<Name>("user_name", "What is your name?")?;
    call.start_task(TaskOptions::new())?;
    Ok(greet(name))
}
