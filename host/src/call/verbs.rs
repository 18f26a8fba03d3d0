//! What the guest's verbs do to its call.

use super::progress::{Progress, Told, message};
use super::session::{Phase, Session};
use super::target::Target;
use crate::journal::{Digest, Entry, RecordRefused};
use crate::limits::RECORDS_BYTES;
use crate::protocol::{Answer, Level, RpcError, notification};
use crate::runtime::wit::task::{
    CallStatus, FinalError, InputError, RecordError, StartError, StartOptions, Started,
};
use crate::runtime::{Changed, Halt, Output, Verbs, Waiting};
use crate::task::{Event, Millis, ReportError, Status, TaskId, Writes, now};
use async_trait::async_trait;
use serde_json::Value;
use serde_json::value::RawValue;
use std::time::{Duration, Instant};

impl Session {
    /// Ends a call whose handler runs on: it has the grace of a cancelled one to clean up.
    async fn finish_early(
        &self,
        outcome: Result<Box<RawValue>, RpcError>,
    ) -> Result<Result<(), FinalError>, Halt> {
        if self.is_over() {
            return Ok(Err(FinalError::Final));
        }
        self.journal.lock().end()?;
        let finished = self.finish(outcome, false).await;
        self.signals.cancel.cancel();
        Ok(finished)
    }

    /// How a task ended.
    async fn end_status(&self) -> CallStatus {
        let Some((tasks, id)) = self.as_task() else {
            return CallStatus::Cancelled;
        };
        match tasks.peek(id).await.ok().flatten().map(|task| task.status) {
            Some(Status::Completed) => CallStatus::Completed,
            Some(Status::Cancelled) => CallStatus::Cancelled,
            _ => CallStatus::Failed,
        }
    }

    /// Stores the status message that was held back, at that time or when the tenant may tell more.
    async fn tell_at(&self, mut time: Instant, id: TaskId) {
        loop {
            tokio::time::sleep_until(time.into()).await;
            let now = Instant::now();
            let mut state = self.state.lock();
            if state.kept_message.is_none() {
                state.progress.flushed(now);
                return;
            }
            match self.options.tenant.progress(now) {
                Ok(()) => break,
                Err(next) => time = next,
            }
        }
        self.tell_kept(id).await;
    }

    /// The task goes on in another run, which tells nothing twice: the status message that was held
    /// back is stored now, whatever came before.
    pub(super) async fn tell_last(&self) {
        if let Some(id) = self.task() {
            self.tell_kept(id).await;
        }
    }

    async fn tell_kept(&self, id: TaskId) {
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
        let fence = self.state.lock().fence;
        let event = Event::Progress { fence, message };
        match self.report(id, event, Writes::default()).await {
            Ok(()) => Ok(()),
            Err(ReportError::Refused(_)) => Err(FinalError::Final),
            Err(ReportError::Store(error)) => {
                tracing::warn!(%error, "progress was not stored");
                Ok(())
            }
        }
    }

    /// Keeps when a sleep ends, so that the instance can go.
    async fn park_until(&self, id: TaskId, until: Millis) -> Result<(), ReportError> {
        let fence = self.state.lock().fence;
        let segment = self.journal.lock().unstored();
        let writes = Writes {
            segment,
            ..Writes::default()
        };
        self.report(id, Event::Sleep { fence, until }, writes)
            .await?;
        self.journal.lock().stored();
        Ok(())
    }

