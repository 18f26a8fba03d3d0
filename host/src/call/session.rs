//! The state of one call.
//!
//! Invariants: a call has one outcome, the first one; a call becomes a task at most once, and its
//! client is answered only after the task is stored; once the call is final, verbs change nothing;
//! whatever a guest may not do twice, or must learn again in the same way, stands in the journal.

use super::events::Events;
use super::progress::ProgressGate;
use super::request_state::Question;
use super::sealer::Sealer;
use super::target::{Target, Unfit};
use crate::journal::{Fault, Journal, JournalOptions, Micros, Origin};
use crate::limits::RunLimits;
use crate::metrics::{CallCounters, Limit, Metrics};
use crate::protocol::{ClientFeatures, Level, RpcError, json_size};
use crate::runtime::wit::task::{CallStatus, FinalError};
use crate::runtime::{Output, Returned, RunError};
use crate::task::{
    Answered, Claim, Event, Fence, Inputs, Job, Millis, Principal, Refusal, ReportError, Setup,
    Signals, Task, TaskId, Tasks, Writes, now,
};
use crate::telemetry::TraceContext;
use crate::tenants::Tenant;
use indexmap::IndexMap;
use parking_lot::Mutex;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use std::sync::{Arc, Weak};
use std::time::Duration;
use tokio::sync::{Notify, oneshot};

/// The run that makes a task. Later runs of the task take the leases after it.
pub(super) const FIRST_RUN: Fence = Fence {
    attempt: 1,
    lease: 0,
};

/// What the request is answered with.
#[derive(Debug)]
pub enum Reply {
    /// The call is a task now.
    Task(TaskId, Box<Task>),
    /// The client has to answer, and to call again.
    Asked(Box<Question>),
    /// The call is over.
    Outcome(Result<Box<RawValue>, RpcError>),
}

/// What a call came to.
pub(super) type Outcome = Result<Box<RawValue>, RpcError>;

/// How calls are run, by settings that are the same for all.
#[derive(Clone, Copy, Debug)]
pub struct CallTimes {
    /// Time a task waits before it gives its instance back.
    pub park_after: Duration,
    /// Time a client has to answer questions asked before a task began, milliseconds.
    pub answer_ms: u64,
}

/// What a call starts with.
pub struct SessionOptions {
    /// What is called.
    pub target: Target,
    /// The tasks of the server, if it offers any.
    pub tasks: Option<Arc<Tasks>>,
    /// Who calls.
    pub owner: Principal,
    /// What its tenant may.
    pub tenant: Arc<Tenant>,
    /// What the guest is told that the client declared: when the call began.
    pub features: ClientFeatures,
    /// What the client of the present request declared.
    pub client: ClientFeatures,
    /// A JSON object that fits the tool's input schema.
    pub arguments: Box<RawValue>,
    /// What the call started with.
    pub setup: Setup,
    /// The request's stream.
    pub events: Arc<Events>,
    /// Token for progress notifications.
    pub progress_token: Option<Box<RawValue>>,
    /// Least severe log messages the client wants.
    pub log_level: Option<Level>,
    /// Seals what the client keeps for a call that asks before it is a task.
    pub sealer: Arc<Sealer>,
    /// Questions that the client answered in earlier requests of the call, and its answers.
    pub answered: IndexMap<String, Answered>,
    /// Answers that the client sent along before it was asked, by key.
    pub offered: Map<String, Value>,
    /// What counts refusals.
    pub metrics: Arc<Metrics>,
    /// What counts its runs.
    pub counters: CallCounters,
    /// Times.
    pub times: CallTimes,
    /// Where seeds and clocks come from.
    pub origin: Origin,
    /// Where the trace of the call goes on.
    pub trace: Option<TraceContext>,
}

/// One call, or one run of a task.
pub struct Session {
    pub(super) options: SessionOptions,
    pub(super) signals: Signals,
    pub(super) journal: Arc<Mutex<Journal>>,
    pub(super) state: Mutex<State>,
    pub(super) this: Weak<Self>,
    /// Told when the call becomes a task.
    pub(super) became_task: Notify,
    born: Millis,
}

pub(super) struct State {
    pub(super) phase: Phase,
    pub(super) fence: Fence,
    /// The guest was told that it runs as a task.
    pub(super) told: bool,
    /// Questions of the task that this run knows of.
    pub(super) asked: usize,
    /// What the call came to is an error by its tool's own word.
    pub(super) tool_error: bool,
    /// How often the guest asked for its status.
    pub(super) asked_status: u64,
    /// If the server made the task: how often it had asked by then.
    pub(super) detached_after: Option<u64>,
    pub(super) reply: Option<oneshot::Sender<Reply>>,
    pub(super) progress: ProgressGate,
    pub(super) kept_message: Option<String>,
    /// Questions that were answered before the call is a task, and their answers.
    pub(super) inputs: Inputs,
    /// When the task's ttl or its attempt's wall time is over.
    deadline: Option<Millis>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    Inline,
    /// It is being stored as a task.
    Starting,
    Task(TaskId),
    /// An inline call that ended with this status.
    Over(CallStatus),
}

