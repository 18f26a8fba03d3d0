//! Questions to the user.

use crate::Phase;
use cofferdam_guest::prelude::*;
use serde_json::json;

#[derive(Deserialize, JsonSchema)]
struct Sure {
    sure: bool,
}

/// Asks whether the user is sure
#[tool(task = "optional")]
pub(crate) fn confirm(call: &Call, #[serde(default)] phase: Phase) -> Result<&'static str> {
    phase.begin(call)?;
    Ok(match call.ask_form::<Sure>("sure", "Are you sure?")? {
        Answer::Accepted(Sure { sure: true }) => "yes",
        Answer::Accepted(Sure { sure: false }) => "no",
        Answer::Declined => "decline",
        Answer::Cancelled => "cancel",
    })
}

/// Asks one question, then another
#[tool(task = "optional")]
pub(crate) fn sequence(call: &Call, #[serde(default)] phase: Phase) -> Result<String> {
    phase.begin(call)?;
    let [first] = values(call, ["first"])?;
    let [second] = values(call, ["second"])?;
    Ok(json!({"first": first, "second": second}).to_string())
}

/// Asks two questions at once
#[tool(task = "optional")]
pub(crate) fn two_keys(call: &Call, #[serde(default)] phase: Phase) -> Result<String> {
    phase.begin(call)?;
    let [left, right] = values(call, ["left", "right"])?;
    Ok(json!({"left": left, "right": right}).to_string())
}

/// Asks for a text under each key, all at once.
pub(crate) fn values<const N: usize>(call: &Call, keys: [&str; N]) -> Result<[String; N]> {
    #[derive(Deserialize, JsonSchema)]
    struct Form {
        value: String,
    }
    let questions = keys.map(|key| {
        (
            key,
            InputRequest::form_of::<Form>(format!("What is {key}?")),
        )
    });
    let answers = call.ask(questions)?;
    let mut values = keys.map(|_| String::new());
    for (key, value) in keys.iter().zip(&mut values) {
        match answers.form::<Form>(key)? {
            Answer::Accepted(form) => *value = form.value,
            Answer::Declined => bail!("{key}: decline"),
            Answer::Cancelled => bail!("{key}: cancel"),
        }
    }
    Ok(values)
}
