//! A client in as few lines as the protocol needs: one POST for each request. It shows what goes
//! out and what comes back.

use std::cell::Cell;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

const VERSION: &str = "2026-07-28";
/// Longer lines than this are cut when they are shown.
const WIDTH: usize = 100;

pub(crate) struct Client {
    url: String,
    agent: ureq::Agent,
    next_id: Cell<u64>,
}

impl Client {
    pub(crate) fn new(url: &str) -> Self {
        let config = ureq::Agent::config_builder()
            // An error of the protocol has a body that says more than its status.
            .http_status_as_error(false)
            .timeout_global(Some(Duration::from_secs(60)))
            .build();
        Self {
            url: url.to_owned(),
            agent: config.into(),
            next_id: Cell::new(1),
        }
    }

    /// Calls a tool. The result is its answer, or a task.
    pub(crate) fn call(&self, tool: &str, arguments: Value) -> Result<Value> {
        self.request(
            "tools/call",
            tool,
            json!({"name": tool, "arguments": arguments}),
        )
    }

    /// A request about a task, with more parameters than its id.
    pub(crate) fn about(&self, task: &str, method: &str, mut params: Value) -> Result<Value> {
        params["taskId"] = task.into();
        self.request(method, task, params)
    }

    /// `tasks/get`, not shown: the caller shows what changed.
    pub(crate) fn task(&self, task: &str) -> Result<Value> {
        self.send("tasks/get", task, json!({"taskId": task}))
    }

    /// Sends a request and shows it; `name` is what its `Mcp-Name` says.
    fn request(&self, method: &str, name: &str, params: Value) -> Result<Value> {
        println!("--> {method} {}", short(&params));
        self.send(method, name, params)
    }

    fn send(&self, method: &str, name: &str, mut params: Value) -> Result<Value> {
        let id = self.next_id.replace(self.next_id.get() + 1);
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": VERSION,
            "io.modelcontextprotocol/clientInfo": {"name": "demo", "version": "1.0.0"},
            "io.modelcontextprotocol/clientCapabilities": {
                "elicitation": {"form": {}},
                "extensions": {"io.modelcontextprotocol/tasks": {}},
            },
        });
        let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        let mut response = self
            .agent
            .post(&self.url)
            .header("Content-Type", "application/json")
            .header("Accept", "application/json, text/event-stream")
            .header("MCP-Protocol-Version", VERSION)
            .header("Mcp-Method", method)
            .header("Mcp-Name", name)
            .send(message.to_string())?;
        let text = response.body_mut().read_to_string()?;
        let mut answer: Value = serde_json::from_str(&text)
            .with_context(|| format!("{method} was answered {}: {text}", response.status()))?;
        ensure!(
            answer["id"] == id && answer.get("error").is_none(),
            "{method} was answered {text}"
        );
        Ok(answer["result"].take())
    }
}

/// Shows what came back.
pub(crate) fn received(text: impl std::fmt::Display) {
    println!("<-- {text}");
}

/// A value on one line that fits into a terminal.
pub(crate) fn short(value: &Value) -> String {
    let text = value.to_string();
    if text.chars().count() <= WIDTH {
        return text;
    }
    let start: String = text.chars().take(WIDTH).collect();
    format!("{start}… ({} bytes)", text.len())
}
