//! The verbs of a running call, as handlers use them.

use crate::ask::Answers;
use crate::bindings::cofferdam::tool::task::{StartOptions, Ttl};
use crate::host::{Host, Server};
use crate::{
    Answer, CallStatus, ClientFeatures, Error, FinalError, InputError, InputRequest,
    IntoToolResult, RecordError, Result, Root, RpcError, SamplingAnswer, SamplingRequest,
    StartError, Started,
};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use std::rc::Rc;
use std::time::Duration;

/// One running call.
///
/// A handler gets it as its first parameter. Once the call is over (its client cancelled it, its
/// time passed, or the handler ended it) every verb that would change it fails with `Final` and
/// changes nothing; `?` then returns from the handler, which is all that is left to do.
///
/// A server may [run a handler again](crate#a-handler-may-be-run-again) from the top. Its verbs then
/// answer as they did before, until it is where the run before it was.
#[derive(Clone)]
pub struct Call {
    host: Rc<dyn Host>,
    features: ClientFeatures,
}

impl Call {
    /// A call of the server that runs this component.
    pub(crate) fn of_server(features: ClientFeatures) -> Self {
        Self::new(Rc::new(Server), features)
    }

    /// A call whose verbs reach `host`.
    #[must_use]
    pub fn new(host: Rc<dyn Host>, features: ClientFeatures) -> Self {
        Self { host, features }
    }

    /// What the calling client can do.
    #[must_use]
    pub fn features(&self) -> ClientFeatures {
        self.features
    }

    /// Fails with [`Error::MissingFeatures`] unless the client can do all of this.
    ///
    /// # Errors
    /// As said; the client is answered with -32021 if the handler returns it.
    pub fn require_features(&self, needed: ClientFeatures) -> Result<()> {
        let missing = needed.difference(self.features);
        if missing.is_empty() {
            Ok(())
        } else {
            Err(Error::MissingFeatures(missing))
        }
    }

    /// Makes this call a task: the client is answered with the task's id and goes on. For a client
    /// that does not know tasks the answer is [`Started::Inline`], and nothing else happens. The task
    /// is durable before the client hears of it: from here on, work survives the server.
    ///
    /// # Errors
    /// If the tool does not declare `task`, the call is a task already, an option is out of range,
    /// or the server cannot take the task.
    pub fn start_task(&self, options: TaskOptions) -> Result<Started, StartError> {
        self.host.start_task(&options.0)
    }

    /// Reports progress, which must grow: `progress(3, Some(10), "reading")`. An empty message is
    /// none. At most 50 reports a second are passed on, and none twice when the handler is run again
    /// and comes to where it had been.
    ///
    /// # Errors
    /// Only if the call is over.
    pub fn progress<A: Amount>(
        &self,
        done: A,
        total: Option<A>,
        message: &str,
    ) -> Result<(), FinalError> {
        let message = (!message.is_empty()).then_some(message);
        self.host
            .progress(done.as_f64(), total.map(Amount::as_f64), message)
    }

    /// Where the call stands.
    #[must_use]
    pub fn status(&self) -> CallStatus {
        self.host.status()
    }

    /// True once nobody wants the result: the client cancelled the task or closed the stream, or the
    /// ttl passed. The instance is dropped after a short grace: clean up and return.
    ///
    /// It tells nothing of a server that stops. A task's handler is not told at all: its instance goes
    /// without notice, and the handler is run again when there is a server. So keep what must not be
    /// lost as you go ([`step`](Self::step), [`record`](Self::record)), not at the end.
    #[must_use]
    pub fn cancelled(&self) -> bool {
        self.host.cancelled()
    }

    /// Ends the call with a result. The handler may run on to clean up; what it returns is ignored.
    ///
    /// # Errors
    /// [`Error::Final`] if the call is over; or what the answer itself failed with.
    pub fn complete(&self, answer: impl IntoToolResult) -> Result<()> {
        Ok(self.host.complete(&answer.into_tool_result()?)?)
    }

