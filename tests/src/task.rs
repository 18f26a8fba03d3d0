//! A task as its client sees it.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;

use crate::{Answer, Client, patient};

/// The states that never change.
pub const FINAL: [&str; 3] = ["completed", "failed", "cancelled"];

/// How often the tests poll. Much more often than a client should, so that tests are quick.
const POLL: Duration = Duration::from_millis(10);

/// A task that a call has become. Every look at it is checked against the looks before.
#[derive(Clone)]
pub struct Task {
    client: Client,
    created: Value,
    seen: Arc<Mutex<Value>>,
}

impl Task {
    /// The task of this answer to a call.
    ///
    /// # Panics
    /// If the answer is no task.
    pub fn created(client: Client, result: &Value) -> Self {
        assert_eq!(
            result["resultType"], "task",
            "the call should have become a task, but: {result}"
        );
        let seen = Arc::new(Mutex::new(result.clone()));
        Self {
            client,
            created: result.clone(),
            seen,
        }
    }

    /// Its id.
    pub fn id(&self) -> &str {
        self.created["taskId"]
            .as_str()
            .expect("checked by the schema")
    }

    /// What the call was answered with.
    pub fn creation(&self) -> &Value {
        &self.created
    }

    /// The same task, asked about by another client.
    #[must_use]
    pub fn through(&self, client: &Client) -> Self {
        Self {
            client: client.clone(),
            ..self.clone()
        }
    }

    /// `tasks/get`, which must find it.
    ///
    /// # Panics
    /// If it does not, or if the task changed what may not change.
    pub async fn get(&self) -> Value {
        let answer = self.client.task_get(self.id()).await;
        let now = answer.result().clone();
        let mut seen = self.seen.lock().expect("no test panics with the lock");
        for fixed in ["taskId", "createdAt"] {
            assert_eq!(now[fixed], seen[fixed], "{fixed} never changes");
        }
        assert!(
            now["lastUpdatedAt"].as_str() >= seen["lastUpdatedAt"].as_str(),
            "{seen}\nthen\n{now}"
        );
        if FINAL.contains(&seen["status"].as_str().unwrap_or_default()) {
            assert_eq!(bare(&now), bare(&seen), "a final state never changes");
        }
        *seen = now.clone();
        now
    }

    /// Its status now.
    ///
    /// # Panics
    /// As [`Task::get`].
    pub async fn status(&self) -> String {
        self.get().await["status"]
            .as_str()
            .expect("checked by the schema")
            .to_owned()
    }

    /// Polls until the task has this status.
    ///
    /// # Panics
    /// If it does not come to it, or ends otherwise.
    pub async fn until(&self, status: &str) -> Value {
        let what = format!("a task to be {status}");
        self.when(&what, |now| {
            let end = FINAL.contains(&now["status"].as_str().unwrap_or_default());
            assert!(
                now["status"] == status || !end,
                "wanted {status}, but: {now}"
            );
            now["status"] == status
        })
        .await
    }

    /// Polls until the task is final.
    ///
    /// # Panics
    /// If it does not end.
    pub async fn end(&self) -> Value {
        self.when("a task to end", |now| {
            FINAL.contains(&now["status"].as_str().unwrap_or_default())
        })
        .await
    }

    /// Polls until `wanted` holds.
    ///
    /// # Panics
    /// If it never does.
    pub async fn when(&self, what: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        patient(what, async {
            loop {
                let now = self.get().await;
                if wanted(&now) {
                    return now;
                }
                tokio::time::sleep(POLL).await;
            }
        })
        .await
    }

    /// `tasks/update`, whatever comes.
    pub async fn answer(&self, responses: Value) -> Answer {
        self.client.task_update(self.id(), responses).await
    }

    /// `tasks/update`, which must be acknowledged.
    ///
    /// # Panics
    /// If it is refused.
    pub async fn update(&self, responses: Value) {
        self.answer(responses).await.result();
    }

    /// `tasks/cancel`, which must be acknowledged.
    ///
    /// # Panics
    /// If it is refused.
    pub async fn cancel(&self) {
        self.client.task_cancel(self.id()).await.result();
    }
}

/// The task inside a result or a notification: what `tasks/get` and `notifications/tasks` have in
/// common.
pub fn bare(state: &Value) -> Value {
    let mut task = state.clone();
    if let Some(members) = task.as_object_mut() {
        members.shift_remove("_meta");
        members.shift_remove("resultType");
    }
    task
}
