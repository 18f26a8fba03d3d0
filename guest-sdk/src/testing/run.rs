//! One run of a handler, and the journal that it shares with the runs before it.
//!
//! Invariant: a run is told the journal's entries in order before it adds one; only `recall` passes
//! over entries, up to the last record of its key.

use crate::bindings::cofferdam::tool::task::StartOptions;
use crate::host::Host;
use crate::testing::Progress;
use crate::{
    CallStatus, ClientFeatures, FinalError, InputAnswer, InputError, InputRequest, RecordError,
    RpcError, StartError, Started, ToolResult,
};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::fmt;
use std::rc::Rc;

/// Most bytes of a record's key.
const KEY_BYTES: usize = 256;
/// Most bytes of a recorded value.
const RECORD_BYTES: usize = 1 << 20;

/// What all runs of a script share.
pub(super) struct State {
    pub(super) features: Cell<ClientFeatures>,
    pub(super) answers: RefCell<HashMap<String, InputAnswer>>,
    pub(super) asked: RefCell<Vec<(String, InputRequest)>>,
    pub(super) progress: RefCell<Vec<Progress>>,
    pub(super) cancel_after: Cell<Option<usize>>,
    /// How the call ended, if it did.
    over: Cell<Option<CallStatus>>,
    pub(super) end: RefCell<Option<Result<ToolResult, RpcError>>>,
    pub(super) journal: RefCell<Vec<Entry>>,
}

/// What a run did that later runs are told again, in place of doing it.
#[derive(Clone)]
pub(super) enum Entry {
    Started,
    Slept,
    Answered(Vec<(String, InputAnswer)>),
    Recorded(String, Vec<u8>),
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Started => f.write_str("start_task"),
            Self::Slept => f.write_str("sleep"),
            Self::Answered(answers) => {
                let keys: Vec<&str> = answers.iter().map(|(key, _)| key.as_str()).collect();
                write!(f, "ask({})", keys.join(", "))
            }
            Self::Recorded(key, _) => write!(f, "record({key})"),
        }
    }
}

impl State {
    /// Nothing is scripted, and nothing has happened.
    pub(super) fn new(features: ClientFeatures) -> Self {
        Self {
            features: Cell::new(features),
            answers: RefCell::default(),
            asked: RefCell::default(),
            progress: RefCell::default(),
            cancel_after: Cell::default(),
            over: Cell::default(),
            end: RefCell::default(),
            journal: RefCell::default(),
        }
    }

    /// The state that is left if the server is lost after this many entries.
    pub(super) fn lost_after(&self, entries: usize) -> Self {
        let journal = self.journal.borrow()[..entries].to_vec();
        Self {
            answers: self.answers.clone(),
            journal: RefCell::new(journal),
            ..Self::new(self.features.get())
        }
    }

    /// Where a run stands that has so many entries behind it.
    pub(super) fn status_at(&self, passed: usize) -> CallStatus {
        if let Some(status) = self.over.get() {
            return status;
        }
        let behind = self.journal.borrow();
        if behind[..passed]
            .iter()
            .any(|entry| matches!(entry, Entry::Started))
        {
            CallStatus::Working
        } else {
            CallStatus::Inline
        }
    }

    fn check(&self) -> Result<(), FinalError> {
        match self.over.get() {
            Some(_) => Err(FinalError::Final),
            None => Ok(()),
        }
    }

    /// Counts one report or sleep towards the cancellation.
    fn tick(&self) -> Result<(), FinalError> {
        self.check()?;
        match self.cancel_after.get() {
            Some(0) => {
                self.over.set(Some(CallStatus::Cancelled));
                return Err(FinalError::Final);
            }
            left => self.cancel_after.set(left.map(|left| left - 1)),
        }
        Ok(())
    }

    fn finish(&self, end: Result<ToolResult, RpcError>) -> Result<(), FinalError> {
        self.check()?;
        self.over.set(Some(if end.is_ok() {
            CallStatus::Completed
        } else {
            CallStatus::Failed
        }));
        *self.end.borrow_mut() = Some(end);
        Ok(())
    }
}

/// One run of the handler, from the top.
pub(super) struct Run {
    state: Rc<State>,
    /// How many entries of the journal it has behind it.
    passed: Cell<usize>,
}

impl Run {
    pub(super) fn new(state: Rc<State>) -> Self {
        Self {
            state,
            passed: Cell::new(0),
        }
    }

    /// Goes on to the next entry. If an earlier run made it, that is `now` again: what `read` finds
    /// in it is returned.
    fn again<T>(&self, now: &str, read: impl FnOnce(&Entry) -> Option<T>) -> Option<T> {
        let journal = self.state.journal.borrow();
        let entry = journal.get(self.passed.get())?;
        let value = read(entry);
        assert!(
            value.is_some(),
            "run again, the handler came to {now} where it had come to {entry}"
        );
        self.passed.set(self.passed.get() + 1);
        value
    }