    /// Ends the call with a JSON-RPC error. The handler may run on to clean up.
    ///
    /// # Errors
    /// Only if the call is over.
    pub fn fail(&self, error: &RpcError) -> Result<(), FinalError> {
        self.host.fail(error)
    }

    /// Waits, in whole milliseconds, rounded up. It counts as wall time, not as CPU time. A task that
    /// sleeps long may give its instance back, and be run again from the top when it is time.
    ///
    /// # Errors
    /// As soon as the call is over.
    pub fn sleep(&self, duration: Duration) -> Result<(), FinalError> {
        self.host.sleep(milliseconds(duration))
    }

    /// Asks the client several things at once, and returns when all are answered. A key is 1 to 256
    /// bytes and good once in a call; at most 32 requests at once. A refusal is an answer.
    ///
    /// It works in a task and inline alike. In a task the status is `input_required` meanwhile. Inline,
    /// also before [`start_task`](Self::start_task), the request is answered with `input_required`, and
    /// when the client repeats it with the answers, the handler is run again from the top. A task that
    /// waits may give its instance back and be run again, too.
    ///
    /// # Errors
    /// If the client cannot answer such requests, or nothing can be asked in this call.
    pub fn ask<K: Into<String>>(
        &self,
        requests: impl IntoIterator<Item = (K, InputRequest)>,
    ) -> Result<Answers, InputError> {
        let requests: Vec<_> = requests
            .into_iter()
            .map(|(key, request)| (key.into(), request))
            .collect();
        self.host.require_input(&requests).map(Answers::new)
    }

    /// Asks the user to fill in a form whose fields are those of `T`.
    ///
    /// # Errors
    /// As [`ask`](Self::ask).
    pub fn ask_form<T: JsonSchema + DeserializeOwned>(
        &self,
        key: &str,
        message: &str,
    ) -> Result<Answer<T>, InputError> {
        self.ask([(key, InputRequest::form_of::<T>(message))])?
            .form(key)
    }

    /// Asks the user to visit a page. Accepting means that they agreed to, not that they are done.
    ///
    /// # Errors
    /// As [`ask`](Self::ask).
    pub fn ask_url(&self, key: &str, message: &str, url: &str) -> Result<Answer<()>, InputError> {
        self.ask([(key, InputRequest::visit(message, url))])?
            .visit(key)
    }

    /// Asks the client's model.
    ///
    /// # Errors
    /// As [`ask`](Self::ask).
    pub fn sample(
        &self,
        key: &str,
        request: SamplingRequest,
    ) -> Result<SamplingAnswer, InputError> {
        self.ask([(key, InputRequest::Sampling(request))])?
            .prompt(key)
            .cloned()
    }

    /// Asks for the client's root folders.
    ///
    /// # Errors
    /// As [`ask`](Self::ask).
    pub fn roots(&self, key: &str) -> Result<Vec<Root>, InputError> {
        Ok(self.ask([(key, InputRequest::Roots)])?.roots(key)?.to_vec())
    }

    /// Keeps bytes under a key for this call, in place of those kept before: at most 1 MiB a value
    /// and 16 MiB a call. In a task they are durable when this returns. Keys that begin with `step:`
    /// are those of [`step`](Self::step).
    ///
    /// # Errors
    /// If the key is empty or over 256 bytes, the value too large, or the call over.
    pub fn record(&self, key: &str, value: &[u8]) -> Result<(), RecordError> {
        self.host.record(key, value)
    }

