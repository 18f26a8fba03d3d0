//! `start-task`: how a call becomes a task, by its handler's wish or by the server's.
//!
//! Invariant: the client is told the task's id after the task, its job and its journal so far are
//! stored, in one step; the guest is told the same in every later run.

use super::session::{FIRST_RUN, Phase, Reply, Session};
use crate::catalog::TaskSupport;
use crate::journal::{Digest, Entry, StartAnswer};
use crate::limits::{ATTEMPTS, STATUS_MESSAGE_BYTES};
use crate::metrics::Limit;
use crate::protocol::ClientFeatures;
use crate::runtime::Halt;
use crate::runtime::wit::task::{StartError, StartOptions, Started, Ttl};
use crate::store::{Full, StoreError};
use crate::task::{Job, NewTask, Setup, Status, Task, Tasks, Wait, Writes, now};
use std::sync::Arc;

impl Session {
    pub(super) async fn start(
        &self,
        options: StartOptions,
    ) -> Result<Result<Started, StartError>, Halt> {
        if self.is_over() {
            return Ok(Err(StartError::Final));
        }
        if self.options.target.task_support() == TaskSupport::None {
            return Ok(Err(StartError::NotAllowed));
        }
        let request = Digest::of(format!("{options:?}").as_bytes());
        let options = match Checked::new(options) {
            Ok(options) => options,
            Err(reason) => return Ok(Err(StartError::InvalidOption(reason))),
        };
        let take = |entry: &Entry| match entry {
            Entry::Start {
                request: asked,
                answer,
            } if *asked == request => Some(answer.clone()),
            _ => None,
        };
        let replayed = self.journal.lock().next(|| "start-task".to_owned(), take)?;
        let answer = match replayed {
            Some(answer) => answer,
            None => self.start_live(options, request).await?,
        };
        if matches!(answer, StartAnswer::Task | StartAnswer::AlreadyStarted) {
            self.state.lock().told = true;
        }
        Ok(match answer {
            StartAnswer::Task => Ok(Started::Task),
            StartAnswer::Inline => Ok(Started::Inline),
            StartAnswer::AlreadyStarted => Err(StartError::AlreadyStarted),
            StartAnswer::LimitReached => Err(StartError::LimitReached),
            StartAnswer::StoreFailed(reason) => Err(StartError::StoreFailed(reason)),
        })
    }

    async fn start_live(&self, options: Checked, request: Digest) -> Result<StartAnswer, Halt> {
        let entry = |answer: StartAnswer| Entry::Start { request, answer };
        let answer = match (self.as_task(), self.offers_tasks()) {
            (Some(_), _) => {
                // A later attempt is a task from its beginning, but its handler does not know.
                let state = self.state.lock();
                if state.told || state.detached_after.is_some() {
                    StartAnswer::AlreadyStarted
                } else {
                    StartAnswer::Task
                }
            }
            (None, None) => StartAnswer::Inline,
            (None, Some(tasks)) => {
                self.journal.lock().push(entry(StartAnswer::Task))?;
                let created = self.create(tasks, options, None).await;
                let Err(error) = created else {
                    return Ok(StartAnswer::Task);
                };
                self.journal.lock().pop();
                match error {
                    StoreError::LimitReached(full) => {
                        self.tell_full(full);
                        StartAnswer::LimitReached
                    }
                    error => StartAnswer::StoreFailed(error.to_string()),
                }
            }
        };
        self.journal.lock().push(entry(answer.clone()))?;
        Ok(answer)
    }

    /// The guest is told of no key of the configuration; the operator is.
    fn tell_full(&self, full: Full) {
        let tenant = &self.options.tenant;
        let limit = match full {
            Full::Unfinished => tenant.key("max-tasks"),
            Full::Stored => tenant.key("max-stored-tasks"),
            Full::Store => "tasks.max".to_owned(),
        };
        self.options.metrics.refuse(Limit::Tasks);
        let tool = &**self.options.target.label();
        tracing::warn!(tool, "a call could not become a task (limit {limit})");
    }

