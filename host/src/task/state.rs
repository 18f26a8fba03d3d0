//! The state machine of a task (SEP-2663, "Task states"). No I/O, no clock of its own.
//!
//! Invariants: a final task never changes; an input key is used once in a task's life; what a run
//! of the handler says counts only if it is the task's present attempt. Every store changes tasks
//! through [`apply`] alone.

use super::record::{Inputs, Millis, Outcome, Status, Task};
use crate::limits;
use serde_json::Value;
use serde_json::value::RawValue;

/// Something that happens to a task.
#[derive(Clone, Debug)]
pub enum Event {
    /// The handler reports progress.
    Progress {
        /// The run that says so.
        attempt: u32,
        /// For people.
        message: String,
    },
    /// The handler asks the client.
    AskInput {
        /// The run that asks.
        attempt: u32,
        /// Keys and requests, in their form on the wire.
        requests: Vec<(String, Value)>,
    },
    /// The handler has a result.
    Complete {
        /// The run that says so.
        attempt: u32,
        /// A `CallToolResult`.
        result: Box<RawValue>,
    },
    /// The handler, or the run itself, failed.
    Fail {
        /// The run that failed.
        attempt: u32,
        /// A JSON-RPC error object.
        error: Box<RawValue>,
        /// For people.
        message: String,
    },
    /// The client answers. Keys that are not open are passed over.
    Answer {
        /// Keys and answers.
        responses: Vec<(String, Value)>,
    },
    /// The client cancels.
    Cancel,
    /// The ttl may be over.
    Expire {
        /// A JSON-RPC error object.
        error: Box<RawValue>,
        /// For people.
        message: String,
    },
    /// The server that ran it is gone.
    Lose {
        /// A JSON-RPC error object.
        error: Box<RawValue>,
        /// For people.
        message: String,
    },
}

/// What an event did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// The task is different now.
    Changed,
    /// Nothing to do.
    Unchanged,
}

/// Why an event was refused; the task is as it was.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The task is final.
    #[error("the task is final")]
    Final,
    /// Another attempt took over.
    #[error("another attempt of the task took over")]
    Stale,
    /// These input keys were used before.
    #[error("input keys used before: {}", .0.join(", "))]
    DuplicateKeys(Vec<String>),
    /// Too many questions, or too large ones.
    #[error("{0}")]
    InputLimit(String),
}

/// Applies an event.
///
/// # Errors
/// A [`Refusal`]; the task is unchanged then.
pub fn apply(task: &mut Task, event: Event, now: Millis) -> Result<Change, Refusal> {
    let change = transition(task, event, now)?;
    if change == Change::Changed {
        task.updated_at = now.max(task.updated_at);
        if task.status.is_final() {
            task.inputs = Inputs::default();
        }
    }
    Ok(change)
}

fn transition(task: &mut Task, event: Event, now: Millis) -> Result<Change, Refusal> {
    if task.status.is_final() {
        // Clients and sweeps may come late: that is no error of theirs. A handler must be told.
        return match event {
            Event::Answer { .. } | Event::Cancel | Event::Expire { .. } | Event::Lose { .. } => {
                Ok(Change::Unchanged)
            }
            _ => Err(Refusal::Final),
        };
    }
    match event {
        Event::Progress { attempt, message } => {
            fence(task, attempt)?;
            if task.message.as_ref() == Some(&message) {
                return Ok(Change::Unchanged);
            }
            task.message = Some(message);
        }
        Event::AskInput { attempt, requests } => {
            fence(task, attempt)?;
            ask(task, requests)?;
        }
        Event::Complete { attempt, result } => {
            fence(task, attempt)?;
            task.status = Status::Completed;
            task.message = None;
            task.outcome = Some(Outcome::Result(result));
        }
        Event::Fail {
            attempt,
            error,
            message,
        } => {
            fence(task, attempt)?;
            fail(task, error, message);
        }
        Event::Answer { responses } => return answer(task, responses),
        Event::Cancel => {
            task.status = Status::Cancelled;
            task.message = Some("Cancelled by the client".to_owned());
        }
        Event::Expire { error, message } => {
            if task.deadline().is_none_or(|deadline| now < deadline) {
                return Ok(Change::Unchanged);
            }
            fail(task, error, message);
        }
        Event::Lose { error, message } => fail(task, error, message),
    }
    Ok(Change::Changed)
}

fn fence(task: &Task, attempt: u32) -> Result<(), Refusal> {
    if attempt == task.attempt {
        Ok(())
    } else {
        Err(Refusal::Stale)
    }
}

fn fail(task: &mut Task, error: Box<RawValue>, message: String) {
    task.status = Status::Failed;
    task.message = Some(message);
    task.outcome = Some(Outcome::Error(error));
}

fn ask(task: &mut Task, requests: Vec<(String, Value)>) -> Result<(), Refusal> {
    let inputs = &task.inputs;
    let used = |key: &String| inputs.open.contains_key(key) || inputs.answered.contains_key(key);
    let mut duplicates: Vec<String> = Vec::new();
    for (index, (key, _)) in requests.iter().enumerate() {
        let twice = requests[..index].iter().any(|(earlier, _)| earlier == key);
        if (used(key) || twice) && !duplicates.contains(key) {
            duplicates.push(key.clone());
        }
    }
    if !duplicates.is_empty() {
        return Err(Refusal::DuplicateKeys(duplicates));
    }
    if inputs.open.len() + inputs.answered.len() + requests.len() > limits::INPUTS_PER_CALL {
        return Err(Refusal::InputLimit(format!(
            "a call may ask {} inputs over its life",
            limits::INPUTS_PER_CALL
        )));
    }
    let size = |value: &Value| value.to_string().len();
    let total: usize = inputs
        .open
        .values()
        .chain(inputs.answered.values())
        .map(size)
        .sum();
    if total
        + requests
            .iter()
            .map(|(_, request)| size(request))
            .sum::<usize>()
        > limits::INPUT_BYTES
    {
        return Err(Refusal::InputLimit(format!(
            "the inputs of a call may have {} bytes together",
            limits::INPUT_BYTES
        )));
    }
    task.inputs.open.extend(requests);
    task.status = Status::InputRequired;
    Ok(())
}

fn answer(task: &mut Task, responses: Vec<(String, Value)>) -> Result<Change, Refusal> {
    let mut change = Change::Unchanged;
    for (key, response) in responses {
        if task.inputs.open.shift_remove(&key).is_some() {
            task.inputs.answered.insert(key, response);
            change = Change::Changed;
        }
    }
    if change == Change::Changed && task.inputs.open.is_empty() {
        task.status = Status::Working;
    }
    Ok(change)
}