impl Session {
    /// An inline call, and where its reply will appear. The journal holds what an earlier request
    /// of the same call was answered.
    #[must_use]
    pub fn new(
        mut options: SessionOptions,
        journal: Journal,
    ) -> (Arc<Self>, oneshot::Receiver<Reply>) {
        let (reply, receiver) = oneshot::channel();
        let state = State {
            reply: Some(reply),
            inputs: Inputs::of_answered(std::mem::take(&mut options.answered)),
            ..State::new(Phase::Inline, FIRST_RUN)
        };
        let session = Self::with(options, journal, state, Signals::default());
        (session, receiver)
    }

    /// A run of a task that was claimed with these signals.
    #[must_use]
    pub fn of_task(
        options: SessionOptions,
        journal: Journal,
        id: TaskId,
        task: &Task,
        signals: Signals,
    ) -> Arc<Self> {
        // Only the attempt that the server made a task in the middle of began without one.
        let detached_after = match options.setup.detached_after {
            Some(_) if task.attempt > 1 => Some(0),
            other => other,
        };
        let state = State {
            deadline: Some(task.ends_at()),
            detached_after,
            ..State::new(Phase::Task(id), task.fence())
        };
        Self::with(options, journal, state, signals)
    }

    fn with(
        options: SessionOptions,
        journal: Journal,
        state: State,
        signals: Signals,
    ) -> Arc<Self> {
        Arc::new_cyclic(|this| Self {
            options,
            signals,
            journal: Arc::new(Mutex::new(journal)),
            state: Mutex::new(state),
            this: Weak::clone(this),
            became_task: Notify::new(),
            born: now(),
        })
    }

    /// The task this call is.
    pub(super) fn task(&self) -> Option<TaskId> {
        match self.state.lock().phase {
            Phase::Task(id) => Some(id),
            Phase::Inline | Phase::Starting | Phase::Over(_) => None,
        }
    }

    /// The task this call is, and the service that keeps it.
    pub(super) fn as_task(&self) -> Option<(&Arc<Tasks>, TaskId)> {
        Some((self.options.tasks.as_ref()?, self.task()?))
    }

    /// When the call began here.
    pub(super) fn born(&self) -> Millis {
        self.born
    }

    /// When the task's ttl or its attempt's wall time is over; none without a task.
    pub(super) fn deadline(&self) -> Option<Millis> {
        self.state.lock().deadline
    }

    /// Which run this is.
    pub(super) fn fence(&self) -> Fence {
        self.state.lock().fence
    }

    pub(super) fn became(&self, id: TaskId, task: &Task) {
        let mut state = self.state.lock();
        state.phase = Phase::Task(id);
        state.deadline = Some(task.ends_at());
        self.became_task.notify_waiters();
    }

    /// True if the instance may go while the call waits: a later run can learn the same.
    pub(super) fn replays(&self) -> bool {
        self.options.target.component().grants.replays()
    }

    /// True if the instance may go now: nothing would be done twice by it.
    pub(super) fn may_park(&self) -> bool {
        self.replays() && !self.journal.lock().in_flight()
    }

    pub(super) fn is_over(&self) -> bool {
        self.signals.cancel.is_cancelled() || matches!(self.state.lock().phase, Phase::Over(_))
    }

    /// Gives what a handler returned its final form.
    pub(super) fn settle(&self, returned: Returned) -> Result<Outcome, RunError> {
        // What ended its call before may leave entries behind: nobody replays it.
        if !self.is_over() {
            self.journal.lock().end().map_err(RunError::Journal)?;
        }
        Ok(match returned {
            Returned::Output(output) => self.seal(output),
            Returned::Error(error) => Err(self.seal_error(error)),
        })
    }

    /// The handler returned, or its run ended.
    pub(super) async fn end(&self, result: Result<Outcome, RunError>) {
        let mut retry = false;
        let outcome = match result {
            Ok(outcome) => outcome,
            // The task goes on in another run; the client of an inline call was answered.
            Err(RunError::Asked) => return,
            Err(RunError::Parked) => {
                self.tell_last().await;
                return;
            }
            Err(RunError::Journal(Fault::Killed)) if self.killed() => return,
            Err(error) => {
                tracing::warn!(tool = &**self.options.target.label(), "{error}");
                if let Some(limit) = error.limit() {
                    self.options.metrics.refuse(limit);
                }
                retry = error.may_retry();
                Err(error.into())
            }
        };
        // A handler that ended its call before may return what it likes.
        let _ = self.finish(outcome, retry).await;
    }