    /// Adds an entry that no earlier run made.
    fn add(&self, entry: Entry) {
        let mut journal = self.state.journal.borrow_mut();
        journal.push(entry);
        self.passed.set(journal.len());
    }

    /// Which of these keys were used up before, or are twice among them?
    fn duplicates(&self, keys: &[&str]) -> Vec<String> {
        let journal = self.state.journal.borrow();
        let mut used: Vec<&str> = Vec::new();
        for entry in &journal[..self.passed.get()] {
            if let Entry::Answered(answers) = entry {
                used.extend(answers.iter().map(|(key, _)| key.as_str()));
            }
        }
        let mut duplicates = Vec::new();
        for key in keys {
            if used.contains(key) {
                duplicates.push((*key).to_owned());
            }
            used.push(key);
        }
        duplicates
    }
}

impl Host for Run {
    fn start_task(&self, _: &StartOptions) -> Result<Started, StartError> {
        self.state.check().map_err(|_| StartError::Final)?;
        if self.status() != CallStatus::Inline {
            return Err(StartError::AlreadyStarted);
        }
        if !self.state.features.get().contains(ClientFeatures::TASKS) {
            return Ok(Started::Inline);
        }
        let again = self.again("start_task", |entry| {
            matches!(entry, Entry::Started).then_some(())
        });
        if again.is_none() {
            self.add(Entry::Started);
        }
        Ok(Started::Task)
    }

    fn progress(
        &self,
        done: f64,
        total: Option<f64>,
        message: Option<&str>,
    ) -> Result<(), FinalError> {
        self.state.check()?;
        // What an earlier run has told is not told again.
        if self.passed.get() < self.state.journal.borrow().len() {
            return Ok(());
        }
        self.state.tick()?;
        self.state.progress.borrow_mut().push(Progress {
            done,
            total,
            message: message.unwrap_or_default().to_owned(),
        });
        Ok(())
    }

    fn status(&self) -> CallStatus {
        self.state.status_at(self.passed.get())
    }

    fn cancelled(&self) -> bool {
        self.status() == CallStatus::Cancelled || self.state.cancel_after.get() == Some(0)
    }

    fn complete(&self, answer: &ToolResult) -> Result<(), FinalError> {
        self.state.finish(Ok(answer.clone()))
    }

    fn fail(&self, error: &RpcError) -> Result<(), FinalError> {
        self.state.finish(Err(error.clone()))
    }

    fn sleep(&self, _: u64) -> Result<(), FinalError> {
        self.state.check()?;
        let again = self.again("sleep", |entry| matches!(entry, Entry::Slept).then_some(()));
        if again.is_none() {
            self.state.tick()?;
            self.add(Entry::Slept);
        }
        Ok(())
    }

    fn require_input(
        &self,
        requests: &[(String, InputRequest)],
    ) -> Result<Vec<(String, InputAnswer)>, InputError> {
        self.state.check().map_err(|_| InputError::Final)?;
        let mut missing = ClientFeatures::empty();
        for (_, request) in requests {
            missing |= needs(request).difference(self.state.features.get());
        }
        if !missing.is_empty() {
            return Err(InputError::MissingFeatures(missing));
        }
        let keys: Vec<&str> = requests.iter().map(|(key, _)| key.as_str()).collect();
        let duplicates = self.duplicates(&keys);
        if !duplicates.is_empty() {
            return Err(InputError::DuplicateKeys(duplicates));
        }
        let now = format!("ask({})", keys.join(", "));
        let again = self.again(&now, |entry| match entry {
            Entry::Answered(answers) if answers.iter().map(|(key, _)| key).eq(&keys) => {
                Some(answers.clone())
            }
            _ => None,
        });
        if let Some(answers) = again {
            return Ok(answers);
        }
        for (key, request) in requests {
            let mut asked = self.state.asked.borrow_mut();
            if !asked.iter().any(|(before, _)| before == key) {
                asked.push((key.clone(), request.clone()));
            }
        }
        let scripted = self.state.answers.borrow();
        let answers: Option<Vec<_>> = keys
            .iter()
            .map(|key| Some(((*key).to_owned(), scripted.get(*key)?.clone())))
            .collect();
        let answers = answers.ok_or(InputError::Unavailable)?;
        self.add(Entry::Answered(answers.clone()));
        Ok(answers)
    }

