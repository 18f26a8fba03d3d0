//! Tasks as the server stores them, without a server: what a call of the tool `finish` writes when it
//! becomes a task, and when that ends, in the host's own types.
//!
//! Invariant: an id is the digest of a number, so that a load finds every task without a list of them.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, ensure};
use cofferdam::call;
use cofferdam::journal::{Digest, Entry, Origin, StartAnswer};
use cofferdam::limits::{RunLimits, SandboxLimits, TaskLimits};
use cofferdam::protocol::ClientFeatures;
use cofferdam::store::{Applied, Store, StoreOptions};
use cofferdam::task::{
    Event, Fence, Job, Millis, NewTask, Principal, Status, Task, TaskId, Wait, Writes, apply,
};
use serde_json::json;
use serde_json::value::to_raw_value;
use sha2::{Digest as _, Sha256};

/// The run that makes a task.
const FIRST: Fence = Fence {
    attempt: 1,
    lease: 0,
};

/// The id of a task by its number.
pub(crate) fn id(number: u64) -> TaskId {
    TaskId::from_bytes(Sha256::digest(number.to_le_bytes()).into())
}

/// What a client sees of a task that [`Template::store`] stored.
pub(crate) fn seen(number: u64) -> &'static str {
    match is_parked(number) {
        true => r#""status":"input_required""#,
        false => r#""status":"completed""#,
    }
}

/// Every other one waits for its client.
fn is_parked(number: u64) -> bool {
    number % 2 == 1
}

/// Opens the store that a server with this data folder has, with room for all tasks that are measured.
pub(crate) async fn open(name: &str, data: &Path) -> Result<Arc<dyn Store>> {
    let options = StoreOptions {
        max_tasks: 10_000_000,
        ..StoreOptions::default()
    };
    Ok(cofferdam::store::open(name, data, options).await?)
}

/// What tasks have in common.
pub(crate) struct Template {
    /// Of the component.
    digest: String,
    limits: RunLimits,
    text: String,
}

impl Template {
    /// Tasks of this component, which is `probe`.
    pub(crate) fn of(component: &Path) -> Result<Self> {
        let bytes = fs::read(component).with_context(|| component.display().to_string())?;
        let digest = Sha256::digest(bytes);
        Ok(Self {
            digest: digest.iter().map(|byte| format!("{byte:02x}")).collect(),
            limits: RunLimits::new(&SandboxLimits::default(), &TaskLimits::default()),
            text: "The quick brown fox jumps over the lazy dog. ".repeat(4),
        })
    }

    /// A call that becomes a task.
    pub(crate) fn begin(&self, number: u64) -> Result<NewTask> {
        let (setup, mut journal) = call::begin(self.limits, &Origin::Live);
        journal.push(Entry::Start {
            request: Digest::of(b"start"),
            answer: StartAnswer::Task,
        })?;
        let now = now()?;
        let task = Task {
            owner: Principal::anonymous(),
            tool: "finish".to_owned(),
            served_as: "finish".to_owned(),
            source: "probe".to_owned(),
            digest: self.digest.clone(),
            features: ClientFeatures::TASKS,
            status: Status::Working,
            message: None,
            created_at: now,
            updated_at: now,
            // It stays for as long as anything is measured.
            ttl_ms: None,
            poll_interval_ms: 1_000,
            attempt: FIRST.attempt,
            max_attempts: 1,
            attempt_started_at: now,
            wall_ms: self.limits.task_wall_ms,
            lease: FIRST.lease,
            idle_runs: 0,
            wait: Wait::Nothing,
            inputs: Default::default(),
            trace: None,
            outcome: None,
        };
        let arguments = json!({ "text": format!("{}#{number}.", self.text) });
        Ok(NewTask {
            task,
            job: Job {
                arguments: to_raw_value(&arguments)?,
                setup,
            },
            writes: Writes {
                segment: journal.unstored(),
                records: Vec::new(),
            },
            node: None,
            most: usize::MAX,
            most_stored: usize::MAX,
        })
    }

    /// Its end.
    pub(crate) fn end(&self, number: u64) -> Result<Event> {
        let text = format!("{}#{number}.", self.text);
        let result = json!({ "content": [{ "type": "text", "text": text }] });
        Ok(Event::Complete {
            fence: FIRST,
            result: to_raw_value(&result)?,
        })
    }

    /// Brings a task from its beginning to its end, and each is durable before the next.
    pub(crate) async fn finish(&self, store: &dyn Store, number: u64) -> Result<()> {
        store.create(id(number), self.begin(number)?).await?;
        let event = self.end(number)?;
        let applied = store.apply(id(number), event, Writes::default(), now()?);
        let applied = applied.await?;
        ensure!(
            applied == Applied::Changed,
            "task {number} did not end: {applied:?}"
        );
        Ok(())
    }

    /// Stores a task for long: one that has ended, or one that waits for its client.
    pub(crate) async fn store(&self, store: &dyn Store, number: u64) -> Result<()> {
        if !is_parked(number) {
            return self.finish(store, number).await;
        }
        let mut new = self.begin(number)?;
        let now = new.task.created_at;
        apply(&mut new.task, ask(), now)?;
        store.create(id(number), new).await?;
        Ok(())
    }
}

/// A question to the client, as the tool `ask` of the same component asks it.
fn ask() -> Event {
    let schema = json!({ "type": "object", "properties": { "value": { "type": "string" } }, "required": ["value"] });
    let request = json!({
        "method": "elicitation/create",
        "params": { "mode": "form", "message": "What is it?", "requestedSchema": schema },
    });
    Event::AskInput {
        fence: FIRST,
        requests: vec![("value".to_owned(), request)],
    }
}

fn now() -> Result<Millis> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH)?;
    Ok(now.as_millis().try_into()?)
}

#[cfg(test)]
mod tests {
    use super::{Template, id, open, seen};
    use serde_json::json;

    #[tokio::test]
    async fn what_is_stored_is_what_a_client_sees() {
        let folder = tempfile::tempdir().expect("a folder");
        let component = folder.path().join("probe.wasm");
        std::fs::write(&component, b"any").expect("a file");
        let template = Template::of(&component).expect("a template");
        let store = open("sqlite", folder.path()).await.expect("a store");
        for number in [0, 1] {
            let stored = template.store(&*store, number).await;
            stored.expect("a stored task");
            let task = store.get(id(number)).await.expect("an answer");
            let status = task.expect("the task").status.name();
            assert_eq!(format!(r#""status":{}"#, json!(status)), seen(number));
        }
    }
}
