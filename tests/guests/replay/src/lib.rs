//! The subjects of the kill test: tools whose results are the same bytes, whatever happens to their
//! server on the way.
//!
//! Invariant: unless `raw` is asked for, a result holds comparisons and answers, and nothing that
//! another call would see otherwise. See `README.md` for each tool.

mod chance;
mod mixed;
mod questions;
mod records;
mod steps;
#[cfg(test)]
mod tests;
mod time;

use cofferdam_guest::prelude::*;
use serde_json::{Value, json};

cofferdam_guest::export!(
    time::clock,
    time::sleep,
    time::poll,
    chance::random,
    chance::hash_map,
    questions::sequence,
    questions::two_keys,
    records::records,
    records::flaky,
    steps::steps,
    mixed::mixed,
);

/// How a tool is to go about its work.
#[derive(Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(default)]
struct Plan {
    /// `inline` if left out.
    phase: Phase,
    /// Put into the result what was read and drawn, too.
    raw: bool,
}

/// What the call is while the tool works.
#[derive(Clone, Copy, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Phase {
    #[default]
    Inline,
    Task,
}

impl Plan {
    /// Becomes a task, if the tool works as one.
    fn begin(self, call: &Call) -> Result<()> {
        if self.phase == Phase::Task {
            call.start_task(TaskOptions::new())?;
        }
        Ok(())
    }

    /// The result: compact JSON, with one more member if raw values are wanted.
    fn told(self, mut result: Value, name: &str, raw: Value) -> String {
        if self.raw {
            result[name] = raw;
        }
        result.to_string()
    }
}

/// Asks for one text.
fn ask(call: &Call, key: &str) -> Result<String> {
    let [answer] = ask_all(call, [key])?;
    Ok(answer)
}

/// Asks for a text under each key at once.
fn ask_all<const N: usize>(call: &Call, keys: [&str; N]) -> Result<[String; N]> {
    #[derive(Deserialize)]
    struct Form {
        value: String,
    }
    let schema = json!({
        "type": "object",
        "properties": { "value": { "type": "string" } },
        "required": ["value"]
    });
    let answers = call.ask(keys.map(|key| {
        let message = format!("What is {key}?");
        (key, InputRequest::form_with(message, &schema))
    }))?;
    let mut values = keys.map(|_| String::new());
    for (key, value) in keys.iter().zip(&mut values) {
        match answers.form::<Form>(key)? {
            Answer::Accepted(form) => *value = form.value,
            Answer::Declined => bail!("{key}: declined"),
            Answer::Cancelled => bail!("{key}: cancelled"),
        }
    }
    Ok(values)
}

/// Is this the text that was recorded under the key?
fn recalls(call: &Call, key: &str, text: &str) -> bool {
    call.recall(key).as_deref() == Some(text.as_bytes())
}