    fn record(&self, key: &str, value: &[u8]) -> Result<(), RecordError> {
        self.state.check().map_err(|_| RecordError::Final)?;
        if !(1..=KEY_BYTES).contains(&key.len()) {
            return Err(RecordError::InvalidKey);
        }
        if value.len() > RECORD_BYTES {
            let text = format!("a recorded value may have {RECORD_BYTES} bytes");
            return Err(RecordError::TooLarge(text));
        }
        let again = self.again(&format!("record({key})"), |entry| {
            matches!(entry, Entry::Recorded(before, _) if before == key).then_some(())
        });
        if again.is_none() {
            self.add(Entry::Recorded(key.to_owned(), value.to_vec()));
        }
        Ok(())
    }

    fn recall(&self, key: &str) -> Option<Vec<u8>> {
        let journal = self.state.journal.borrow();
        let (last, value) =
            (journal.iter().enumerate().rev()).find_map(|(n, entry)| match entry {
                Entry::Recorded(of, value) if of == key => Some((n, value.clone())),
                _ => None,
            })?;
        // The run goes on as if it had just recorded the value.
        self.passed.set(self.passed.get().max(last + 1));
        Some(value)
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
    use crate::testing::Script;
    use crate::{Call, Error, TaskOptions};
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

    fn empty_form() -> InputRequest {
        let schema = serde_json::json!({ "type": "object", "properties": {} });
        InputRequest::form_with("?", &schema)
    }

    #[test]
    fn questions_need_features_and_fresh_keys() {
        let script = Script::new()
            .features(ClientFeatures::ELICITATION_FORM)
            .decline("sure");
        let call = script.call();
        assert_eq!(
            call.roots("sure"),
            Err(InputError::MissingFeatures(ClientFeatures::ROOTS))
        );
        assert!(call.ask([("sure", empty_form())]).is_ok());
        let twice = [
            ("sure", empty_form()),
            ("x", empty_form()),
            ("x", empty_form()),
        ];
        assert_eq!(
            call.ask(twice),
            Err(InputError::DuplicateKeys(vec![
                "sure".to_owned(),
                "x".to_owned()
            ]))
        );
        assert_eq!(
            call.ask([("other", empty_form())]),
            Err(InputError::Unavailable)
        );
    }

    #[test]
    fn a_run_is_told_what_the_one_before_was_told() {
        let script = Script::new();
        let run = |call: &Call| -> Result<bool, Error> {
            assert_eq!(call.status(), CallStatus::Inline);
            call.start_task(TaskOptions::new())?;
            assert_eq!(call.status(), CallStatus::Working);
            call.progress(1, Some(2), "")?;
            call.sleep(Duration::from_secs(1))?;
            let answer = call.ask([("sure", empty_form())])?.visit("sure")?;
            call.progress(2, Some(2), "")?;
            Ok(answer.accepted().is_some())
        };
        assert!(run(&script.call()).is_err());
        let script = script.decline("sure");
        for _ in 0..2 {
            assert_eq!(run(&script.call()), Ok(false));
        }
        assert_eq!(script.asked().len(), 1);
        // The report before the sleep is told by the first run alone.
        let done: Vec<f64> = script.progress().iter().map(|told| told.done).collect();
        assert_eq!(done, [1.0, 2.0, 2.0]);
    }

    #[test]
    fn recall_goes_on_after_the_last_record() {
        let script = Script::new().decline("sure");
        let call = script.call();
        assert_eq!(call.recall("at"), None);
        for at in [1, 2] {
            assert_eq!(call.sleep(Duration::ZERO), Ok(()));
            assert_eq!(call.record("at", &[at]), Ok(()));
            assert_eq!(call.recall("at"), Some(vec![at]));
        }
        assert!(call.ask([("sure", empty_form())]).is_ok());

        let call = script.call();
        assert_eq!(call.recall("at"), Some(vec![2]));
        // The sleeps are behind it, and the question is ahead.
        assert!(call.ask([("sure", empty_form())]).is_ok());
        assert_eq!(call.record("at", &[3]), Ok(()));
        assert_eq!(script.call().recall("at"), Some(vec![3]));
    }

    #[test]
    #[should_panic(expected = "the handler came to record(a) where it had come to sleep")]
    fn another_way_is_noticed() {
        let script = Script::new();
        let _ = script.call().sleep(Duration::ZERO);
        let _ = script.call().record("a", b"");
    }

    #[test]
    fn records_have_bounds() {
        let call = Script::new().call();
        for (key, length, outcome) in [
            (String::new(), 0, Err(RecordError::InvalidKey)),
            ("k".repeat(257), 0, Err(RecordError::InvalidKey)),
            ("k".repeat(256), 1 << 20, Ok(())),
        ] {
            assert_eq!(call.record(&key, &vec![0; length]), outcome);
        }
        assert!(matches!(
            call.record("k", &vec![0; (1 << 20) + 1]),
            Err(RecordError::TooLarge(_))
        ));
    }
}
