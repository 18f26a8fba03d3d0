//! Tools that keep values for the life of their call.

use crate::tasks::{Options, begin};
use crate::{faults, names};
use cofferdam_guest::prelude::*;
use serde_json::json;

/// Records values of so many bytes under keys, and says what came of each and what is recalled.
#[tool(task = "optional")]
pub fn keep(call: &Call, keys: Vec<String>, bytes: Option<usize>) -> String {
    let told: Vec<String> = keys
        .iter()
        .enumerate()
        .map(|(n, key)| {
            let value = vec![u8::try_from(n % 256).unwrap_or_default(); bytes.unwrap_or(1)];
            let outcome = names::record(&call.record(key, &value));
            let recalled = match call.recall(key) {
                Some(kept) if kept == value => "the same",
                Some(_) => "another",
                None => "nothing",
            };
            format!("{outcome}, {recalled}")
        })
        .collect();
    told.join("; ")
}

/// Becomes a task that asks if it is told to, and traps so many times before it says how often it was
/// run.
#[tool(task = "optional")]
pub fn retry(
    call: &Call,
    traps: u8,
    keys: Option<Vec<String>>,
    options: Option<Options>,
) -> Result<String> {
    begin(call, options)?;
    if let Some(keys) = keys {
        let form = json!({ "type": "object", "properties": {} });
        call.ask(
            keys.into_iter()
                .map(|key| (key, InputRequest::form_with("Go on?", &form))),
        )?;
    }
    let runs = call
        .recall("runs")
        .and_then(|kept| kept.first().copied())
        .unwrap_or(0)
        + 1;
    call.record("runs", &[runs])?;
    if runs <= traps {
        faults::trap();
    }
    Ok(runs.to_string())
}