    async fn keep(&self, key: String, value: Vec<u8>) -> Result<Result<(), RecordError>, Halt> {
        let digest = Digest::of(&value);
        let take = |entry: &Entry| match entry {
            Entry::Record {
                key: kept, value, ..
            } if *kept == key && *value == digest => Some(Ok(())),
            Entry::RecordRefused {
                key: kept,
                value,
                reason,
            } if *kept == key && *value == digest => Some(Err(reason.clone())),
            _ => None,
        };
        let plan = {
            let mut journal = self.journal.lock();
            if let Some(kept) = journal.next(|| format!("record of {key:?}"), take)? {
                return Ok(kept.map_err(refusal));
            }
            let others = journal.records().iter().filter(|(other, _)| **other != key);
            let sum: usize = others.map(|(key, value)| key.len() + value.len()).sum();
            if sum + key.len() + value.len() > RECORDS_BYTES {
                let reason = RecordRefused::TooLarge(format!(
                    "the recorded values of a call may have {RECORDS_BYTES} bytes together"
                ));
                journal.push(Entry::RecordRefused {
                    key,
                    value: digest,
                    reason: reason.clone(),
                })?;
                return Ok(Err(refusal(reason)));
            }
            journal.plan_record(&key, &value)?
        };
        let Some(id) = self.task() else {
            self.journal.lock().record(plan, key, value, false);
            return Ok(Ok(()));
        };
        let fence = self.state.lock().fence;
        let writes = Writes {
            segment: Some(plan.segment.clone()),
            records: vec![(key.clone(), value.clone())],
        };
        match self.report(id, Event::Keep { fence }, writes).await {
            Ok(()) => {
                self.journal.lock().record(plan, key, value, true);
                Ok(Ok(()))
            }
            Err(ReportError::Refused(_)) => Ok(Err(RecordError::Final)),
            Err(ReportError::Store(error)) => {
                let reason = RecordRefused::StoreFailed(error.to_string());
                self.journal.lock().push(Entry::RecordRefused {
                    key,
                    value: digest,
                    reason: reason.clone(),
                })?;
                Ok(Err(refusal(reason)))
            }
        }
    }
}

fn refusal(reason: RecordRefused) -> RecordError {
    match reason {
        RecordRefused::TooLarge(limit) => RecordError::TooLarge(limit),
        RecordRefused::StoreFailed(reason) => RecordError::StoreFailed(reason),
    }
}