    /// The bytes kept under a key, if there are any: the last ones, also when the handler is run again
    /// and has not come to their record yet. The run then goes on as if it had just recorded them, and
    /// what it did between this first `recall` and that last `record` is not answered again. So:
    ///
    /// * Look at what is recalled first, and go on from there.
    /// * What is read between a `recall` and its `record` (a clock, a random number, an answer)
    ///   belongs to the step, and reaches the rest of the program only through the recorded bytes.
    ///
    /// ```
    /// use cofferdam_guest::prelude::*;
    /// use cofferdam_guest::testing::Script;
    ///
    /// fn squares(call: &Call) -> Result<u64> {
    ///     let (mut next, mut sum) = match call.recall("squares") {
    ///         Some(kept) => serde_json::from_slice(&kept)?,
    ///         None => (1, 0),
    ///     };
    ///     while next <= 100 {
    ///         sum += next * next;
    ///         next += 1;
    ///         call.record("squares", &serde_json::to_vec(&(next, sum))?)?;
    ///     }
    ///     Ok(sum)
    /// }
    /// assert_eq!(Script::new().lost_everywhere(squares), Ok(338_350));
    /// ```
    #[must_use]
    pub fn recall(&self, key: &str) -> Option<Vec<u8>> {
        self.host.recall(key)
    }
}

/// How a task is to be: the server's defaults, unless said otherwise.
#[derive(Clone, Debug, PartialEq)]
pub struct TaskOptions(StartOptions);

impl TaskOptions {
    /// The server's defaults: usually ten minutes to live, and a poll each second.
    #[must_use]
    pub fn new() -> Self {
        Self(StartOptions {
            ttl: Ttl::Default,
            poll_interval_ms: None,
            status_message: None,
            max_attempts: None,
        })
    }

    /// How long the task may live, from now, at least 1 ms: a deadline for the work, then the end of
    /// the record.
    #[must_use]
    pub fn ttl(mut self, ttl: Duration) -> Self {
        self.0.ttl = Ttl::Millis(milliseconds(ttl));
        self
    }

    /// No deadline.
    #[must_use]
    pub fn unlimited(mut self) -> Self {
        self.0.ttl = Ttl::Unlimited;
        self
    }

    /// How often a client should poll, at least 1 ms.
    #[must_use]
    pub fn poll_interval(mut self, interval: Duration) -> Self {
        self.0.poll_interval_ms = Some(milliseconds(interval));
        self
    }

    /// What the client is shown at first, at most 1024 bytes.
    #[must_use]
    pub fn status(mut self, message: impl Into<String>) -> Self {
        self.0.status_message = Some(message.into());
        self
    }

    /// How many attempts the task has, 1 to 100; 1 unless given. A trap or a limit of the sandbox ends
    /// an attempt, and the next one runs the handler from the top. It keeps the answers and the records
    /// of those before it, so finished [steps](Call::step) are not done again.
    ///
    /// An error that the handler returns is its answer, and is not tried again.
    #[must_use]
    pub fn max_attempts(mut self, attempts: u32) -> Self {
        self.0.max_attempts = Some(attempts);
        self
    }
}

impl Default for TaskOptions {
    fn default() -> Self {
        Self::new()
    }
}

/// Whole milliseconds, rounded up so that a short wait does not become none.
fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX)
}

/// A number that progress is counted in.
pub trait Amount: Copy {
    /// The nearest number of the contract.
    fn as_f64(self) -> f64;
}

macro_rules! amounts {
    ($($number:ty),+) => {$(
        impl Amount for $number {
            #[allow(clippy::cast_lossless, clippy::cast_precision_loss)]
            fn as_f64(self) -> f64 {
                self as f64
            }
        }
    )+};
}
amounts!(i32, i64, u8, u16, u32, u64, usize, f32, f64);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Script;

    #[test]
    fn durations_round_up() {
        assert_eq!(milliseconds(Duration::ZERO), 0);
        assert_eq!(milliseconds(Duration::from_nanos(1)), 1);
        assert_eq!(milliseconds(Duration::from_millis(7)), 7);
        assert_eq!(milliseconds(Duration::MAX), u64::MAX);
    }

    #[test]
    fn features_are_required_by_name() {
        let call = Script::new().features(ClientFeatures::ROOTS).call();
        assert_eq!(call.require_features(ClientFeatures::ROOTS), Ok(()));
        assert_eq!(
            call.require_features(ClientFeatures::ROOTS | ClientFeatures::SAMPLING),
            Err(Error::MissingFeatures(ClientFeatures::SAMPLING))
        );
    }
}
