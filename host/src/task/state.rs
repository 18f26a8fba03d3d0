//! The state machine of a task (SEP-2663, "Task states"). No I/O, no clock of its own.
//!
//! Invariants: a final task never changes; an attempt uses an input key once, and a client is asked
//! for a key once; what a run of the handler says counts only with the task's present attempt and
//! lease. Every store changes tasks through [`apply`] alone.

use super::record::{Answered, Fence, Inputs, Millis, Outcome, Status, Task, Wait, request_digest};
use crate::limits;
use crate::protocol::{RpcError, raw};
use serde_json::Value;
use serde_json::value::RawValue;
use std::time::Duration;

/// Why an attempt or a task fails.
#[derive(Clone, Debug)]
pub struct Failure {
    /// A JSON-RPC error object.
    pub error: Box<RawValue>,
    /// For people.
    pub message: String,
}

impl From<RpcError> for Failure {
    fn from(error: RpcError) -> Self {
        let end = error
            .message
            .floor_char_boundary(limits::STATUS_MESSAGE_BYTES);
        Self {
            error: raw(&error),
            message: error.message[..end].to_owned(),
        }
    }
}

/// Something that happens to a task.
#[derive(Clone, Debug)]
pub enum Event {
    /// A run takes the task, if it is ready.
    Claim {
        /// Why the attempt fails if too many runs came to nothing.
        lost: Failure,
    },
    /// The handler reports progress.
    Progress {
        /// The run that says so.
        fence: Fence,
        /// For people.
        message: String,
    },
    /// The handler keeps something that clients do not see.
    Keep {
        /// The run that says so.
        fence: Fence,
    },
    /// The run gives its instance back until a time.
    Sleep {
        /// The run that says so.
        fence: Fence,
        /// When to go on.
        until: Millis,
    },
    /// The handler asks the client.
    AskInput {
        /// The run that asks.
        fence: Fence,
        /// Keys and requests, in their form on the wire.
        requests: Vec<(String, Value)>,
    },
    /// The handler has a result.
    Complete {
        /// The run that says so.
        fence: Fence,
        /// A `CallToolResult`.
        result: Box<RawValue>,
    },
    /// The handler, or the run itself, failed.
    Fail {
        /// The run that failed.
        fence: Fence,
        /// Why.
        failure: Failure,
        /// True if another attempt may do better.
        retry: bool,
    },
    /// The client answers. Keys that are not open are passed over.
    Answer {
        /// Keys and answers.
        responses: Vec<(String, Value)>,
    },
    /// The client cancels.
    Cancel,
    /// The ttl may be over, or the attempt's wall time.
    Expire {
        /// Why the task fails if the ttl is over.
        ttl: Failure,
        /// Why the attempt fails if its wall time is over.
        wall: Failure,
    },
}

/// What an event did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// The task is different now.
    Changed,
    /// Only what clients do not see is different.
    Quiet,
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
            task.wait = Wait::Nothing;
        }
    }
    Ok(change)
}

fn transition(task: &mut Task, event: Event, now: Millis) -> Result<Change, Refusal> {
    if task.status.is_final() {
        // Clients, sweeps and runs that begin may come late: that is no error of theirs. A handler
        // must be told.
        return match event {
            Event::Answer { .. } | Event::Cancel | Event::Expire { .. } | Event::Claim { .. } => {
                Ok(Change::Unchanged)
            }
            Event::Progress { .. }
            | Event::Keep { .. }
            | Event::Sleep { .. }
            | Event::AskInput { .. }
            | Event::Complete { .. }
            | Event::Fail { .. } => Err(Refusal::Final),
        };
    }
    match event {
        Event::Claim { lost } => {
            if task.ready_at().is_none_or(|time| time > now) {
                return Ok(Change::Unchanged);
            }
            if task.idle_runs >= limits::IDLE_RUNS {
                end_attempt(task, lost, true, now);
                return Ok(Change::Changed);
            }
            task.wait = Wait::Nothing;
            task.lease += 1;
            task.idle_runs += 1;
            return Ok(Change::Quiet);
        }
        Event::Progress { fence, message } => {
            check(task, fence)?;
            if task.message.as_ref() == Some(&message) {
                return Ok(Change::Unchanged);
            }
            task.message = Some(message);
        }
        Event::Keep { fence } => {
            check(task, fence)?;
            task.idle_runs = 0;
            return Ok(Change::Quiet);
        }
        Event::Sleep { fence, until } => {
            check(task, fence)?;
            task.idle_runs = 0;
            task.wait = Wait::Until(until);
            return Ok(Change::Quiet);
        }
        Event::AskInput { fence, requests } => {
            check(task, fence)?;
            return ask(task, requests);
        }
        Event::Complete { fence, result } => {
            check(task, fence)?;
            task.status = Status::Completed;
            task.message = None;
            task.outcome = Some(Outcome::Result(result));
        }
        Event::Fail {
            fence,
            failure,
            retry,
        } => {
            check(task, fence)?;
            end_attempt(task, failure, retry, now);
        }
        Event::Answer { responses } => return Ok(answer(task, responses)),
        Event::Cancel => {
            task.status = Status::Cancelled;
            task.message = Some("Cancelled by the client".to_owned());
        }
        Event::Expire { ttl, wall } => {
            if task.deadline().is_some_and(|deadline| now >= deadline) {
                end_attempt(task, ttl, false, now);
            } else if now >= task.wall_deadline() {
                end_attempt(task, wall, true, now);
            } else {
                return Ok(Change::Unchanged);
            }
        }
    }
    Ok(Change::Changed)
}

