//! A call that its client must answer before it goes on (MCP 2026-07-28, "Multi round-trip
//! requests"): what was asked, and the same call with the answers.

use serde_json::{Value, json};

use crate::{Answer, Call, Client, Task};

/// The questions that a call was answered with.
#[derive(Clone)]
pub struct Asked {
    client: Client,
    tool: String,
    arguments: Value,
    result: Value,
}

impl Asked {
    /// The questions in this answer to a call.
    ///
    /// # Panics
    /// If there are none.
    #[track_caller]
    pub fn of(client: &Client, tool: &str, arguments: Value, result: &Value) -> Self {
        assert_eq!(
            result["resultType"], "input_required",
            "the call should have asked, but: {result}"
        );
        Self {
            client: client.clone(),
            tool: tool.to_owned(),
            arguments,
            result: result.clone(),
        }
    }

    /// The keys of the questions, in their order.
    pub fn keys(&self) -> Vec<&str> {
        let requests = self.requests().as_object();
        requests
            .map(|requests| requests.keys().map(String::as_str).collect())
            .unwrap_or_default()
    }

    /// The questions, by their keys.
    pub fn requests(&self) -> &Value {
        &self.result["inputRequests"]
    }

    /// What the server wants back with the answers.
    ///
    /// # Panics
    /// If it wants nothing back.
    pub fn state(&self) -> &str {
        self.result["requestState"]
            .as_str()
            .unwrap_or_else(|| panic!("no requestState: {}", self.result))
    }

    /// The same questions, answered by another client.
    #[must_use]
    pub fn through(&self, client: &Client) -> Self {
        Self {
            client: client.clone(),
            ..self.clone()
        }
    }

    /// The call with these answers, ready to be changed and sent.
    pub fn call(&self, responses: Value) -> Call {
        self.client
            .tool(&self.tool, self.arguments.clone())
            .param("inputResponses", responses)
            .param("requestState", json!(self.state()))
    }

    /// Calls again with these answers, whatever comes.
    pub async fn answer(&self, responses: Value) -> Answer {
        self.call(responses).answer().await
    }

    /// Calls again with these answers, and must be asked more.
    ///
    /// # Panics
    /// If it is not.
    pub async fn asked(&self, responses: Value) -> Self {
        let answer = self.answer(responses).await;
        Self::of(
            &self.client,
            &self.tool,
            self.arguments.clone(),
            answer.result(),
        )
    }

    /// Calls again with these answers, and returns the result.
    ///
    /// # Panics
    /// If there is none yet.
    pub async fn result(&self, responses: Value) -> Value {
        let answer = self.answer(responses).await;
        let result = answer.result();
        assert_eq!(result["resultType"], "complete", "{result}");
        result.clone()
    }

    /// Calls again with these answers, and has a task of it.
    ///
    /// # Panics
    /// If it becomes none.
    pub async fn task(&self, responses: Value) -> Task {
        let answer = self.answer(responses).await;
        Task::created(self.client.clone(), answer.result())
    }
}

/// A form of the test components, filled with this value.
pub fn accept(value: &str) -> Value {
    json!({"action": "accept", "content": {"value": value}})
}
