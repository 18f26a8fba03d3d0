//! One answer of the host, as it is kept.
//!
//! Invariant: the form on disk is postcard's, by the order of the variants: new ones go to the
//! end, and none changes.

use super::random::Positions;
use super::time::Micros;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use std::fmt;

/// Half a sha-256 of what a guest asked for: enough to see that a replay asks the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Digest([u8; 16]);

impl Digest {
    /// Of some bytes.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        let mut half = [0; 16];
        half.copy_from_slice(&Sha256::digest(bytes)[..16]);
        Self(half)
    }

    /// Of this and something more.
    #[must_use]
    pub fn with(self, bytes: &[u8]) -> Self {
        Self::of(&[&self.0, bytes].concat())
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// What `start-task` answered, where it is not the same for every run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum StartAnswer {
    /// The call is a task now.
    Task,
    /// The client does not know tasks.
    Inline,
    /// The call was a task already.
    AlreadyStarted,
    /// The server held as many tasks as it may.
    LimitReached,
    /// The store did not take the task, and why.
    StoreFailed(String),
}

/// Why a question was not asked, where that is not the same for every run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum AskRefused {
    /// These keys were used before.
    DuplicateKeys(Vec<String>),
    /// A limit, by name.
    Limit(String),
    /// The store did not take the requests, and why.
    StoreFailed(String),
}

/// Why a value was not recorded, where that is not the same for every run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RecordRefused {
    /// A limit, by name.
    TooLarge(String),
    /// The store did not take the value, and why.
    StoreFailed(String),
}

/// One answer. `request` is the digest of what the guest asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Entry {
    /// The clock was read so many times in a row, and showed this each time.
    Clock {
        /// What it showed.
        time: Micros,
        /// How many times.
        reads: u32,
    },
    /// `start-task`.
    Start {
        /// Of the options.
        request: Digest,
        /// What it answered.
        answer: StartAnswer,
    },
    /// The guest waits, or waited, until a time.
    Sleep {
        /// Of the duration or the time.
        request: Digest,
        /// When it goes on.
        until: Micros,
    },
    /// Which of some pollables were ready.
    Poll {
        /// Their places in the list.
        ready: Vec<u32>,
    },
    /// A question of a task. The answers are in the task.
    Ask {
        /// Of the requests.
        request: Digest,
        /// The requests' keys.
        keys: Vec<String>,
    },
    /// A question that was answered before the call was a task.
    Input {
        /// Of the requests.
        request: Digest,
        /// Keys, and answers as JSON text.
        answers: Vec<(String, String)>,
    },
    /// A question that was not asked.
    AskRefused {
        /// Of the requests.
        request: Digest,
        /// Why.
        reason: AskRefused,
    },
    /// A value was recorded.
    Record {
        /// Its key.
        key: String,
        /// Of the value, which is kept beside the journal.
        value: Digest,
        /// Where the random generators stood.
        random: Positions,
        /// The last time the guest had seen.
        time: Micros,
    },
    /// A value was not recorded.
    RecordRefused {
        /// Its key.
        key: String,
        /// Of the value.
        value: Digest,
        /// Why.
        reason: RecordRefused,
    },
    /// What an outbound HTTP request was answered.
    Http {
        /// Of the request.
        request: Digest,
        /// The answer.
        answer: Vec<u8>,
    },
}

impl Entry {
    /// Its form on disk.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        // Only a serializer that refuses could fail, and entries are plain data.
        postcard::to_allocvec(self).unwrap_or_default()
    }

    /// About how many bytes it takes, in memory and on disk.
    #[must_use]
    pub fn size(&self) -> usize {
        const FIXED: usize = 32;
        FIXED
            + match self {
                Self::Clock { .. } | Self::Start { .. } | Self::Sleep { .. } => 0,
                Self::Poll { ready } => ready.len() * 4,
                Self::Ask { keys, .. } => keys.iter().map(|key| key.len() + 8).sum(),
                Self::Input { answers, .. } => answers
                    .iter()
                    .map(|(key, answer)| key.len() + answer.len() + 16)
                    .sum(),
                Self::AskRefused { reason, .. } => match reason {
                    AskRefused::DuplicateKeys(keys) => keys.iter().map(|key| key.len() + 8).sum(),
                    AskRefused::Limit(text) | AskRefused::StoreFailed(text) => text.len(),
                },
                Self::Record { key, .. } => key.len(),
                Self::RecordRefused { key, reason, .. } => {
                    let (RecordRefused::TooLarge(text) | RecordRefused::StoreFailed(text)) = reason;
                    key.len() + text.len()
                }
                Self::Http { answer, .. } => answer.len(),
            }
    }
}

/// For people who look for why a replay diverged: names what was asked, never what was answered.
impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Clock { .. } => f.write_str("a clock reading"),
            Self::Start { .. } => f.write_str("start-task"),
            Self::Sleep { .. } => f.write_str("a sleep"),
            Self::Poll { .. } => f.write_str("a poll"),
            Self::Ask { keys, .. } => write!(f, "require-input of {}", keys.join(", ")),
            Self::Input { answers, .. } => {
                let keys: Vec<_> = answers.iter().map(|(key, _)| key.as_str()).collect();
                write!(f, "require-input of {}", keys.join(", "))
            }
            Self::AskRefused { .. } => f.write_str("require-input, refused"),
            Self::Record { key, .. } => write!(f, "record of {key:?}"),
            Self::RecordRefused { key, .. } => write!(f, "record of {key:?}, refused"),
            Self::Http { .. } => f.write_str("an HTTP answer"),
        }
    }
}
