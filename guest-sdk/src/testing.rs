//! A scripted host, to test handlers natively.
//!
//! ```
//! use cofferdam_guest::prelude::*;
//! use cofferdam_guest::testing::Script;
//! use serde_json::json;
//!
//! #[derive(Deserialize, JsonSchema)]
//! struct Name {
//!     name: String,
//! }
//!
//! fn greet(call: &Call) -> Result<String> {
//!     match call.ask_form::<Name>("who", "Who are you?")? {
//!         Answer::Accepted(answer) => Ok(format!("Hello, {}!", answer.name)),
//!         _ => Ok("Hello!".to_owned()),
//!     }
//! }
//!
//! let script = Script::new().accept("who", &json!({ "name": "Ada" }));
//! assert_eq!(greet(&script.call()), Ok("Hello, Ada!".to_owned()));
//!
//! let script = Script::new().decline("who");
//! assert_eq!(greet(&script.call()), Ok("Hello!".to_owned()));
//! ```

use crate::bindings::cofferdam::tool::task::{ElicitationAnswer, StartOptions};
use crate::host::Host;
use crate::{
    Action, Call, CallStatus, ClientFeatures, FinalError, InputAnswer, InputError, InputRequest,
    RecordError, RpcError, StartError, Started, ToolResult,
};
use serde_json::Value;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

/// One progress report.
#[derive(Clone, Debug, PartialEq)]
pub struct Progress {
    /// How much is done.
    pub done: f64,
    /// Of how much.
    pub total: Option<f64>,
    /// What is being done; may be empty.
    pub message: String,
}

/// What a client and its user will do, and what the handler did.
///
/// All calls made from one script share its state, as attempts of one call do. It knows tasks and
/// every feature unless told otherwise. A question without a scripted answer fails with
/// `unavailable`.
#[derive(Clone)]
pub struct Script(Rc<State>);

struct State {
    features: Cell<ClientFeatures>,
    answers: RefCell<HashMap<String, InputAnswer>>,
    asked: RefCell<Vec<(String, InputRequest)>>,
    progress: RefCell<Vec<Progress>>,
    cancel_after: Cell<Option<usize>>,
    status: Cell<CallStatus>,
    end: RefCell<Option<Result<ToolResult, RpcError>>>,
    records: RefCell<HashMap<String, Vec<u8>>>,
}

impl Script {
    /// A client that can do everything and answers nothing.
    #[must_use]
    pub fn new() -> Self {
        Self(Rc::new(State {
            features: Cell::new(ClientFeatures::all()),
            answers: RefCell::default(),
            asked: RefCell::default(),
            progress: RefCell::default(),
            cancel_after: Cell::new(None),
            status: Cell::new(CallStatus::Inline),
            end: RefCell::default(),
            records: RefCell::default(),
        }))
    }

    /// The client can do this and no more.
    #[must_use]
    pub fn features(self, features: ClientFeatures) -> Self {
        self.0.features.set(features);
        self
    }

    /// Gives this answer to the question under a key.
    #[must_use]
    pub fn answer(self, key: &str, answer: InputAnswer) -> Self {
        self.0.answers.borrow_mut().insert(key.to_owned(), answer);
        self
    }

    /// Fills in the form under a key.
    #[must_use]
    pub fn accept(self, key: &str, form: &Value) -> Self {
        self.elicitation(key, Action::Accept, Some(form.to_string()))
    }

    /// Says no to the question under a key.
    #[must_use]
    pub fn decline(self, key: &str) -> Self {
        self.elicitation(key, Action::Decline, None)
    }

    /// Cancels the call after this many progress reports and sleeps.
    #[must_use]
    pub fn cancel_after(self, reports: usize) -> Self {
        self.0.cancel_after.set(Some(reports));
        self
    }

    /// A call for a handler.
    #[must_use]
    pub fn call(&self) -> Call {
        Call::new(self.0.clone(), self.0.features.get())
    }

    /// What was asked so far.
    #[must_use]
    pub fn asked(&self) -> Vec<(String, InputRequest)> {
        self.0.asked.borrow().clone()
    }

    /// What was reported so far.
    #[must_use]
    pub fn progress(&self) -> Vec<Progress> {
        self.0.progress.borrow().clone()
    }

    /// Where the call stands.
    #[must_use]
    pub fn status(&self) -> CallStatus {
        self.0.status.get()
    }

    /// How the handler ended the call by a verb, if it did.
    #[must_use]
    pub fn end(&self) -> Option<Result<ToolResult, RpcError>> {
        self.0.end.borrow().clone()
    }

    fn elicitation(self, key: &str, action: Action, content: Option<String>) -> Self {
        self.answer(
            key,
            InputAnswer::Elicitation(ElicitationAnswer { action, content }),
        )
    }
}

impl Default for Script {
    fn default() -> Self {
        Self::new()
    }
}

impl State {
    fn check(&self) -> Result<(), FinalError> {
        match self.status.get() {
            CallStatus::Completed | CallStatus::Failed | CallStatus::Cancelled => {
                Err(FinalError::Final)
            }
            CallStatus::Inline | CallStatus::Working | CallStatus::InputRequired => Ok(()),
        }
    }

    /// Counts one report or sleep towards the cancellation.
    fn tick(&self) -> Result<(), FinalError> {
        self.check()?;
        match self.cancel_after.get() {
            Some(0) => {
                self.status.set(CallStatus::Cancelled);
                return Err(FinalError::Final);
            }
            left => self.cancel_after.set(left.map(|left| left - 1)),
        }
        Ok(())
    }