fn check(task: &Task, fence: Fence) -> Result<(), Refusal> {
    if fence == task.fence() {
        Ok(())
    } else {
        Err(Refusal::Stale)
    }
}

/// The attempt failed: another one may follow, else the task fails. Answers, recorded values and
/// open questions stay for the next attempt.
fn end_attempt(task: &mut Task, failure: Failure, retry: bool, now: Millis) {
    let Failure { error, message } = failure;
    if !retry || task.attempt >= task.max_attempts {
        task.status = Status::Failed;
        task.message = Some(message);
        task.outcome = Some(Outcome::Error(error));
        return;
    }
    let message = format!(
        "Attempt {} of {} failed: {message}",
        task.attempt, task.max_attempts
    );
    let start = now.saturating_add_unsigned(millis(backoff(task.attempt)));
    let end = message.floor_char_boundary(limits::STATUS_MESSAGE_BYTES);
    task.message = Some(message[..end].to_owned());
    task.attempt += 1;
    task.attempt_started_at = start;
    task.lease += 1;
    task.idle_runs = 0;
    task.inputs.used.clear();
    task.wait = Wait::Until(start);
}

/// Why a call may ask no more.
#[must_use]
pub fn too_many_inputs() -> String {
    let limit = limits::INPUTS_PER_CALL;
    format!("a call may ask {limit} inputs over its life")
}

/// The pause after an attempt.
fn backoff(attempt: u32) -> Duration {
    let doubled = limits::BACKOFF.saturating_mul(1 << attempt.saturating_sub(1).min(16));
    doubled.min(limits::BACKOFF_MOST)
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// May these requests be asked beside what was asked before?
///
/// # Errors
/// [`Refusal::DuplicateKeys`], [`Refusal::InputLimit`].
pub fn check_requests(inputs: &Inputs, requests: &[(String, Value)]) -> Result<(), Refusal> {
    let mut duplicates: Vec<String> = Vec::new();
    for (index, (key, request)) in requests.iter().enumerate() {
        let twice = requests[..index].iter().any(|(earlier, _)| earlier == key);
        // An earlier attempt may have asked the same, but nothing else, under this key.
        let other = inputs.open.get(key).is_some_and(|open| open != request)
            || inputs
                .answered
                .get(key)
                .is_some_and(|answered| answered.request != request_digest(request));
        if (inputs.used.contains(key) || twice || other) && !duplicates.contains(key) {
            duplicates.push(key.clone());
        }
    }
    if !duplicates.is_empty() {
        return Err(Refusal::DuplicateKeys(duplicates));
    }
    let new = || requests.iter().filter(|(key, _)| is_new(inputs, key));
    if inputs.open.len() + inputs.answered.len() + new().count() > limits::INPUTS_PER_CALL {
        return Err(Refusal::InputLimit(too_many_inputs()));
    }
    let answers = inputs.answered.values().map(|answered| &answered.answer);
    let held = inputs.open.values().chain(answers);
    let all = held.chain(new().map(|(_, request)| request));
    if all.map(|value| value.to_string().len()).sum::<usize>() > limits::INPUT_BYTES {
        return Err(Refusal::InputLimit(format!(
            "the inputs of a call may have {} bytes together",
            limits::INPUT_BYTES
        )));
    }
    Ok(())
}

fn is_new(inputs: &Inputs, key: &String) -> bool {
    !inputs.open.contains_key(key) && !inputs.answered.contains_key(key)
}

fn ask(task: &mut Task, requests: Vec<(String, Value)>) -> Result<Change, Refusal> {
    check_requests(&task.inputs, &requests)?;
    let keys: Vec<String> = requests.iter().map(|(key, _)| key.clone()).collect();
    let asked = task.inputs.open.len();
    for (key, request) in requests {
        if is_new(&task.inputs, &key) {
            task.inputs.open.insert(key, request);
        }
    }
    task.idle_runs = 0;
    let change = if task.inputs.open.len() == asked {
        Change::Quiet
    } else {
        task.status = Status::InputRequired;
        Change::Changed
    };
    task.inputs.used.extend(keys.iter().cloned());
    task.wait = if task.inputs.have(&keys) {
        Wait::Nothing
    } else {
        Wait::Input(keys)
    };
    Ok(change)
}

fn answer(task: &mut Task, responses: Vec<(String, Value)>) -> Change {
    let mut change = Change::Unchanged;
    for (key, answer) in responses {
        if let Some(request) = task.inputs.open.shift_remove(&key) {
            let request = request_digest(&request);
            task.inputs
                .answered
                .insert(key, Answered { request, answer });
            change = Change::Changed;
        }
    }
    if change == Change::Changed {
        if task.inputs.open.is_empty() {
            task.status = Status::Working;
        }
        if matches!(&task.wait, Wait::Input(keys) if task.inputs.have(keys)) {
            task.wait = Wait::Nothing;
        }
    }
    change
}
