//! The state of one call, and what the guest's verbs do to it.
//!
//! Invariants: a call has one outcome, the first one; a call becomes a task at most once, and its
//! client is answered only after the task is stored; once the call is final, verbs change nothing.

use super::events::Events;
use super::progress::{ProgressGate, Told, message};
use crate::catalog::{TaskSupport, Tool};
use crate::limits::{ATTEMPTS, RECORDS_BYTES, STATUS_MESSAGE_BYTES};
use crate::protocol::{Answer, ClientFeatures, InputRequest, Level, RpcError, notification, raw};
use crate::runtime::wit::task::{
    CallStatus, FinalError, InputError, RecordError, StartError, StartOptions, Started, Ttl,
};
use crate::runtime::{Returned, RunError, Verbs, features_to_wit};
use crate::store::StoreError;
use crate::task::{
    Event, Job, Millis, Principal, Refusal, ReportError, Status, Task, TaskId, Tasks, now,
};
use async_trait::async_trait;
use parking_lot::Mutex;
use serde_json::Value;
use serde_json::value::RawValue;
use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::Instant;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

/// The number of a task's first run. Runs are not repeated, so it is the only one.
const FIRST_ATTEMPT: u32 = 1;

/// What the request is answered with.
#[derive(Debug)]
pub enum Reply {
    /// The call is a task now.
    Task(TaskId, Box<Task>),
    /// The call is over.
    Outcome(Result<Box<RawValue>, RpcError>),
}

/// What a call starts with.
pub struct SessionOptions {
    /// The tool.
    pub tool: Arc<Tool>,
    /// The tasks of the server, if it offers any.
    pub tasks: Option<Arc<Tasks>>,
    /// Who calls.
    pub owner: Principal,
    /// What the client declared.
    pub features: ClientFeatures,
    /// A JSON object that fits the tool's input schema.
    pub arguments: Box<RawValue>,
    /// The request's stream.
    pub events: Arc<Events>,
    /// Token for progress notifications.
    pub progress_token: Option<Box<RawValue>>,
    /// Least severe log messages the client wants.
    pub log_level: Option<Level>,
}

/// One call.
pub struct Session {
    pub(super) options: SessionOptions,
    pub(super) cancel: CancellationToken,
    state: Mutex<State>,
    this: Weak<Self>,
}

struct State {
    phase: Phase,
    reply: Option<oneshot::Sender<Reply>>,
    progress: ProgressGate,
    kept_message: Option<String>,
    /// When the task's ttl is over.
    deadline: Option<Millis>,
    records: HashMap<String, Vec<u8>>,
}

#[derive(Clone, Copy)]
enum Phase {
    Inline,
    Task(TaskId),
    /// An inline call that ended with this status.
    Over(CallStatus),
}

impl Session {
    /// A call, and where its reply will appear.
    #[must_use]
    pub fn new(options: SessionOptions) -> (Arc<Self>, oneshot::Receiver<Reply>) {
        let (reply, receiver) = oneshot::channel();
        let session = Arc::new_cyclic(|this| Self {
            options,
            cancel: CancellationToken::new(),
            state: Mutex::new(State {
                phase: Phase::Inline,
                reply: Some(reply),
                progress: ProgressGate::default(),
                kept_message: None,
                deadline: None,
                records: HashMap::new(),
            }),
            this: Weak::clone(this),
        });
        (session, receiver)
    }

    /// The task this call became.
    pub(super) fn task(&self) -> Option<TaskId> {
        match self.state.lock().phase {
            Phase::Task(id) => Some(id),
            _ => None,
        }
    }

    /// When the task's ttl is over; none without a task or a ttl.
    pub(super) fn deadline(&self) -> Option<Millis> {
        self.state.lock().deadline
    }

    /// The service that keeps this call's task. There is one if there is a task.
    pub(super) fn tasks(&self) -> Option<&Arc<Tasks>> {
        self.options.tasks.as_ref()
    }

    /// The handler returned, or its run ended.
    pub(super) async fn end(&self, result: Result<Returned, RunError>) {
        let outcome = match result {
            Ok(Returned::Answer(answer)) => self.options.tool.seal(answer),
            Ok(Returned::Error(error)) => Err(error),
            Err(error) => {
                tracing::warn!(tool = &*self.options.tool.name, "{error}");
                Err(error.into())
            }
        };
        // A handler that ended its call before may return what it likes.
        let _ = self.finish(outcome).await;
    }

