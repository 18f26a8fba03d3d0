//! `require-input`: in a task the question stands in the task and the answer comes by
//! `tasks/update`; before, it goes to the client as the request's answer, and the client calls again
//! (MCP 2026-07-28, "Multi round-trip requests").
//!
//! Invariant: a client is asked after all that led to the question is kept: in the store, or in the
//! sealed state that the client brings back.

use super::request_state::{Call, Question, SealedCall, StateError};
use super::session::{Phase, Reply, Session};
use crate::journal::{AskRefused, Digest, Entry};
use crate::limits::INPUTS_PER_CALL;
use crate::protocol::{ClientFeatures, RpcError, request_features};
use crate::runtime::wit::task::{CallStatus, InputError};
use crate::runtime::{Halt, features_to_wit};
use crate::task::{
    Answered, Event, Inputs, Refusal, ReportError, TaskId, Tasks, Writes, check_requests, now,
    too_many_inputs,
};
use indexmap::IndexMap;
use serde_json::Value;
use tokio::time::{Instant, sleep_until};

/// Requests or answers by their keys, in their form on the wire.
type Keyed = Vec<(String, Value)>;

/// What a question met in the journal.
enum Met {
    Answered(Keyed),
    /// It was asked in the task.
    Asked,
    Refused(AskRefused),
}

impl Session {
    pub(super) async fn ask(&self, requests: Keyed) -> Result<Result<Keyed, InputError>, Halt> {
        if self.is_over() {
            return Ok(Err(InputError::Final));
        }
        let needed: ClientFeatures = requests
            .iter()
            .map(|(_, request)| request_features(request))
            .collect();
        let missing = needed - self.options.features;
        if !missing.is_empty() {
            return Ok(Err(InputError::MissingFeatures(features_to_wit(missing))));
        }
        let keys: Vec<String> = requests.iter().map(|(key, _)| key.clone()).collect();
        let request = Digest::of(&serde_json::to_vec(&requests).unwrap_or_default());
        let met = self.journal.lock().next(
            || format!("require-input of {}", keys.join(", ")),
            |entry| meet(entry, request),
        )?;
        match (met, self.as_task()) {
            (Some(Met::Answered(answers)), _) => Ok(Ok(answers)),
            (Some(Met::Refused(reason)), _) => Ok(Err(refusal(reason))),
            (Some(Met::Asked), Some((tasks, id))) => {
                self.state.lock().asked += keys.len();
                self.answers(tasks, id, &keys).await
            }
            (None, Some((tasks, id))) => {
                // The store would say so, too, but has others to serve.
                if self.state.lock().asked + keys.len() > INPUTS_PER_CALL {
                    let reason = AskRefused::Limit(too_many_inputs());
                    return self.refuse(request, reason).map(Err);
                }
                match self.ask_in_task(id, request, requests, &keys).await? {
                    Ok(()) => self.answers(tasks, id, &keys).await,
                    Err(error) => Ok(Err(error)),
                }
            }
            // The method has no such answer, or the run could not be repeated with the answers.
            (_, None) if !self.options.target.may_ask() || !self.replays() => {
                Ok(Err(InputError::Unavailable))
            }
            (_, None) => self.ask_before_task(request, requests, needed).await,
        }
    }

    async fn ask_in_task(
        &self,
        id: TaskId,
        request: Digest,
        requests: Keyed,
        keys: &[String],
    ) -> Result<Result<(), InputError>, Halt> {
        let segment = {
            let mut journal = self.journal.lock();
            let keys = keys.to_vec();
            journal.push(Entry::Ask { request, keys })?;
            journal.unstored()
        };
        let fence = self.state.lock().fence;
        let writes = Writes {
            segment,
            ..Writes::default()
        };
        let asked = self.report(id, Event::AskInput { fence, requests }, writes);
        let reason = match asked.await {
            Ok(()) => {
                self.journal.lock().stored();
                self.state.lock().asked += keys.len();
                return Ok(Ok(()));
            }
            Err(ReportError::Store(error)) => AskRefused::StoreFailed(error.to_string()),
            Err(ReportError::Refused(refusal)) => match reason(refusal) {
                Some(reason) => reason,
                None => return Ok(Err(InputError::Final)),
            },
        };
        self.journal.lock().pop();
        self.refuse(request, reason).map(Err)
    }

    /// The guest learns why; so does every later run.
    fn refuse(&self, request: Digest, reason: AskRefused) -> Result<InputError, Halt> {
        let error = refusal(reason.clone());
        self.journal
            .lock()
            .push(Entry::AskRefused { request, reason })?;
        Ok(error)
    }

