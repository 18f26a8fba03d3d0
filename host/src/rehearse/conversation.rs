//! A client that has one call done, whatever becomes of the server meanwhile.
//!
//! Invariant: what the server acknowledged counts; what it did not is said again. A question that
//! was answered and acknowledged is never asked again, or the conversation fails.

use super::cases::Case;
use crate::journal::Fault;
use crate::protocol::{PROTOCOL_VERSION, TASKS_EXTENSION};
use anyhow::{Context as _, Result, bail};
use indexmap::IndexSet;
use serde::Deserialize;
use serde_json::{Map, Value, json};

/// A way to a server.
pub(super) trait Wire {
    /// Sends a request and gives its response. `None`: the server died, and another one is there
    /// now.
    async fn send(&mut self, method: &str, params: &Value) -> Result<Option<Value>>;
    /// Waits until a task may have changed.
    async fn changed(&mut self, id: &str);
}

/// How often a server may die, or say nothing new, before the conversation is given up.
const PATIENCE: usize = 10_000;

/// How a case ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum End {
    /// With a result.
    Completed,
    /// With a result that the tool calls an error.
    ToolError,
    /// With a JSON-RPC error.
    Failed,
    /// The client did not want it any more.
    Cancelled,
}

impl End {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::ToolError => "tool-error",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    fn of(result: &Value) -> Self {
        match result["isError"] == true {
            true => Self::ToolError,
            false => Self::Completed,
        }
    }
}

/// What a case came to.
#[derive(Debug)]
pub(super) struct Came {
    /// What the client gets in the end: the result, or the error object.
    pub(super) outcome: String,
    pub(super) end: End,
    /// The call became a task.
    pub(super) task: bool,
    /// The keys of all questions, in the order asked.
    pub(super) asked: Vec<String>,
}

/// Has a case done; gives what it came to.
pub(super) async fn converse(wire: &mut impl Wire, case: &Case) -> Result<Came> {
    let mut params = json!({ "name": case.tool, "arguments": case.arguments, "_meta": meta() });
    let mut answered = IndexSet::new();
    let came = |outcome: String, end, answered: IndexSet<String>| Came {
        outcome,
        end,
        task: false,
        asked: answered.into_iter().collect(),
    };
    for _ in 0..PATIENCE {
        let Some(response) = wire.send("tools/call", &params).await? else {
            continue;
        };
        let result = match outcome(response)? {
            Outcome::Killed => continue,
            Outcome::Error(error) => return Ok(came(error, End::Failed, answered)),
            Outcome::Result(result) => result,
        };
        match result["resultType"].as_str() {
            Some("input_required") => {
                let keys = asked(&result)?;
                params["inputResponses"] = Value::Object(answers(case, &keys, &answered)?);
                params["requestState"] = result["requestState"].clone();
                answered.extend(keys);
            }
            Some("task") => {
                let id = result["taskId"].as_str().context("a task without id")?;
                let mut came = follow(wire, case, id).await?;
                let before = answered.into_iter();
                came.asked = before.chain(came.asked).collect();
                return Ok(came);
            }
            _ => return Ok(came(result.to_string(), End::of(&result), answered)),
        }
    }
    bail!("the call did not end")
}

/// Follows a task to its end.
async fn follow(wire: &mut impl Wire, case: &Case, id: &str) -> Result<Came> {
    let mut answered = IndexSet::new();
    let came = |outcome: &Value, end, answered: IndexSet<String>| Came {
        outcome: outcome.to_string(),
        end,
        task: true,
        asked: answered.into_iter().collect(),
    };
    let get = json!({ "taskId": id, "_meta": meta() });
    for _ in 0..PATIENCE {
        let Some(response) = wire.send("tasks/get", &get).await? else {
            continue;
        };
        let Outcome::Result(task) = outcome(response)? else {
            bail!("the task is gone")
        };
        match task["status"].as_str() {
            Some("completed") => {
                let result = &task["result"];
                return Ok(came(result, End::of(result), answered));
            }
            Some("failed") => return Ok(came(&task["error"], End::Failed, answered)),
            Some("cancelled") if case.cancel.is_some() => {
                answered.extend(case.cancel.clone());
                return Ok(came(&Value::Null, End::Cancelled, answered));
            }
            Some("input_required") => {
                let keys = asked(&task)?;
                if case.cancel.as_ref().is_some_and(|key| keys.contains(key)) {
                    wire.send("tasks/cancel", &get).await?;
                    continue;
                }
                let mut update = get.clone();
                update["inputResponses"] = Value::Object(answers(case, &keys, &answered)?);
                if let Some(response) = wire.send("tasks/update", &update).await? {
                    let Outcome::Result(_) = outcome(response)? else {
                        bail!("the answers were refused")
                    };
                    answered.extend(keys);
                }
            }
            Some("working") => wire.changed(id).await,
            status => bail!("the task is {status:?}"),
        }
    }
    bail!("the task did not end")
}

enum Outcome {
    Result(Value),
    Error(String),
    /// The run was ended by the rehearsal: the server might as well have died.
    Killed,
}

fn outcome(mut response: Value) -> Result<Outcome> {
    if let Some(error) = response.get("error") {
        let killed = error["message"] == Fault::Killed.to_string();
        return Ok(if killed {
            Outcome::Killed
        } else {
            Outcome::Error(error.to_string())
        });
    }
    match response.get_mut("result") {
        Some(result) => Ok(Outcome::Result(result.take())),
        None => bail!("neither a result nor an error: {response}"),
    }
}

fn asked(message: &Value) -> Result<Vec<String>> {
    let requests = message["inputRequests"].as_object();
    let requests = requests.context("a question without inputRequests")?;
    Ok(requests.keys().cloned().collect())
}

fn answers(
    case: &Case,
    keys: &[String],
    answered: &IndexSet<String>,
) -> Result<Map<String, Value>> {
    let answer = |key: &String| {
        if answered.contains(key) {
            bail!("the tool's client was asked for {key:?} again after it had answered")
        }
        let answer = case.answers.get(key);
        let answer = answer.with_context(|| format!("the case has no answer for {key:?}"))?;
        Ok((key.clone(), answer.clone()))
    };
    keys.iter().map(answer).collect()
}

/// A client that can do everything.
fn meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": PROTOCOL_VERSION,
        "io.modelcontextprotocol/clientInfo": { "name": "cofferdam test", "version": env!("CARGO_PKG_VERSION") },
        "io.modelcontextprotocol/clientCapabilities": {
            "elicitation": { "form": {}, "url": {} },
            "sampling": { "tools": {} },
            "roots": {},
            "extensions": { TASKS_EXTENSION: {} },
        },
    })
}

/// The headers of a request, by name.
pub(super) fn headers(method: &str, params: &Value) -> Vec<(&'static str, String)> {
    let name = match method {
        "tools/call" => &params["name"],
        _ => &params["taskId"],
    };
    vec![
        ("content-type", "application/json".to_owned()),
        ("accept", "application/json".to_owned()),
        ("mcp-protocol-version", PROTOCOL_VERSION.to_owned()),
        ("mcp-method", method.to_owned()),
        ("mcp-name", name.as_str().unwrap_or_default().to_owned()),
    ]
}

/// The body of a request.
pub(super) fn body(method: &str, params: &Value) -> String {
    json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }).to_string()
}
