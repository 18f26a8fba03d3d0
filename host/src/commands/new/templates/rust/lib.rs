//! A tool that asks its user a question while it runs.

use cofferdam_guest::prelude::*;

/// How to greet.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Manner {
    Formal,
    Friendly,
}

#[derive(Deserialize, JsonSchema)]
struct Question {
    /// How to greet
    manner: Manner,
}

/// Greets someone in the manner that the user chooses.
#[tool(title = "Greet", task = "optional", read_only, open_world = false)]
fn greet(
    call: &Call,
    /// Who is greeted.
    name: String,
) -> Result<String> {
    // A client that knows tasks is answered now, and need not wait for the user.
    call.start_task(TaskOptions::new().status("Thinking"))?;
    // A step is done once, also if the server is stopped meanwhile and the tool run again.
    let letters: usize = call.step("letters", || Ok(name.chars().count()))?;
    call.progress(1, Some(2), &format!("{letters} letters"))?;
    let question = format!("How shall {name} be greeted?");
    Ok(match call.ask_form::<Question>("manner", &question)? {
        Answer::Accepted(Question { manner }) => match manner {
            Manner::Formal => format!("Good day, {name}."),
            Manner::Friendly => format!("Hi {name}!"),
        },
        Answer::Declined | Answer::Cancelled => format!("{name} was not greeted."),
    })
}

cofferdam_guest::export!(greet);
