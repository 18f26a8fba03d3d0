//! One open `subscriptions/listen`.

use serde_json::{Value, json};

use crate::{Call, Event, Events, Kind, META, check};

/// A message on the stream.
#[derive(Debug, Clone, PartialEq)]
pub enum Heard {
    /// `notifications/tasks`: the task's state.
    Task(Value),
    /// `notifications/tools/list_changed`.
    ToolsChanged,
    /// `notifications/prompts/list_changed`.
    PromptsChanged,
    /// `notifications/resources/list_changed`.
    ResourcesChanged,
    /// `notifications/resources/updated`: the resource's URI.
    Updated(String),
    /// The response that ends the subscription.
    End,
}

/// An open subscription. Dropping it closes the stream.
pub struct Listen {
    events: Events,
    id: Value,
    accepted: Value,
}

impl Listen {
    /// Sends `call` and reads the acknowledgement.
    ///
    /// # Panics
    /// If anything else comes first.
    pub async fn open(call: Call) -> Self {
        let id = call.message()["id"].clone();
        let response = call.send().await;
        assert_eq!(response.status, 200);
        assert_eq!(response.header("x-accel-buffering"), "no");
        let mut events = response.events();
        let first = events.next().await;
        let Some(Event::Message(message)) = first else {
            panic!("no acknowledgement, but {first:?}")
        };
        check(Kind::ListenAcknowledgement, &message);
        let mut listen = Self {
            events,
            id,
            accepted: json!(null),
        };
        listen.check_id(&message["params"]);
        listen.accepted = message["params"]["notifications"].clone();
        listen
    }

    /// The part of the filter that the server accepted.
    pub fn accepted(&self) -> &Value {
        &self.accepted
    }

    /// The next event, comments included.
    pub async fn event(&mut self) -> Option<Event> {
        self.events.next().await
    }

    /// The next message; none after the end.
    ///
    /// # Panics
    /// If it is none that belongs on this stream, or the stream breaks off.
    pub async fn next(&mut self) -> Option<Heard> {
        let message = self.events.message().await?;
        if message.get("id").is_some() {
            check(Kind::Response, &message);
            assert_eq!(message["id"], self.id);
            check(Kind::ListenResult, &message["result"]);
            self.check_id(&message["result"]);
            return Some(Heard::End);
        }
        check(Kind::ListenNotification, &message);
        self.check_id(&message["params"]);
        Some(match message["method"].as_str() {
            Some("notifications/tasks") => Heard::Task(message["params"].clone()),
            Some("notifications/prompts/list_changed") => Heard::PromptsChanged,
            Some("notifications/resources/list_changed") => Heard::ResourcesChanged,
            Some("notifications/resources/updated") => {
                let uri = message["params"]["uri"].as_str();
                Heard::Updated(uri.unwrap_or_default().to_owned())
            }
            _ => Heard::ToolsChanged,
        })
    }

    /// The next state of a task.
    ///
    /// # Panics
    /// If something else comes.
    pub async fn task(&mut self) -> Value {
        match self.next().await {
            Some(Heard::Task(state)) => state,
            other => panic!("wanted a task's state, got {other:?}"),
        }
    }

    /// Reads states until one has this status, and returns it.
    ///
    /// # Panics
    /// If the stream ends before.
    pub async fn until(&mut self, status: &str) -> Value {
        loop {
            let state = self.task().await;
            if state["status"] == status {
                return state;
            }
        }
    }

    /// Reads to the end, which must be the response and then the end of the stream; returns the
    /// states on the way.
    ///
    /// # Panics
    /// If it ends otherwise.
    pub async fn rest(mut self) -> Vec<Value> {
        let mut states = Vec::new();
        loop {
            match self.next().await {
                Some(Heard::Task(state)) => states.push(state),
                Some(Heard::End) => break,
                Some(_) => {}
                None => panic!("the stream ended without its response"),
            }
        }
        assert_eq!(
            self.events.next().await,
            None,
            "nothing follows the response"
        );
        states
    }

    /// Every message of a subscription names it by the request's id, in the id's own JSON type.
    fn check_id(&self, params: &Value) {
        let named = &params["_meta"][format!("{META}subscriptionId")];
        assert_eq!(named, &self.id, "{params}");
    }
}