    fn finish(&self, end: Result<ToolResult, RpcError>) -> Result<(), FinalError> {
        self.check()?;
        self.status.set(if end.is_ok() {
            CallStatus::Completed
        } else {
            CallStatus::Failed
        });
        *self.end.borrow_mut() = Some(end);
        Ok(())
    }
}

impl Host for State {
    fn start_task(&self, _: &StartOptions) -> Result<Started, StartError> {
        self.check().map_err(|_| StartError::Final)?;
        if self.status.get() != CallStatus::Inline {
            return Err(StartError::AlreadyStarted);
        }
        if !self.features.get().contains(ClientFeatures::TASKS) {
            return Ok(Started::Inline);
        }
        self.status.set(CallStatus::Working);
        Ok(Started::Task)
    }

    fn progress(
        &self,
        done: f64,
        total: Option<f64>,
        message: Option<&str>,
    ) -> Result<(), FinalError> {
        self.tick()?;
        self.progress.borrow_mut().push(Progress {
            done,
            total,
            message: message.unwrap_or_default().to_owned(),
        });
        Ok(())
    }

    fn status(&self) -> CallStatus {
        self.status.get()
    }

    fn cancelled(&self) -> bool {
        self.status.get() == CallStatus::Cancelled || self.cancel_after.get() == Some(0)
    }

    fn complete(&self, answer: &ToolResult) -> Result<(), FinalError> {
        self.finish(Ok(answer.clone()))
    }

    fn fail(&self, error: &RpcError) -> Result<(), FinalError> {
        self.finish(Err(error.clone()))
    }

    fn sleep(&self, _: u64) -> Result<(), FinalError> {
        self.tick()
    }

    fn require_input(
        &self,
        requests: &[(String, InputRequest)],
    ) -> Result<Vec<(String, InputAnswer)>, InputError> {
        self.check().map_err(|_| InputError::Final)?;
        let mut missing = ClientFeatures::empty();
        let mut duplicates = Vec::new();
        for (key, request) in requests {
            missing |= needs(request).difference(self.features.get());
            if self.asked.borrow().iter().any(|(asked, _)| asked == key) {
                duplicates.push(key.clone());
            }
            self.asked.borrow_mut().push((key.clone(), request.clone()));
        }
        if !duplicates.is_empty() {
            return Err(InputError::DuplicateKeys(duplicates));
        }
        if !missing.is_empty() {
            return Err(InputError::MissingFeatures(missing));
        }
        let answers = self.answers.borrow();
        requests
            .iter()
            .map(|(key, _)| {
                answers
                    .get(key)
                    .map(|answer| (key.clone(), answer.clone()))
                    .ok_or(InputError::Unavailable)
            })
            .collect()
    }

    fn record(&self, key: &str, value: &[u8]) -> Result<(), RecordError> {
        self.check().map_err(|_| RecordError::Final)?;
        self.records
            .borrow_mut()
            .insert(key.to_owned(), value.to_vec());
        Ok(())
    }

    fn recall(&self, key: &str) -> Option<Vec<u8>> {
        self.records.borrow().get(key).cloned()
    }
}

fn needs(request: &InputRequest) -> ClientFeatures {
    match request {
        InputRequest::Form(_) => ClientFeatures::ELICITATION_FORM,
        InputRequest::Url(_) => ClientFeatures::ELICITATION_URL,
        InputRequest::Sampling(sampling) if sampling.tools.is_some() => {
            ClientFeatures::SAMPLING | ClientFeatures::SAMPLING_TOOLS
        }
        InputRequest::Sampling(_) => ClientFeatures::SAMPLING,
        InputRequest::Roots => ClientFeatures::ROOTS,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Error, TaskOptions};
    use std::time::Duration;

    #[test]
    fn a_call_ends_once() {
        let script = Script::new();
        let call = script.call();
        assert_eq!(call.start_task(TaskOptions::new()), Ok(Started::Task));
        assert_eq!(
            call.start_task(TaskOptions::new()),
            Err(StartError::AlreadyStarted)
        );
        assert_eq!(call.complete("done"), Ok(()));
        assert_eq!(call.complete("again"), Err(Error::Final));
        assert_eq!(call.sleep(Duration::from_millis(1)), Err(FinalError::Final));
        assert_eq!(script.status(), CallStatus::Completed);
        assert_eq!(script.end(), Some(Ok(ToolResult::text("done"))));
    }

    #[test]
    fn a_cancelled_call_says_so() {
        let call = Script::new().cancel_after(1).call();
        assert!(!call.cancelled());
        assert_eq!(call.progress(1, Some(2), ""), Ok(()));
        assert!(call.cancelled());
        assert_eq!(call.progress(2, Some(2), ""), Err(FinalError::Final));
        assert_eq!(call.status(), CallStatus::Cancelled);
    }

    #[test]
    fn questions_need_features_and_fresh_keys() {
        let call = Script::new()
            .features(ClientFeatures::ELICITATION_FORM)
            .call();
        assert_eq!(
            call.roots("roots"),
            Err(InputError::MissingFeatures(ClientFeatures::ROOTS))
        );
        assert_eq!(
            call.roots("roots"),
            Err(InputError::DuplicateKeys(vec!["roots".to_owned()]))
        );
        let form = InputRequest::form_with(
            "?",
            &serde_json::json!({ "type": "object", "properties": {} }),
        );
        assert_eq!(call.ask([("form", form)]), Err(InputError::Unavailable));
    }
}