    /// Waits for the answers to keys; parks if they take long.
    async fn answers(
        &self,
        tasks: &Tasks,
        id: TaskId,
        keys: &[String],
    ) -> Result<Result<Keyed, InputError>, Halt> {
        let park = sleep_until(Instant::now() + self.options.times.park_after);
        tokio::pin!(park);
        loop {
            let task = match tasks.peek(id).await {
                Ok(task) => task,
                Err(error) => {
                    // The question is asked; only the look at it failed. A later run looks again.
                    tracing::warn!(%error, "a waiting task cannot be read; parking it");
                    return Err(Halt::Parked);
                }
            };
            let Some(task) = task.filter(|task| !task.status.is_final()) else {
                return Ok(Err(InputError::Final));
            };
            if let Some(answers) = task.inputs.answers(keys) {
                return Ok(Ok(answers));
            }
            tokio::select! {
                () = self.signals.cancel.cancelled() => return Ok(Err(InputError::Final)),
                () = tasks.answered(id) => {}
                () = &mut park, if self.may_park() => return Err(Halt::Parked),
            }
        }
    }

    async fn ask_before_task(
        &self,
        request: Digest,
        requests: Keyed,
        needed: ClientFeatures,
    ) -> Result<Result<Keyed, InputError>, Halt> {
        let inputs = self.state.lock().inputs.clone();
        if let Some(reason) = check_requests(&inputs, &requests).err().and_then(reason) {
            return self.refuse(request, reason).map(Err);
        }
        // The guest saw what the client declared first; this request may declare less.
        let missing = needed - self.options.client;
        let reply = if missing.is_empty() {
            match self.question(request, requests, inputs.answered) {
                Ok(Asked::Answered { answers, all }) => {
                    let texts = answers
                        .iter()
                        .map(|(key, answer)| (key.clone(), answer.to_string()));
                    let entry = Entry::Input {
                        request,
                        answers: texts.collect(),
                    };
                    self.journal.lock().push(entry)?;
                    self.state.lock().inputs = Inputs::of_answered(all);
                    return Ok(Ok(answers));
                }
                Ok(Asked::Question(question)) => {
                    let until = now().saturating_add_unsigned(self.options.times.answer_ms);
                    match self.options.target.component().share_until(until).await {
                        Ok(()) => Reply::Asked(question),
                        Err(error) => Reply::Outcome(Err(error.into())),
                    }
                }
                Err(error) => Reply::Outcome(Err(error.into())),
            }
        } else {
            Reply::Outcome(Err(RpcError::missing(missing)))
        };
        let mut state = self.state.lock();
        state.phase = Phase::Over(CallStatus::InputRequired);
        if let Some(sender) = state.reply.take() {
            // Nobody listens any more if the client closed its stream.
            let _ = sender.send(reply);
        }
        Err(Halt::Asked)
    }

    /// The question for the client, unless it sent all the answers along.
    fn question(
        &self,
        request: Digest,
        requests: Keyed,
        answered: IndexMap<String, Answered>,
    ) -> Result<Asked, StateError> {
        let options = &self.options;
        let journal = self.journal.lock();
        let records = journal.records().iter();
        let component = options.target.component();
        let mut sealed = SealedCall {
            tool: options.target.own_name().to_owned(),
            source: component.source.to_string(),
            expires_at: now().saturating_add_unsigned(options.times.answer_ms),
            features: options.features,
            setup: options.setup,
            entries: journal.encoded(),
            records: records
                .map(|(key, value)| (key.clone(), value.clone()))
                .collect(),
            answered: answered.into(),
            request,
            open: requests.into(),
            given: Vec::new(),
        };
        if sealed.answer(&options.offered)? {
            let answers = sealed.answers();
            let all = sealed.all_answered();
            return Ok(Asked::Answered { answers, all });
        }
        let call = Call::of(&options.owner, &options.target, &options.arguments);
        // The call goes on with this version, whatever serves by then.
        component.keep_until(sealed.expires_at);
        let question = sealed.question(&options.sealer, &call)?;
        Ok(Asked::Question(Box::new(question)))
    }
}

/// What came of a question before the call is a task.
enum Asked {
    Question(Box<Question>),
    /// The client had sent the answers along. `all` has those to earlier questions, too.
    Answered {
        answers: Keyed,
        all: IndexMap<String, Answered>,
    },
}

fn meet(entry: &Entry, request: Digest) -> Option<Met> {
    match entry {
        Entry::Input {
            request: asked,
            answers,
        } if *asked == request => {
            let answers = answers
                .iter()
                .map(|(key, text)| Some((key.clone(), serde_json::from_str(text).ok()?)));
            Some(Met::Answered(answers.collect::<Option<_>>()?))
        }
        Entry::Ask { request: asked, .. } if *asked == request => Some(Met::Asked),
        Entry::AskRefused {
            request: asked,
            reason,
        } if *asked == request => Some(Met::Refused(reason.clone())),
        _ => None,
    }
}

/// Why a question was not asked, for the journal; `None` if the call is over.
fn reason(refusal: Refusal) -> Option<AskRefused> {
    match refusal {
        Refusal::DuplicateKeys(keys) => Some(AskRefused::DuplicateKeys(keys)),
        Refusal::InputLimit(limit) => Some(AskRefused::Limit(limit)),
        Refusal::Final | Refusal::Stale => None,
    }
}

fn refusal(reason: AskRefused) -> InputError {
    match reason {
        AskRefused::DuplicateKeys(keys) => InputError::DuplicateKeys(keys),
        AskRefused::Limit(limit) => InputError::Invalid(limit),
        AskRefused::StoreFailed(reason) => InputError::StoreFailed(reason),
    }
}