    async fn finish(&self, outcome: Result<Box<RawValue>, RpcError>) -> Result<(), FinalError> {
        let id = {
            let mut state = self.state.lock();
            match state.phase {
                Phase::Over(_) => return Err(FinalError::Final),
                Phase::Task(id) => id,
                Phase::Inline => {
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
        let attempt = FIRST_ATTEMPT;
        let event = match outcome {
            Ok(result) => Event::Complete { attempt, result },
            Err(error) => Event::Fail {
                attempt,
                error: raw(&error),
                message: error.message.into_owned(),
            },
        };
        match self.report(id, event).await {
            Ok(()) => Ok(()),
            Err(ReportError::Refused(_)) => Err(FinalError::Final),
            Err(ReportError::Store(error)) => {
                tracing::error!(%error, "a task's end could not be stored; its ttl will end it");
                Ok(())
            }
        }
    }

    /// Ends a call whose handler runs on: it has the grace of a cancelled one to clean up.
    async fn finish_early(
        &self,
        outcome: Result<Box<RawValue>, RpcError>,
    ) -> Result<(), FinalError> {
        let finished = self.finish(outcome).await;
        self.cancel.cancel();
        finished
    }

    async fn report(&self, id: TaskId, event: Event) -> Result<(), ReportError> {
        match self.tasks() {
            Some(tasks) => tasks.report(id, event).await,
            None => Err(ReportError::Refused(Refusal::Final)),
        }
    }

    /// Makes a task of a call whose tool did not ask for it in time, if its client knows tasks.
    pub(super) async fn detach(&self) {
        if !self.options.features.contains(ClientFeatures::TASKS) {
            return;
        }
        let options = StartOptions {
            ttl: Ttl::Default,
            poll_interval_ms: None,
            status_message: None,
            max_attempts: None,
        };
        if let Err(error) = self.start(options).await {
            // The call goes on inline; its client still waits.
            tracing::warn!(
                tool = &*self.options.tool.name,
                ?error,
                "could not detach a call"
            );
        }
    }

    async fn start(&self, options: StartOptions) -> Result<Started, StartError> {
        if self.is_over() {
            return Err(StartError::Final);
        }
        if self.task().is_some() {
            return Err(StartError::AlreadyStarted);
        }
        if self.options.tool.task_support == TaskSupport::None {
            return Err(StartError::NotAllowed);
        }
        let options = Checked::new(options).map_err(StartError::InvalidOption)?;
        let Some(tasks) = self
            .tasks()
            .filter(|_| self.options.features.contains(ClientFeatures::TASKS))
        else {
            return Ok(Started::Inline);
        };

        let now = now();
        let task = Task {
            owner: self.options.owner.clone(),
            tool: self.options.tool.name.to_string(),
            digest: self.options.tool.component.digest.clone(),
            features: self.options.features,
            status: Status::Working,
            message: options.message,
            created_at: now,
            updated_at: now,
            ttl_ms: match options.ttl {
                Ttl::Default => Some(tasks.limits().ttl_ms),
                Ttl::Unlimited => None,
                Ttl::Millis(millis) => Some(millis),
            },
            poll_interval_ms: options.poll_ms.unwrap_or(tasks.limits().poll_interval_ms),
            attempt: FIRST_ATTEMPT,
            inputs: Default::default(),
            outcome: None,
        };
        let job = Job {
            arguments: self.options.arguments.clone(),
        };
        let id = tasks
            .create(task.clone(), job, self.cancel.clone())
            .await
            .map_err(|error| match error {
                StoreError::LimitReached => StartError::LimitReached,
                error => StartError::StoreFailed(error.to_string()),
            })?;
        let reply = {
            let mut state = self.state.lock();
            state.phase = Phase::Task(id);
            state.deadline = task.deadline();
            state.reply.take()
        };
        let answered =
            reply.is_some_and(|reply| reply.send(Reply::Task(id, Box::new(task))).is_ok());
        if !answered {
            // The client closed its stream and will never learn the id.
            if let Err(error) = tasks.cancel(&self.options.owner, id).await {
                tracing::warn!(%error, "could not cancel a task that nobody knows");
            }
        }
        Ok(Started::Task)
    }

    /// Stores the status message that was held back.
    async fn flush_progress(&self, id: TaskId) {
        let kept = {
            let mut state = self.state.lock();
            state.progress.flushed(Instant::now());
            state.kept_message.take()
        };
        if let Some(message) = kept {
            // A task that is final by now keeps the message it ended with.
            let _ = self.report_progress(id, message).await;
        }
    }

    async fn report_progress(&self, id: TaskId, message: String) -> Result<(), FinalError> {
        let event = Event::Progress {
            attempt: FIRST_ATTEMPT,
            message,
        };
        match self.report(id, event).await {
            Ok(()) => Ok(()),
            Err(ReportError::Refused(_)) => Err(FinalError::Final),
            Err(ReportError::Store(error)) => {
                tracing::warn!(%error, "progress was not stored");
                Ok(())
            }
        }
    }

    fn is_over(&self) -> bool {
        self.cancel.is_cancelled() || matches!(self.state.lock().phase, Phase::Over(_))
    }

    async fn answers(
        &self,
        id: TaskId,
        keys: &[String],
    ) -> Result<Vec<(String, Value)>, InputError> {
        let Some(tasks) = self.tasks() else {
            return Err(InputError::Unavailable);
        };
        loop {
            let task = tasks
                .peek(id)
                .await
                .map_err(|error| InputError::StoreFailed(error.to_string()))?;
            let Some(mut task) = task.filter(|task| !task.status.is_final()) else {
                return Err(InputError::Final);
            };
            if task.inputs.open.is_empty() {
                let take =
                    |key: &String| Some((key.clone(), task.inputs.answered.shift_remove(key)?));
                return Ok(keys.iter().filter_map(take).collect());
            }
            tokio::select! {
                () = self.cancel.cancelled() => return Err(InputError::Final),
                () = tasks.answered(id) => {}
            }
        }
    }
}

#[async_trait]
impl Verbs for Session {
    async fn start_task(&self, options: StartOptions) -> Result<Started, StartError> {
        self.start(options).await
    }

    async fn progress(
        &self,
        progress: f64,
        total: Option<f64>,
        text: Option<String>,
    ) -> Result<(), FinalError> {
        if self.is_over() {
            return Err(FinalError::Final);
        }
        let Some(id) = self.task() else {
            let Some(token) = &self.options.progress_token else {
                return Ok(());
            };
            if self.state.lock().progress.inline(progress, Instant::now()) == Told::Now {
                let mut params =
                    serde_json::json!({ "progressToken": token, "progress": progress });
                let total = total.filter(|total| total.is_finite());
                if let Some(total) = total {
                    params["total"] = total.into();
                }
                if let Some(text) = text {
                    params["message"] = text.into();
                }
                self.options
                    .events
                    .offer(notification("notifications/progress", params));
            }
            return Ok(());
        };
        let text = message(progress, total, text);
        let told = {
            let mut state = self.state.lock();
            let told = state.progress.task(progress, Instant::now());
            if matches!(told, Told::At(_) | Told::Later) {
                state.kept_message = Some(text.clone());
            }
            told
        };
        match told {
            Told::Now => return self.report_progress(id, text).await,
            Told::Never | Told::Later => {}
            Told::At(time) => {
                if let Some(session) = self.this.upgrade() {
                    tokio::spawn(async move {
                        tokio::time::sleep_until(time.into()).await;
                        session.flush_progress(id).await;
                    });
                }
            }
        }
        Ok(())
    }

    async fn status(&self) -> CallStatus {
        let phase = self.state.lock().phase;
        let (tasks, id) = match (phase, self.tasks()) {
            (Phase::Task(id), Some(tasks)) => (tasks, id),
            (Phase::Over(status), _) => return status,
            _ if self.cancel.is_cancelled() => return CallStatus::Cancelled,
            _ => return CallStatus::Inline,
        };
        match tasks.peek(id).await {
            Ok(Some(task)) => match task.status {
                Status::Working => CallStatus::Working,
                Status::InputRequired => CallStatus::InputRequired,
                Status::Completed => CallStatus::Completed,
                Status::Failed => CallStatus::Failed,
                Status::Cancelled => CallStatus::Cancelled,
            },
            Ok(None) => CallStatus::Failed,
            Err(_) => CallStatus::Working,
        }
    }

    fn cancelled(&self) -> bool {
        self.cancel.is_cancelled()
    }

    async fn complete(&self, answer: Answer) -> Result<(), FinalError> {
        if self.is_over() {
            return Err(FinalError::Final);
        }
        self.finish_early(self.options.tool.seal(answer)).await
    }

    async fn fail(&self, error: RpcError) -> Result<(), FinalError> {
        if self.is_over() {
            return Err(FinalError::Final);
        }
        self.finish_early(Err(error)).await
    }

    async fn cancellation(&self) {
        self.cancel.cancelled().await;
    }

    async fn require_input(
        &self,
        requests: Vec<(String, InputRequest)>,
    ) -> Result<Vec<(String, Value)>, InputError> {
        if self.is_over() {
            return Err(InputError::Final);
        }
        let needed: ClientFeatures = requests
            .iter()
            .map(|(_, request)| request.features())
            .collect();
        let missing = needed - self.options.features;
        if !missing.is_empty() {
            return Err(InputError::MissingFeatures(features_to_wit(missing)));
        }
        let Some(id) = self.task() else {
            return Err(InputError::Unavailable);
        };
        let keys: Vec<String> = requests.iter().map(|(key, _)| key.clone()).collect();
        let requests = requests
            .into_iter()
            .map(|(key, request)| match request.to_wire() {
                Ok(wire) => Ok((key, wire)),
                Err(reason) => Err(InputError::Invalid(format!("request {key:?}: {reason}"))),
            })
            .collect::<Result<_, _>>()?;
        let ask = Event::AskInput {
            attempt: FIRST_ATTEMPT,
            requests,
        };
        self.report(id, ask).await.map_err(|error| match error {
            ReportError::Refused(Refusal::DuplicateKeys(keys)) => InputError::DuplicateKeys(keys),
            ReportError::Refused(Refusal::InputLimit(limit)) => InputError::Invalid(limit),
            ReportError::Refused(Refusal::Final | Refusal::Stale) => InputError::Final,
            ReportError::Store(error) => InputError::StoreFailed(error.to_string()),
        })?;
        self.answers(id, &keys).await
    }

    async fn record(&self, key: String, value: Vec<u8>) -> Result<(), RecordError> {
        if self.is_over() {
            return Err(RecordError::Final);
        }
        let mut state = self.state.lock();
        let others = state.records.iter().filter(|(other, _)| **other != key);
        let sum: usize = others.map(|(key, value)| key.len() + value.len()).sum();
        if sum + key.len() + value.len() > RECORDS_BYTES {
            return Err(RecordError::TooLarge(format!(
                "the recorded values of a call may have {RECORDS_BYTES} bytes together"
            )));
        }
        state.records.insert(key, value);
        Ok(())
    }

    async fn recall(&self, key: String) -> Option<Vec<u8>> {
        self.state.lock().records.get(&key).cloned()
    }

    fn log(&self, level: Level, text: &str, fields: Option<&str>) {
        let wanted = self.options.log_level.is_some_and(|least| level >= least);
        if !wanted || self.task().is_some() {
            return;
        }
        let fields = fields.and_then(|fields| serde_json::from_str::<Value>(fields).ok());
        let data = match fields {
            Some(fields) => serde_json::json!({ "message": text, "fields": fields }),
            None => Value::String(text.to_owned()),
        };
        let params = serde_json::json!({
            "level": level, "logger": &*self.options.tool.name, "data": data,
        });
        self.options
            .events
            .offer(notification("notifications/message", params));
    }
}

/// Start options that are in range.
struct Checked {
    ttl: Ttl,
    poll_ms: Option<u64>,
    message: Option<String>,
}

impl Checked {
    fn new(options: StartOptions) -> Result<Self, String> {
        if matches!(options.ttl, Ttl::Millis(0)) {
            return Err("ttl: must be at least 1 ms".to_owned());
        }
        // What a client must be able to read as an exact number.
        const LARGEST: u64 = (1 << 53) - 1;
        if matches!(options.ttl, Ttl::Millis(millis) if millis > LARGEST) {
            return Err(format!("ttl: must be at most {LARGEST} ms"));
        }
        if options
            .poll_interval_ms
            .is_some_and(|millis| !(1..=LARGEST).contains(&millis))
        {
            return Err(format!("poll-interval-ms: must be 1 to {LARGEST}"));
        }
        if options
            .status_message
            .as_ref()
            .is_some_and(|text| text.len() > STATUS_MESSAGE_BYTES)
        {
            return Err(format!(
                "status-message: must have at most {STATUS_MESSAGE_BYTES} bytes"
            ));
        }
        if options
            .max_attempts
            .is_some_and(|most| !(1..=ATTEMPTS).contains(&most))
        {
            return Err(format!("max-attempts: must be 1 to {ATTEMPTS}"));
        }
        Ok(Self {
            ttl: options.ttl,
            poll_ms: options.poll_interval_ms,
            message: options.status_message,
        })
    }
}
