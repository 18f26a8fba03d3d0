//! The durable record of a task.

use crate::protocol::ClientFeatures;
use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

/// Milliseconds since the Unix epoch.
pub type Millis = i64;

/// Who calls. Owner of the tasks it creates; another principal's task looks like a missing one.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Principal {
    /// The tenant; empty for callers that did not authenticate.
    pub tenant: String,
    /// The subject within the tenant; empty for callers that did not authenticate.
    pub subject: String,
}

impl Principal {
    /// A caller that did not authenticate.
    #[must_use]
    pub fn anonymous() -> Self {
        Self {
            tenant: String::new(),
            subject: String::new(),
        }
    }
}

/// The states of SEP-2663.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// The handler runs.
    Working,
    /// The handler waits for answers.
    InputRequired,
    /// There is a result.
    Completed,
    /// There is an error.
    Failed,
    /// The client does not want it any more.
    Cancelled,
}

impl Status {
    /// True for the states that never change.
    #[must_use]
    pub fn is_final(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Cancelled)
    }
}

/// How a task ended, in its form on the wire.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// A `CallToolResult`.
    Result(Box<RawValue>),
    /// A JSON-RPC error object.
    Error(Box<RawValue>),
}

/// Questions and answers of a task. A key lives in exactly one of the two maps, for good.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Inputs {
    /// Asked and not answered, in the order asked: the request in its form on the wire.
    pub open: IndexMap<String, Value>,
    /// Answered: the client's answer.
    pub answered: IndexMap<String, Value>,
}

/// A task. The id is kept beside it, never in it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Task {
    /// Who created it.
    pub owner: Principal,
    /// The tool that runs.
    pub tool: String,
    /// Digest of the component that runs, lower-case hexadecimal sha-256.
    pub digest: String,
    /// What the creating client declared.
    pub features: ClientFeatures,
    /// Where it stands.
    pub status: Status,
    /// For people.
    pub message: Option<String>,
    /// When it was created.
    pub created_at: Millis,
    /// When it last changed.
    pub updated_at: Millis,
    /// Its life from creation; none is unlimited.
    pub ttl_ms: Option<u64>,
    /// How often to poll.
    pub poll_interval_ms: u64,
    /// The number of the run that may change it, from 1.
    pub attempt: u32,
    /// Questions and answers.
    pub inputs: Inputs,
    /// How it ended; there exactly when `status` is completed or failed.
    #[serde(skip)]
    pub outcome: Option<Outcome>,
}

/// What is needed to run a task's handler, stored with it.
#[derive(Clone, Debug)]
pub struct Job {
    /// The call's arguments, a JSON object.
    pub arguments: Box<RawValue>,
}

/// How long final tasks are kept.
#[derive(Clone, Copy, Debug)]
pub struct Retention {
    /// A task without ttl: so many milliseconds after it became final.
    pub without_ttl_ms: u64,
    /// Any task: at least so many milliseconds after it became final.
    pub at_least_ms: u64,
}

impl Task {
    /// When the ttl is over.
    #[must_use]
    pub fn deadline(&self) -> Option<Millis> {
        self.ttl_ms
            .map(|ttl| self.created_at.saturating_add_unsigned(ttl))
    }

    /// When the sweep must look at it: to fail it while it is not final, to remove it when it is.
    /// Never earlier than the ttl.
    #[must_use]
    pub fn due_at(&self, retention: Retention) -> Option<Millis> {
        if !self.status.is_final() {
            return self.deadline();
        }
        Some(match self.deadline() {
            Some(deadline) => deadline.max(
                self.updated_at
                    .saturating_add_unsigned(retention.at_least_ms),
            ),
            None => self
                .updated_at
                .saturating_add_unsigned(retention.without_ttl_ms.max(retention.at_least_ms)),
        })
    }
}
