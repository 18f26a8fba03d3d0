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
//!
//! Each [`Script::call`] is a run of the handler from the top, as after a lost server: what earlier
//! runs were answered is answered again. [`Script::lost_everywhere`] tests that a handler does not
//! mind.

mod run;

use crate::bindings::cofferdam::tool::task::ElicitationAnswer;
pub use crate::changes::Change;
use crate::{
    Action, Call, CallStatus, ClientFeatures, InputAnswer, InputRequest, RpcError, ToolResult,
};
use run::{Run, State};
use serde_json::Value;
use std::fmt;
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
/// It knows tasks and every feature unless told otherwise. A question without a scripted answer
/// fails with `unavailable`; it may be given one before the next run.
///
/// Clocks and random numbers are those of this machine: unlike a server, a script does not repeat
/// them. So a handler that records what it drew finds the first run's values when it recalls them.
#[derive(Clone)]
pub struct Script(Rc<State>);

impl Script {
    /// A client that can do everything and answers nothing.
    #[must_use]
    pub fn new() -> Self {
        Self(Rc::new(State::new(ClientFeatures::all())))
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

    /// Closes the question under a key without a choice.
    #[must_use]
    pub fn dismiss(self, key: &str) -> Self {
        self.elicitation(key, Action::Cancel, None)
    }

    /// Cancels the call after this many progress reports and sleeps; those that are only repeated do
    /// not count.
    #[must_use]
    pub fn cancel_after(self, reports: usize) -> Self {
        self.0.cancel_after.set(Some(reports));
        self
    }

    /// A call for one run of the handler. If there were runs before, what they started, asked, slept
    /// and recorded is told again rather than done again, until this run is further than they were.
    ///
    /// # Panics
    /// The verbs do, if the run takes another way than the one before: a server would fail the call.
    #[must_use]
    pub fn call(&self) -> Call {
        let run = Run::new(self.0.clone());
        Call::new(Rc::new(run), self.0.features.get())
    }

    /// Runs a handler, and then once more for each of its verbs, as if the server had been lost just
    /// after it (and once as if before the first). Returns what all these runs returned.
    ///
    /// ```
    /// use cofferdam_guest::prelude::*;
    /// use cofferdam_guest::testing::Script;
    ///
    /// fn sums(call: &Call) -> Result<Vec<u32>> {
    ///     let first = call.step("first", || Ok((1..=10).sum()))?;
    ///     call.sleep(Duration::from_secs(3600))?;
    ///     let second = call.step("second", || Ok(first + 1))?;
    ///     Ok(vec![first, second])
    /// }
    /// assert_eq!(Script::new().lost_everywhere(sums), Ok(vec![55, 56]));
    /// ```
    ///
    /// # Panics
    /// If a run returned something else, or took another way.
    pub fn lost_everywhere<R: PartialEq + fmt::Debug>(
        &self,
        mut handler: impl FnMut(&Call) -> R,
    ) -> R {
        let outcome = handler(&self.call());
        let verbs = self.0.journal.borrow().len();
        for kept in 0..=verbs {
            let script = Self(Rc::new(self.0.lost_after(kept)));
            let again = handler(&script.call());
            assert_eq!(again, outcome, "lost after {kept} of {verbs} verbs");
        }
        outcome
    }

    /// What was asked so far, each key once.
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
        self.0.status_at(self.0.journal.borrow().len())
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

/// What this thread told by [`changes`](mod@crate::changes) since it was last asked.
#[must_use]
pub fn changes() -> Vec<Change> {
    crate::changes::take()
}

impl Default for Script {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Answer;
    use std::cell::Cell;

    #[test]
    fn users_accept_decline_or_go_away() {
        let script = Script::new()
            .accept("a", &serde_json::json!({ "n": 1 }))
            .decline("b")
            .dismiss("c");
        let call = script.call();
        let page = |key: &'static str| (key, InputRequest::visit("?", "https://example.com"));
        let answers = call.ask([page("a"), page("b"), page("c")]).unwrap();
        let form = answers.form("a");
        assert_eq!(form, Ok(Answer::Accepted(serde_json::json!({ "n": 1 }))));
        assert_eq!(answers.visit("b"), Ok(Answer::Declined));
        assert_eq!(answers.visit("c"), Ok(Answer::Cancelled));
    }

    #[test]
    fn a_loss_anywhere_shows() {
        // It draws before the record, and returns what it drew rather than what it recorded.
        let draws = Cell::new(0_u8);
        let careless = |call: &Call| {
            draws.set(draws.get() + 1);
            let _ = call.record("drawn", &[draws.get()]);
            draws.get()
        };
        let shown = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            Script::new().lost_everywhere(careless)
        }));
        assert!(shown.is_err());

        let careful = |call: &Call| {
            draws.set(draws.get() + 1);
            let _ = call.record("drawn", &[7]);
            call.recall("drawn")
        };
        draws.set(0);
        assert_eq!(Script::new().lost_everywhere(careful), Some(vec![7]));
        // Once undisturbed, once from nothing, once after the record.
        assert_eq!(draws.get(), 3);
    }
}