    /// Gives an answer its final form.
    pub(super) fn seal(&self, output: Output) -> Result<Box<RawValue>, RpcError> {
        // The first outcome counts.
        if matches!(&output, Output::Tool(answer) if answer.is_error) && !self.is_over() {
            self.state.lock().tool_error = true;
        }
        let limit = self.result_limit();
        let sealed = self.options.target.seal(output, limit);
        sealed.map_err(|unfit| match unfit {
            Unfit::Error(error) => error,
            Unfit::TooLarge(what) => {
                self.options.metrics.refuse(Limit::Result);
                let key = self.result_limit_key();
                RpcError::internal(format!("{what}; the limit is {limit} ({key})"))
            }
        })
    }

    /// True if the call came to a result that its tool calls an error.
    #[must_use]
    pub fn is_tool_error(&self) -> bool {
        self.state.lock().tool_error
    }

    /// Lets a tool's error pass, unless it is larger than a result may be.
    pub(super) fn seal_error(&self, error: RpcError) -> RpcError {
        let limit = self.result_limit();
        match json_size(&error) {
            size if size > limit => RpcError::internal(format!(
                "The tool's error has {size} bytes; the limit is {limit} ({})",
                self.result_limit_key()
            )),
            _ => error,
        }
    }

    /// Most bytes of what the call comes to.
    fn result_limit(&self) -> usize {
        self.options.setup.limits.result_bytes
    }

    /// What names that limit.
    fn result_limit_key(&self) -> String {
        self.options.tenant.result_key(self.result_limit())
    }

    /// A rehearsal ended the run. True: a later run goes on with the task.
    fn killed(&self) -> bool {
        self.options.origin.killed();
        self.task().is_some()
    }

    pub(super) async fn finish(
        &self,
        outcome: Result<Box<RawValue>, RpcError>,
        retry: bool,
    ) -> Result<(), FinalError> {
        let (id, fence) = {
            let mut state = self.state.lock();
            match state.phase {
                Phase::Over(_) => return Err(FinalError::Final),
                Phase::Task(id) => (id, state.fence),
                Phase::Inline | Phase::Starting => {
                    let status = match &outcome {
                        Ok(_) => CallStatus::Completed,
                        Err(_) => CallStatus::Failed,
                    };
                    state.phase = Phase::Over(status);
                    let reply = state.reply.take();
                    // Nobody listens any more if the client closed its stream.
                    return match reply.map(|reply| reply.send(Reply::Outcome(outcome))) {
                        Some(Ok(())) => Ok(()),
                        _ => Err(FinalError::Final),
                    };
                }
            }
        };
        // An end has no message but its own.
        self.state.lock().kept_message = None;
        let event = match outcome {
            Ok(result) => Event::Complete { fence, result },
            Err(error) => Event::Fail {
                fence,
                failure: error.into(),
                retry,
            },
        };
        match self.report(id, event, Writes::default()).await {
            Ok(()) => Ok(()),
            Err(ReportError::Refused(_)) => Err(FinalError::Final),
            Err(ReportError::Store(error)) => {
                tracing::error!(%error, "a task's end could not be stored; it will be run again");
                Ok(())
            }
        }
    }

    pub(super) async fn report(
        &self,
        id: TaskId,
        event: Event,
        writes: Writes,
    ) -> Result<(), ReportError> {
        match &self.options.tasks {
            Some(tasks) => tasks.report(id, event, writes).await,
            None => Err(ReportError::Refused(Refusal::Final)),
        }
    }
}

impl State {
    fn new(phase: Phase, fence: Fence) -> Self {
        Self {
            phase,
            fence,
            told: false,
            asked: 0,
            tool_error: false,
            asked_status: 0,
            detached_after: None,
            reply: None,
            progress: ProgressGate::default(),
            kept_message: None,
            inputs: Inputs::default(),
            deadline: None,
        }
    }
}

/// What a journal of a run starts with.
pub(super) fn journal_options(
    setup: &Setup,
    attempt: u32,
    started: Micros,
    origin: &Origin,
) -> JournalOptions {
    JournalOptions {
        seed: setup.seed,
        attempt,
        started,
        time: origin.time(),
        limit: setup.limits.journal_bytes,
        kill_after: origin.kill_after(),
    }
}

/// The journal of a task's next run.
///
/// # Errors
/// A stored row that cannot be read.
pub(super) fn journal_of(claim: &mut Claim, job: &Job, origin: &Origin) -> Result<Journal, Fault> {
    let task = &claim.task;
    let started = match task.attempt {
        1 => job.setup.started,
        _ => u64::try_from(task.attempt_started_at).unwrap_or(0) * 1_000,
    };
    let options = journal_options(&job.setup, task.attempt, started, origin);
    let records = std::mem::take(&mut claim.records).into_iter().collect();
    Journal::replay(options, &claim.rows, records)
}

/// What a call that begins now keeps for good.
#[must_use]
pub fn begin(limits: RunLimits, origin: &Origin) -> (Setup, Journal) {
    let setup = Setup {
        seed: origin.seed(),
        started: origin.time().start(),
        limits,
        detached_after: None,
    };
    let options = journal_options(&setup, FIRST_RUN.attempt, setup.started, origin);
    (setup, Journal::new(options))
}
