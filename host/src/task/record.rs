//! The durable record of a task.

use crate::journal::{Digest, Micros, Seed, Segment};
use crate::limits::RunLimits;
use crate::protocol::ClientFeatures;
use crate::telemetry::TraceContext;
use indexmap::{IndexMap, IndexSet};
use rand::Rng as _;
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
    /// All of them, in the order of their numbers.
    pub const ALL: [Self; 5] = [
        Self::Working,
        Self::InputRequired,
        Self::Completed,
        Self::Failed,
        Self::Cancelled,
    ];

    /// Its name on the wire.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Working => "working",
            Self::InputRequired => "input_required",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }

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

/// An answer, and what it answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Answered {
    /// Of the request, in its form on the wire.
    pub request: Digest,
    /// What the client answered.
    pub answer: Value,
}

/// Questions and answers of a task. A key lives in at most one of the two maps, for good; an
/// attempt may use a key once, and a later attempt finds the answer to an earlier one's question.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Inputs {
    /// Asked and not answered, in the order asked: the request in its form on the wire.
    pub open: IndexMap<String, Value>,
    /// Answered.
    pub answered: IndexMap<String, Answered>,
    /// Keys that the present attempt used.
    #[serde(default)]
    pub used: IndexSet<String>,
}

impl Inputs {
    /// Of a call that has these answers: their keys are used.
    #[must_use]
    pub fn of_answered(answered: IndexMap<String, Answered>) -> Self {
        Self {
            used: answered.keys().cloned().collect(),
            answered,
            open: IndexMap::new(),
        }
    }

    /// True if every one of these keys is answered.
    #[must_use]
    pub fn have(&self, keys: &[String]) -> bool {
        keys.iter().all(|key| self.answered.contains_key(key))
    }

    /// The answers to these keys, in their order; `None` unless there are all.
    #[must_use]
    pub fn answers(&self, keys: &[String]) -> Option<Vec<(String, Value)>> {
        let answer = |key: &String| Some((key.clone(), self.answered.get(key)?.answer.clone()));
        keys.iter().map(answer).collect()
    }
}

/// The digest of a request, by which a later attempt's question is known to be the same.
#[must_use]
pub fn request_digest(request: &Value) -> Digest {
    Digest::of(request.to_string().as_bytes())
}

/// What a task's run waits for. A task that waits needs no instance.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Wait {
    /// Nothing: it runs, or should.
    #[default]
    Nothing,
    /// Answers to these keys.
    Input(Vec<String>),
    /// A time: a sleep's end, or the next attempt's start.
    Until(Millis),
}

/// Which run of a handler speaks. The numbers of an older run are not valid any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fence {
    /// The attempt, from 1.
    pub attempt: u32,
    /// Counts the runs of the task: each takes the next number.
    pub lease: u64,
}

/// One process that runs tasks. Another start is another node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId([u8; 16]);

impl NodeId {
    /// A fresh one.
    #[must_use]
    pub fn random() -> Self {
        let mut bytes = [0; 16];
        rand::rng().fill_bytes(&mut bytes);
        Self(bytes)
    }

    /// One that was made before.
    #[must_use]
    pub fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// What tells it from others, for people: its first bytes in hexadecimal.
    #[must_use]
    pub fn short(&self) -> String {
        self.0[..4]
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect()
    }

    /// The bytes, for a store.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }
}

/// A task. The id is kept beside it, never in it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Task {
    /// Who created it.
    pub owner: Principal,
    /// The tool that runs, by its name in the component.
    pub tool: String,
    /// The name under which the server offers it.
    #[serde(default)]
    pub served_as: String,
    /// Stands for the source that its tool belongs to.
    #[serde(default)]
    pub source: String,
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
    /// The attempt that may change it, from 1.
    pub attempt: u32,
    /// Attempts it may take.
    #[serde(default = "one")]
    pub max_attempts: u32,
    /// When the attempt started, or will.
    #[serde(default)]
    pub attempt_started_at: Millis,
    /// Most wall time of an attempt, waiting included, milliseconds.
    #[serde(default = "forever")]
    pub wall_ms: u64,
    /// The run that may change it.
    #[serde(default)]
    pub lease: u64,
    /// Runs begun since one of them last kept something.
    #[serde(default)]
    pub idle_runs: u32,
    /// What its run waits for.
    #[serde(default)]
    pub wait: Wait,
    /// Questions and answers.
    pub inputs: Inputs,
    /// Where its trace goes on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<TraceContext>,
    /// How it ended; there exactly when `status` is completed or failed.
    #[serde(skip)]
    pub outcome: Option<Outcome>,
}

