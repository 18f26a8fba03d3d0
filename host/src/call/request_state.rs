//! What a client keeps for a call that asks before it is a task: `requestState` (MCP 2026-07-28,
//! "Multi round-trip requests").
//!
//! Invariants: only a server with the same key can read it or make one; it is good for the same
//! caller, method, name, version of the component and arguments only, and for a time; whatever does not verify is
//! refused, and the refusal does not say what is wrong with it.

use super::sealer::Sealer;
use super::session::{FIRST_RUN, journal_options};
use super::target::Target;
use crate::journal::{Digest, Entry, Fault, Journal, Origin};
use crate::limits::REQUEST_STATE_BYTES;
use crate::protocol::{ClientFeatures, RpcError, check_answer, request_features};
use crate::task::{Answered, Millis, Principal, Setup, request_digest};
use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use std::collections::HashMap;

/// Names the form of what is sealed; another form gets another name.
const FORM: &str = "cofferdam request state 3";

/// Why a request state was not taken, or not made.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    /// It does not verify.
    #[error(
        "Invalid params: \"requestState\" is not one that this server gave to this caller for this \
         call; call again without it"
    )]
    Unverified,
    /// It is too old.
    #[error("Invalid params: \"requestState\" has expired; call again without it")]
    Expired,
    /// An answer does not fit its request.
    #[error("inputResponses[{0:?}]: {1}")]
    BadAnswer(String, String),
    /// The call has too much behind it to be handed to the client.
    #[error(
        "The call asks its client before it is a task, and has {0} bytes of answers and recorded \
         values by then; the limit is {REQUEST_STATE_BYTES} (requestState)"
    )]
    TooLarge(usize),
}

impl From<StateError> for RpcError {
    fn from(error: StateError) -> Self {
        match error {
            StateError::TooLarge(_) => Self::internal(error.to_string()),
            other => Self::invalid_params(other.to_string()),
        }
    }
}

/// Which call a state belongs to.
pub struct Call<'a> {
    /// Who calls.
    pub owner: &'a Principal,
    /// By which method.
    pub method: &'a str,
    /// Which tool or prompt is called, or which resource is read.
    pub name: &'a str,
    /// The digest of the component that the call began with.
    pub digest: &'a str,
    /// With which arguments.
    pub arguments: &'a RawValue,
}

impl<'a> Call<'a> {
    /// A call of this version of something.
    #[must_use]
    pub fn of(owner: &'a Principal, target: &'a Target, arguments: &'a RawValue) -> Self {
        Self {
            owner,
            method: target.method(),
            name: target.name(),
            digest: &target.component().digest,
            arguments,
        }
    }

    fn bytes(&self) -> Vec<u8> {
        // A client may write the same arguments with other spaces.
        let arguments: Value = serde_json::from_str(self.arguments.get()).unwrap_or_default();
        let parts = [
            FORM,
            self.method,
            &self.owner.tenant,
            &self.owner.subject,
            self.name,
            self.digest,
            &arguments.to_string(),
        ];
        serde_json::to_vec(&parts).unwrap_or_default()
    }
}

/// What the client is answered with.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Question {
    result_type: &'static str,
    /// What is asked, by key.
    pub input_requests: Map<String, Value>,
    /// What the client brings back with its answers.
    pub request_state: String,
}

/// Keys, and JSON text.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Texts(Vec<(String, String)>);

impl From<Vec<(String, Value)>> for Texts {
    fn from(values: Vec<(String, Value)>) -> Self {
        let texts = values
            .into_iter()
            .map(|(key, value)| (key, value.to_string()));
        Self(texts.collect())
    }
}

/// Keys, digests of the requests, and answers as JSON text.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct AnsweredTexts(Vec<(String, Digest, String)>);

impl From<IndexMap<String, Answered>> for AnsweredTexts {
    fn from(answered: IndexMap<String, Answered>) -> Self {
        let texts = answered
            .into_iter()
            .map(|(key, it)| (key, it.request, it.answer.to_string()));
        Self(texts.collect())
    }
}

/// A call that waits for its client.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SealedCall {
    /// What is called, by its name in its component.
    pub tool: String,
    /// Stands for the source of the component.
    pub source: String,
    /// When it is too old.
    pub expires_at: Millis,
    /// What the guest was told that the client declared.
    pub features: ClientFeatures,
    /// What the call started with.
    pub setup: Setup,
    /// The journal up to the question.
    pub entries: Vec<u8>,
    /// Recorded values.
    pub records: Vec<(String, Vec<u8>)>,
    /// Earlier questions and their answers.
    pub answered: AnsweredTexts,
    /// The question's digest.
    pub request: Digest,
    /// The question.
    pub open: Texts,
    /// Answers to parts of it.
    pub given: Vec<(String, String)>,
}

/// A call that has its answers.
pub struct Resumed {
    /// What the guest was told that the client declared.
    pub features: ClientFeatures,
    /// What the call started with.
    pub setup: Setup,
    /// The journal, up to the answers.
    pub journal: Journal,
    /// Questions and their answers.
    pub answered: IndexMap<String, Answered>,
}

