//! How an attack by a tool ended: the same, whether it ran inline or as a task.

use cofferdam_tests::{Client, FINAL, Task};
use serde_json::{Value, json};

/// The outcome of a call or of the task that it became.
#[derive(Debug)]
pub(crate) struct End(Value);

/// Calls a tool of the component `hostile`, to its end.
pub(crate) async fn end(client: &Client, tool: &str, arguments: Value) -> End {
    let answer = client.call(&format!("hostile.{tool}"), arguments).await;
    match answer.response.get("result") {
        None => {
            assert_eq!(answer.status, 200, "{}", answer.response);
            End(answer.response)
        }
        Some(result) if result["resultType"] == "task" => {
            End::of_task(&Task::created(client.clone(), result).end().await)
        }
        Some(_) => End(answer.response),
    }
}

/// Makes so many calls at once.
pub(crate) async fn ends(client: &Client, tool: &str, arguments: Value, calls: usize) -> Vec<End> {
    let calls: Vec<_> = (0..calls)
        .map(|_| {
            let (client, tool, arguments) = (client.clone(), tool.to_owned(), arguments.clone());
            tokio::spawn(async move { end(&client, &tool, arguments).await })
        })
        .collect();
    let mut ends = Vec::with_capacity(calls.len());
    for call in calls {
        ends.push(call.await.expect("an outcome"));
    }
    ends
}

impl End {
    /// Of a final task.
    #[track_caller]
    pub(crate) fn of_task(state: &Value) -> Self {
        let status = state["status"].as_str().unwrap_or_default();
        assert!(FINAL.contains(&status), "{}", short(state));
        match status {
            "failed" => Self(json!({"error": state["error"]})),
            "completed" => Self(json!({"result": state["result"]})),
            _ => Self(json!({"status": status})),
        }
    }

    /// The error's text, which must hold all of `parts`; its code is that of the server's own errors.
    #[track_caller]
    pub(crate) fn refused(&self, parts: &[&str]) -> &str {
        let error = &self.0["error"];
        let text = error["message"].as_str().unwrap_or_default();
        let holds = parts.iter().all(|part| text.contains(part));
        assert!(
            error["code"] == -32603 && holds,
            "wanted -32603 with {parts:?}, but: {}",
            short(&self.0)
        );
        text
    }

    /// The result.
    #[track_caller]
    pub(crate) fn result(&self) -> &Value {
        let result = self.0.get("result");
        result.unwrap_or_else(|| panic!("wanted a result, but: {}", short(&self.0)))
    }

    /// The text of the result's first block.
    #[track_caller]
    pub(crate) fn text(&self) -> &str {
        let text = &self.result()["content"][0]["text"];
        text.as_str()
            .unwrap_or_else(|| panic!("no text: {}", short(&self.0)))
    }
}

/// What is shown of a value that may be huge.
fn short(value: &Value) -> String {
    let text = value.to_string();
    text.chars().take(500).collect()
}