#[async_trait]
impl Verbs for Session {
    async fn start_task(&self, options: StartOptions) -> Result<Result<Started, StartError>, Halt> {
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
        if self.journal.lock().is_replaying() {
            self.state.lock().progress.replayed(progress);
            return Ok(());
        }
        let Some(id) = self.task() else {
            let Some(token) = &self.options.progress_token else {
                return Ok(());
            };
            let now = Instant::now();
            let told = self.state.lock().progress.inline(progress, now);
            if told == Told::Now && self.options.tenant.progress(now).is_ok() {
                let params = Progress::new(token, progress, total, text.as_deref());
                self.options
                    .events
                    .offer(notification("notifications/progress", params));
            }
            return Ok(());
        };
        let text = message(progress, total, text);
        let told = {
            let now = Instant::now();
            let mut state = self.state.lock();
            let mut told = state.progress.task(progress, now);
            if told == Told::Now
                && let Err(next) = self.options.tenant.progress(now)
            {
                told = state.progress.held_until(next);
            }
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
                    tokio::spawn(async move { session.tell_at(time, id).await });
                }
            }
        }
        Ok(())
    }

    async fn status(&self) -> CallStatus {
        let (phase, visible) = {
            let mut state = self.state.lock();
            state.asked_status += 1;
            let detached = state
                .detached_after
                .is_some_and(|asked| state.asked_status > asked);
            (state.phase, state.told || detached)
        };
        match phase {
            Phase::Over(status) => return status,
            Phase::Task(_) if !self.signals.cancel.is_cancelled() => {}
            Phase::Inline | Phase::Starting if self.signals.cancel.is_cancelled() => {
                return CallStatus::Cancelled;
            }
            Phase::Inline | Phase::Starting => return CallStatus::Inline,
            Phase::Task(_) => return self.end_status().await,
        }
        // A run that goes the way of an earlier one must not see that it is a task before that one
        // did.
        if visible {
            CallStatus::Working
        } else {
            CallStatus::Inline
        }
    }

    fn cancelled(&self) -> bool {
        self.signals.cancel.is_cancelled()
    }

    async fn complete(&self, answer: Answer) -> Result<Result<(), FinalError>, Halt> {
        // It is a tool's result; what else is called has another kind of result, and returns it.
        match self.options.target {
            Target::Tool(_) => self.finish_early(self.seal(Output::Tool(answer))).await,
            _ => Ok(Err(FinalError::Final)),
        }
    }

    async fn fail(&self, error: RpcError) -> Result<Result<(), FinalError>, Halt> {
        self.finish_early(Err(self.seal_error(error))).await
    }

    async fn wait(&self, waiting: Waiting) -> Result<Result<(), FinalError>, Halt> {
        if self.is_over() {
            return Ok(Err(FinalError::Final));
        }
        let request = Digest::of(format!("{waiting:?}").as_bytes());
        let take = |entry: &Entry| match entry {
            Entry::Sleep {
                request: asked,
                until,
            } if *asked == request => Some(*until),
            _ => None,
        };
        let (time, until, left) = {
            let mut journal = self.journal.lock();
            let time = journal.options().time;
            match journal.next(|| "a sleep".to_owned(), take)? {
                Some(until) => (time, until, time.until(until)),
                None => {
                    let now = journal.now();
                    let until = match waiting {
                        Waiting::For(millis) => now.saturating_add(millis.saturating_mul(1_000)),
                        Waiting::Until(time) => time,
                    };
                    journal.push(Entry::Sleep { request, until })?;
                    (
                        time,
                        until,
                        Duration::from_micros(until.saturating_sub(now)),
                    )
                }
            }
        };
        let mut left = left;
        loop {
            if left > self.options.times.park_after
                && self.may_park()
                && let Some(id) = self.task()
            {
                let left = Millis::try_from(time.until(until).as_millis()).unwrap_or(Millis::MAX);
                match self.park_until(id, now().saturating_add(left)).await {
                    Ok(()) => return Err(Halt::Parked),
                    Err(ReportError::Refused(_)) => return Ok(Err(FinalError::Final)),
                    Err(ReportError::Store(error)) => {
                        tracing::warn!(%error, "a task could not be parked; it keeps its instance");
                    }
                }
            }
            tokio::select! {
                biased;
                () = self.signals.cancel.cancelled() => return Ok(Err(FinalError::Final)),
                () = tokio::time::sleep(time.until(until)) => return Ok(Ok(())),
                // The server made the call a task in the middle of its sleep.
                () = self.became_task.notified() => left = time.until(until),
            }
        }
    }

    async fn require_input(
        &self,
        requests: Vec<(String, Value)>,
    ) -> Result<Result<Vec<(String, Value)>, InputError>, Halt> {
        self.ask(requests).await
    }

    async fn record(&self, key: String, value: Vec<u8>) -> Result<Result<(), RecordError>, Halt> {
        if self.is_over() {
            return Ok(Err(RecordError::Final));
        }
        self.keep(key, value).await
    }

    async fn flush(&self) -> Result<Result<(), FinalError>, Halt> {
        // A guest that cleans up after its call has nothing left to lose.
        let Some(id) = self.task().filter(|_| !self.is_over()) else {
            return Ok(Ok(()));
        };
        let Some(segment) = self.journal.lock().unstored() else {
            return Ok(Ok(()));
        };
        let fence = self.state.lock().fence;
        let writes = Writes {
            segment: Some(segment),
            ..Writes::default()
        };
        match self.report(id, Event::Keep { fence }, writes).await {
            Ok(()) => {
                self.journal.lock().stored();
                Ok(Ok(()))
            }
            Err(ReportError::Refused(_)) if self.is_over() => Ok(Ok(())),
            Err(ReportError::Refused(_)) => Ok(Err(FinalError::Final)),
            Err(ReportError::Store(error)) => {
                tracing::warn!(%error, "a journal was not stored");
                Ok(Err(FinalError::Final))
            }
        }
    }

    async fn recall(&self, key: String) -> Result<Option<Vec<u8>>, Halt> {
        Ok(self.journal.lock().recall(&key)?)
    }

    fn changed(&self, what: Changed<'_>) {
        // What an earlier run told is not told again.
        if self.journal.lock().is_replaying() {
            return;
        }
        let component = self.options.target.component();
        match what {
            Changed::Resource(uri) => component.resource_updated(uri),
            Changed::List(kind) => component.list_changed(kind),
        }
    }

    fn log(&self, level: Level, text: &str, fields: Option<&str>) {
        let wanted = self.options.log_level.is_some_and(|least| level >= least);
        if !wanted || self.task().is_some() || self.journal.lock().is_replaying() {
            return;
        }
        let fields = fields.and_then(|fields| serde_json::from_str::<Value>(fields).ok());
        let data = match fields {
            Some(fields) => serde_json::json!({ "message": text, "fields": fields }),
            None => Value::String(text.to_owned()),
        };
        let params = serde_json::json!({
            "level": level, "logger": &**self.options.target.label(), "data": data,
        });
        self.options
            .events
            .offer(notification("notifications/message", params));
    }
}