impl SealedCall {
    /// What the client is asked: whatever is not answered yet.
    ///
    /// # Errors
    /// [`StateError::TooLarge`].
    pub fn question(&self, sealer: &Sealer, call: &Call<'_>) -> Result<Question, StateError> {
        let plain = postcard::to_allocvec(self).unwrap_or_default();
        if plain.len() > REQUEST_STATE_BYTES {
            return Err(StateError::TooLarge(plain.len()));
        }
        let sealed = sealer
            .seal(&call.bytes(), &plain)
            .ok_or(StateError::TooLarge(plain.len()))?;
        let request_state = format!("{}.{sealed}", call.digest);
        let given = |key: &String| self.given.iter().any(|(given, _)| given == key);
        let open = self.open.0.iter().filter(|(key, _)| !given(key));
        Ok(Question {
            result_type: "input_required",
            input_requests: open.map(|(key, text)| (key.clone(), value(text))).collect(),
            request_state,
        })
    }

    /// The digest of the component that the call began with, if the client changed nothing.
    #[must_use]
    pub fn digest(state: &str) -> &str {
        state.split_once('.').map_or("", |(digest, _)| digest)
    }

    /// Opens what a client brought back.
    ///
    /// # Errors
    /// [`StateError::Unverified`], [`StateError::Expired`].
    pub fn open(
        sealer: &Sealer,
        call: &Call<'_>,
        state: &str,
        now: Millis,
    ) -> Result<Self, StateError> {
        let sealed = state.strip_prefix(call.digest);
        let plain = sealed
            .and_then(|rest| sealer.open(&call.bytes(), rest.strip_prefix('.')?))
            .ok_or(StateError::Unverified)?;
        let sealed: Self = postcard::from_bytes(&plain).map_err(|_| StateError::Unverified)?;
        if now >= sealed.expires_at {
            return Err(StateError::Expired);
        }
        Ok(sealed)
    }

    /// Takes the client's answers. Keys that are not open are passed over. True: there are all.
    ///
    /// # Errors
    /// [`StateError::BadAnswer`]; nothing was taken.
    pub fn answer(&mut self, responses: &Map<String, Value>) -> Result<bool, StateError> {
        let mut given = Vec::new();
        for (key, request) in self.rest() {
            if let Some(response) = responses.get(key) {
                let request = value(request);
                check_answer(&request, response)
                    .map_err(|error| StateError::BadAnswer(key.clone(), error.to_string()))?;
                given.push((key.clone(), response.to_string()));
            }
        }
        self.given.extend(given);
        Ok(self.given.len() == self.open.0.len())
    }

    /// What a client must have declared to be asked for the rest.
    #[must_use]
    pub fn needed(&self) -> ClientFeatures {
        self.rest()
            .map(|(_, request)| request_features(&value(request)))
            .collect()
    }

    /// The requests that are not answered yet, as JSON text.
    fn rest(&self) -> impl Iterator<Item = (&String, &String)> {
        let given = |key: &String| self.given.iter().any(|(given, _)| given == key);
        let open = self.open.0.iter().filter(move |(key, _)| !given(key));
        open.map(|(key, request)| (key, request))
    }

    /// The answers so far, in the order of the question.
    #[must_use]
    pub fn answers(&self) -> Vec<(String, Value)> {
        let answer = |(key, _): &(String, String)| {
            let (_, text) = self.given.iter().find(|(given, _)| given == key)?;
            Some((key.clone(), value(text)))
        };
        self.open.0.iter().filter_map(answer).collect()
    }

    /// Earlier questions and this one, as far as they are answered.
    #[must_use]
    pub fn all_answered(&self) -> IndexMap<String, Answered> {
        let mut all: IndexMap<String, Answered> = IndexMap::new();
        for (key, request, answer) in &self.answered.0 {
            let (request, answer) = (*request, value(answer));
            all.insert(key.clone(), Answered { request, answer });
        }
        let requests: HashMap<_, _> = self.open.0.iter().map(|(key, text)| (key, text)).collect();
        for (key, answer) in self.answers() {
            if let Some(text) = requests.get(&key) {
                let request = request_digest(&value(text));
                all.insert(key, Answered { request, answer });
            }
        }
        all
    }

    /// The call, ready to run again.
    ///
    /// # Errors
    /// A journal that cannot be read.
    pub fn resume(self, origin: &Origin) -> Result<Resumed, Fault> {
        let answered = self.all_answered();
        let answers = self.answers();
        let started = self.setup.started;
        let options = journal_options(&self.setup, FIRST_RUN.attempt, started, origin);
        let texts = answers.into_iter().map(|(key, it)| (key, it.to_string()));
        let entry = Entry::Input {
            request: self.request,
            answers: texts.collect(),
        };
        let mut entries = self.entries;
        entries.extend(entry.encode());
        let records = self.records.into_iter().collect();
        Ok(Resumed {
            features: self.features,
            setup: self.setup,
            journal: Journal::unstored_replay(options, &entries, records)?,
            answered,
        })
    }
}

/// JSON that was checked before it was sealed.
fn value(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_default()
}
