//! A task as the extension writes it (SEP-2663, `Task`, `DetailedTask`).
//!
//! Invariant: flat; `result`, `error` and `inputRequests` appear with their own status only, and
//! never in the answer that creates the task.

use super::id::TaskId;
use super::record::{Millis, Outcome, Status, Task};
use crate::protocol::{SERVER_INFO_KEY, SUBSCRIPTION_ID_KEY, ServerInfo};
use jiff::Timestamp;
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};
use serde_json::value::RawValue;

/// Where a task is written to.
#[derive(Clone, Copy, Debug)]
pub enum TaskView<'a> {
    /// The answer to the call that became a task (`CreateTaskResult`).
    Created(TaskId, &'a Task),
    /// The answer to `tasks/get` (`GetTaskResult`).
    Result(TaskId, &'a Task),
    /// The parameters of `notifications/tasks`, with the id of the listening request.
    Notification(TaskId, &'a Task, &'a RawValue),
}

impl Serialize for TaskView<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (id, task, result_type) = match *self {
            Self::Created(id, task) => (id, task, Some("task")),
            Self::Result(id, task) => (id, task, Some("complete")),
            Self::Notification(id, task, _) => (id, task, None),
        };
        let mut map = serializer.serialize_map(None)?;
        if let Some(result_type) = result_type {
            map.serialize_entry("resultType", result_type)?;
        }
        map.serialize_entry("taskId", &id)?;
        let created = matches!(self, Self::Created(..));
        map.serialize_entry("status", &task.status)?;
        if let Some(message) = &task.message {
            map.serialize_entry("statusMessage", message)?;
        }
        map.serialize_entry("createdAt", &iso(task.created_at))?;
        map.serialize_entry("lastUpdatedAt", &iso(task.updated_at))?;
        map.serialize_entry("ttlMs", &task.ttl_ms)?;
        map.serialize_entry("pollIntervalMs", &task.poll_interval_ms)?;
        if !created {
            match &task.outcome {
                Some(Outcome::Result(result)) => map.serialize_entry("result", result)?,
                Some(Outcome::Error(error)) => map.serialize_entry("error", error)?,
                None if task.status == Status::InputRequired => {
                    map.serialize_entry("inputRequests", &task.inputs.open)?;
                }
                None => {}
            }
        }
        map.serialize_entry("_meta", &Meta(*self))?;
        map.end()
    }
}

struct Meta<'a>(TaskView<'a>);

impl Serialize for Meta<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(1))?;
        match self.0 {
            TaskView::Notification(_, _, subscription) => {
                map.serialize_entry(SUBSCRIPTION_ID_KEY, subscription)?;
            }
            _ => map.serialize_entry(SERVER_INFO_KEY, &ServerInfo::THIS)?,
        }
        map.end()
    }
}

/// ISO 8601 in UTC with milliseconds. Times beyond what the calendar holds are its last moment.
pub(crate) fn iso(time: Millis) -> String {
    let time = Timestamp::from_millisecond(time).unwrap_or(Timestamp::MAX);
    format!("{time:.3}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_milliseconds_even_when_they_are_zero() {
        assert_eq!(iso(0), "1970-01-01T00:00:00.000Z");
        assert_eq!(iso(1_796_000_000_123), "2026-11-30T00:53:20.123Z");
        assert!(iso(i64::MAX).starts_with("9999-"));
    }
}