    fn offers_tasks(&self) -> Option<&Arc<Tasks>> {
        let tasks = self.options.tasks.as_ref()?;
        self.options
            .client
            .contains(ClientFeatures::TASKS)
            .then_some(tasks)
    }

    /// Makes a task of a call whose tool did not ask for it in time, if its client knows tasks.
    pub(super) async fn detach(&self) {
        let Some(tasks) = self.offers_tasks() else {
            return;
        };
        let asked = {
            let state = self.state.lock();
            if state.phase != Phase::Inline {
                return;
            }
            state.asked_status
        };
        let options = Checked {
            ttl: Ttl::Default,
            poll_ms: None,
            message: None,
            max_attempts: None,
        };
        if let Err(error) = self.create(tasks, options, Some(asked)).await {
            // The call goes on inline; its client still waits.
            tracing::warn!(tool = &**self.options.target.label(), %error, "could not detach a call");
        }
    }

    /// Stores the call as a task, and answers the client.
    async fn create(
        &self,
        tasks: &Arc<Tasks>,
        options: Checked,
        detached_after: Option<u64>,
    ) -> Result<(), StoreError> {
        let task = self.new_task(options);
        let job = Job {
            arguments: self.options.arguments.clone(),
            setup: Setup {
                detached_after,
                ..self.options.setup
            },
        };
        let writes = {
            let journal = self.journal.lock();
            let records = journal.records().iter();
            Writes {
                segment: journal.unstored(),
                records: records
                    .map(|(key, value)| (key.clone(), value.clone()))
                    .collect(),
            }
        };
        self.state.lock().phase = Phase::Starting;
        let new = NewTask {
            task: task.clone(),
            job,
            writes,
            node: None,
            most: self.options.tenant.limits.max_tasks,
            most_stored: self.options.tenant.limits.max_stored_tasks,
        };
        // Whichever node goes on with the task finds the component.
        let created = match self.options.target.component().share_until(now()).await {
            Ok(()) => tasks.create(new, self.signals.clone(), FIRST_RUN).await,
            Err(error) => Err(error),
        };
        let id = match created {
            Ok(id) => id,
            Err(error) => {
                self.state.lock().phase = Phase::Inline;
                return Err(error);
            }
        };
        self.journal.lock().stored();
        self.became(id, &task);
        let reply = {
            let mut state = self.state.lock();
            state.detached_after = detached_after;
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
        Ok(())
    }

    fn new_task(&self, options: Checked) -> Task {
        let now = now();
        let target = &self.options.target;
        let component = target.component();
        let defaults = &component.tasks;
        Task {
            owner: self.options.owner.clone(),
            tool: target.own_name().to_owned(),
            served_as: target.name().to_owned(),
            source: component.source.to_string(),
            digest: component.digest.clone(),
            features: self.options.features,
            status: Status::Working,
            message: options.message,
            created_at: now,
            updated_at: now,
            ttl_ms: match options.ttl {
                Ttl::Default => Some(defaults.ttl_ms),
                Ttl::Unlimited => None,
                Ttl::Millis(millis) => Some(millis),
            },
            poll_interval_ms: options.poll_ms.unwrap_or(defaults.poll_interval_ms),
            attempt: FIRST_RUN.attempt,
            max_attempts: options.max_attempts.unwrap_or(defaults.max_attempts),
            attempt_started_at: self.born(),
            wall_ms: self.options.setup.limits.task_wall_ms,
            lease: FIRST_RUN.lease,
            idle_runs: 0,
            wait: Wait::Nothing,
            inputs: self.state.lock().inputs.clone(),
            trace: self.options.trace.clone(),
            outcome: None,
        }
    }
}

/// Start options that are in range.
struct Checked {
    ttl: Ttl,
    poll_ms: Option<u64>,
    message: Option<String>,
    max_attempts: Option<u32>,
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
            max_attempts: options.max_attempts,
        })
    }
}
