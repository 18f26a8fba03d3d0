//! Webhooks: changes of tasks as signed requests to URLs of the operator's (Standard Webhooks, 1.0).
//!
//! Invariants: a delivery holds no argument, answer or result of a task; it is signed, and sent again
//! until it was taken or its tries are over, with the same id; a URL that is slow or down holds up
//! neither tasks nor other URLs, and what waits for it is bounded.

mod delivery;

pub use delivery::{SecretError, SigningSecret};

use crate::limits::{WEBHOOK_AT_ONCE, WEBHOOK_QUEUE};
use crate::task::{Notifier, Status, Task, TaskId, iso};
use async_trait::async_trait;
use delivery::Delivery;
use serde_json::{Value, json};
use std::sync::Arc;
use tokio::sync::Semaphore;

/// Where changes are sent, and which.
#[derive(Clone, Debug)]
pub struct WebhookOptions {
    /// An absolute http or https URL.
    pub url: String,
    /// Signs what is sent.
    pub secret: SigningSecret,
    /// Only tasks that are in one of these states now; all, if there are none.
    pub events: Vec<Status>,
}

/// Sends changes to one URL.
pub struct Webhook {
    options: WebhookOptions,
    agent: ureq::Agent,
    /// Deliveries that are under way or wait for their next try.
    places: Arc<Semaphore>,
    /// Of those, the ones that wait for an answer now.
    turns: Arc<Semaphore>,
}

impl Webhook {
    /// A notifier for [`crate::builder::ServerBuilder::notify`].
    #[must_use]
    pub fn new(options: WebhookOptions) -> Self {
        Self {
            options,
            agent: delivery::agent(),
            places: Arc::new(Semaphore::new(WEBHOOK_QUEUE)),
            turns: Arc::new(Semaphore::new(WEBHOOK_AT_ONCE)),
        }
    }
}

#[async_trait]
impl Notifier for Webhook {
    async fn changed(&self, id: TaskId, task: &Task) {
        let events = &self.options.events;
        if !events.is_empty() && !events.contains(&task.status) {
            return;
        }
        let url = self.options.url.clone();
        let Ok(place) = Arc::clone(&self.places).try_acquire_owned() else {
            tracing::warn!(
                url,
                "a change of a task is not sent: too many wait (limit WEBHOOK_QUEUE)"
            );
            return;
        };
        let delivery = Delivery::new(url, &self.options.secret, message(id, task));
        let (agent, turns) = (self.agent.clone(), Arc::clone(&self.turns));
        tokio::spawn(async move {
            delivery.send(agent, &turns).await;
            drop(place);
        });
    }
}

/// What is sent of a task.
fn message(id: TaskId, task: &Task) -> Value {
    json!({
        "type": format!("task.{}", task.status.name()),
        "timestamp": iso(task.updated_at),
        "data": {
            "taskId": id,
            "tool": task.served_as,
            "tenant": task.owner.tenant,
            "subject": task.owner.subject,
            "status": task.status.name(),
            "statusMessage": task.message,
            "attempt": task.attempt,
            "createdAt": iso(task.created_at),
            "lastUpdatedAt": iso(task.updated_at),
        },
    })
}