fn one() -> u32 {
    1
}

fn forever() -> u64 {
    u64::MAX
}

/// What is needed to run a task's handler, on any machine and with the same result.
#[derive(Clone, Debug)]
pub struct Job {
    /// The call's arguments, a JSON object.
    pub arguments: Box<RawValue>,
    /// All else.
    pub setup: Setup,
}

/// What a call started with, and keeps for good.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Setup {
    /// Seed of the random numbers.
    pub seed: Seed,
    /// When the call started; its monotonic clock counts from here.
    pub started: Micros,
    /// Its limits.
    pub limits: RunLimits,
    /// If the server made the task: how often the guest had asked for the status by then.
    pub detached_after: Option<u64>,
}

/// What a run keeps with an event: all or nothing of both.
#[derive(Clone, Debug, Default)]
pub struct Writes {
    /// Entries of the journal.
    pub segment: Option<Segment>,
    /// Recorded values, by their keys.
    pub records: Vec<(String, Vec<u8>)>,
}

/// A task to be created.
#[derive(Clone, Debug)]
pub struct NewTask {
    /// As it begins.
    pub task: Task,
    /// What to run.
    pub job: Job,
    /// What its run kept so far.
    pub writes: Writes,
    /// Who holds it from the start; with none, whoever takes it.
    pub node: Option<NodeId>,
    /// Unfinished tasks its tenant may have, this one included.
    pub most: usize,
    /// Tasks its tenant may have, finished ones and this one included.
    pub most_stored: usize,
}

impl NewTask {
    /// Bytes of what can be large of it, about.
    #[must_use]
    pub fn size(&self) -> usize {
        let records = self.writes.records.iter();
        let records: usize = records.map(|(key, value)| key.len() + value.len()).sum();
        let entries = self.writes.segment.as_ref();
        let entries = entries.map_or(0, |segment| segment.entries.len());
        let inputs = self.task.inputs.answered.values();
        let inputs: usize = inputs.map(|it| it.answer.to_string().len()).sum();
        self.job.arguments.get().len() + entries + records + inputs
    }
}

/// A task that a run took: all it needs.
#[derive(Clone, Debug)]
pub struct Claim {
    /// As it is now.
    pub task: Task,
    /// What to run; `None` if an earlier version of the server kept none.
    pub job: Option<Job>,
    /// The rows of its journal.
    pub rows: Vec<Vec<u8>>,
    /// Its recorded values.
    pub records: Vec<(String, Vec<u8>)>,
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

    /// When the attempt has had its wall time.
    #[must_use]
    pub fn wall_deadline(&self) -> Millis {
        self.attempt_started_at
            .saturating_add_unsigned(self.wall_ms)
    }

    /// When it should run, if it is not final: a time that has come, or will. `None` while it waits
    /// for answers.
    #[must_use]
    pub fn ready_at(&self) -> Option<Millis> {
        match self.wait {
            _ if self.status.is_final() => None,
            Wait::Nothing => Some(0),
            Wait::Until(time) => Some(time),
            Wait::Input(_) => None,
        }
    }

    /// When its ttl or its attempt's wall time is over; `Millis::MAX` is never.
    #[must_use]
    pub fn ends_at(&self) -> Millis {
        let wall = self.wall_deadline();
        self.deadline().map_or(wall, |ttl| ttl.min(wall))
    }

    /// The run that may change it.
    #[must_use]
    pub fn fence(&self) -> Fence {
        Fence {
            attempt: self.attempt,
            lease: self.lease,
        }
    }

    /// When the sweep must look at it: to end it or its attempt while it is not final, to remove it
    /// when it is. Never earlier than the ttl or the wall time.
    #[must_use]
    pub fn due_at(&self, retention: Retention) -> Option<Millis> {
        if !self.status.is_final() {
            return Some(self.ends_at()).filter(|end| *end < Millis::MAX);
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
