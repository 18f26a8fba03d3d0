//! Tools that ask before they answer, without becoming tasks.

use cofferdam_guest::ClientFeatures;
use cofferdam_guest::prelude::*;

#[derive(Deserialize, JsonSchema)]
pub struct Name {
    pub name: String,
}

#[derive(Deserialize, JsonSchema)]
struct Color {
    color: String,
}

#[derive(Deserialize, JsonSchema)]
struct Confirm {
    /// All is well
    ok: bool,
}

/// Needs a client that can sample.
#[tool]
pub fn test_missing_capability(call: &Call) -> Result<&'static str> {
    call.require_features(ClientFeatures::SAMPLING)?;
    Ok("The client can sample.")
}

/// Asks for a name on the way.
#[tool]
pub fn test_streaming_elicitation(call: &Call) -> Result<String> {
    let answer = call.ask_form::<Name>("user_name", "What is your name?")?;
    Ok(greeting(answer))
}

/// Asks for a name, and greets.
#[tool]
pub fn test_input_required_result_elicitation(call: &Call) -> Result<String> {
    let answer = call.ask_form::<Name>("user_name", "What is your name?")?;
    Ok(greeting(answer))
}

/// Asks the client's model.
#[tool]
pub fn test_input_required_result_sampling(call: &Call) -> Result<String> {
    let question = InputRequest::prompt("What is the capital of France?", 100);
    let answers = call.ask([("capital_question", question)])?;
    Ok(format!(
        "The model says: {}",
        answers.prompt("capital_question")?.text()
    ))
}

/// Asks for the client's root folders.
#[tool]
pub fn test_input_required_result_list_roots(call: &Call) -> Result<String> {
    let roots: Vec<String> = call
        .roots("client_roots")?
        .into_iter()
        .map(|root| root.uri)
        .collect();
    Ok(format!("The roots are: {}", roots.join(", ")))
}

/// Asks for a confirmation; the answer comes back with the state that the server gave out.
#[tool]
pub fn test_input_required_result_request_state(call: &Call) -> Result<&'static str> {
    Ok(
        match call.ask_form::<Confirm>("confirm", "Please confirm")? {
            Answer::Accepted(Confirm { ok: true }) => "state-ok: confirmed",
            _ => "state-ok: not confirmed",
        },
    )
}

/// Asks the user, the model and the client at once.
#[tool]
pub fn test_input_required_result_multiple_inputs(call: &Call) -> Result<String> {
    let answers = call.ask([
        (
            "user_name",
            InputRequest::form_of::<Name>("What is your name?"),
        ),
        ("greeting", InputRequest::prompt("Generate a greeting", 50)),
        ("client_roots", InputRequest::Roots),
    ])?;
    Ok(format!(
        "{} The model says: {} There are {} roots.",
        greeting(answers.form("user_name")?),
        answers.prompt("greeting")?.text(),
        answers.roots("client_roots")?.len()
    ))
}

/// Asks twice, one after the other.
#[tool]
pub fn test_input_required_result_multi_round(call: &Call) -> Result<String> {
    let name = call.ask_form::<Name>("step1", "Step 1: What is your name?")?;
    let color = call.ask_form::<Color>("step2", "Step 2: What is your favorite color?")?;
    let color = color
        .accepted()
        .map_or_else(|| "no color".to_owned(), |answer| answer.color);
    Ok(format!("{} You like {color}.", greeting(name)))
}

/// Asks for a confirmation; a state that was tampered with never gets here.
#[tool]
pub fn test_input_required_result_tampered_state(call: &Call) -> Result<&'static str> {
    Ok(
        match call.ask_form::<Confirm>("confirm", "Please confirm")? {
            Answer::Accepted(Confirm { ok: true }) => "Confirmed.",
            _ => "Not confirmed.",
        },
    )
}

/// Asks whatever the client can answer.
#[tool]
pub fn test_input_required_result_capabilities(call: &Call) -> Result<String> {
    let possible = [
        (
            ClientFeatures::ELICITATION_FORM,
            "user_name",
            InputRequest::form_of::<Name>("What is your name?"),
        ),
        (
            ClientFeatures::SAMPLING,
            "greeting",
            InputRequest::prompt("Generate a greeting", 50),
        ),
        (ClientFeatures::ROOTS, "client_roots", InputRequest::Roots),
    ];
    let requests: Vec<_> = possible
        .into_iter()
        .filter(|(needed, ..)| call.features().contains(*needed))
        .map(|(_, key, request)| (key, request))
        .collect();
    if requests.is_empty() {
        return Ok("The client can answer nothing.".to_owned());
    }
    let asked = requests.len();
    call.ask(requests)?;
    Ok(format!("The client answered {asked} questions."))
}

/// A greeting for whoever answered.
fn greeting(answer: Answer<Name>) -> String {
    match answer {
        Answer::Accepted(Name { name }) => format!("Hello, {name}!"),
        Answer::Declined | Answer::Cancelled => "Hello, whoever you are!".to_owned(),
    }
}
