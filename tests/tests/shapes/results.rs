//! Results.

use cofferdam_tests::{Client, Declares, Options, Server};
use serde_json::{Value, json};

use crate::{shape, shape_of, shape_of_subscription};

fn client(server: &Server) -> Client {
    server.client().declaring(Declares::Everything)
}

#[tokio::test]
async fn descriptions() {
    let server = Server::start(Options::probe()).await;
    let answer = server
        .client()
        .request("server/discover", json!({}))
        .answer()
        .await;
    shape_of("discover", &answer);
    let answer = server
        .client()
        .request("tools/list", json!({}))
        .answer()
        .await;
    let mut list = answer.result().clone();
    let tools = list["tools"].as_array().expect("checked by the schema");
    let shown = ["add", "header", "required"];
    let some: Vec<Value> = shown
        .iter()
        .filter_map(|name| tools.iter().find(|tool| tool["name"] == *name).cloned())
        .collect();
    assert_eq!(some.len(), shown.len());
    list["tools"] = Value::Array(some);
    shape("tools-list", &list);
}

#[tokio::test]
async fn calls() {
    let server = Server::start(Options::probe()).await;
    let client = server.client();
    shape_of(
        "call-structured",
        &client.call("add", json!({"a": 1, "b": 2.5})).await,
    );
    shape_of("call-contents", &client.call("contents", json!({})).await);
    shape_of(
        "call-tool-error",
        &client.call("finish", json!({"how": "tool-error"})).await,
    );
    shape_of(
        "call-invalid-arguments",
        &client.call("add", json!({"a": "one"})).await,
    );
    let call = client
        .tool("progress", json!({"steps": 2}))
        .meta("progressToken", json!("token"));
    shape_of("call-with-progress", &call.answer().await);
    let call = client
        .tool("log", json!({}))
        .meta("logLevel", json!("alert"));
    shape_of("call-with-log-lines", &call.answer().await);
}

#[tokio::test]
async fn tasks() {
    let server = Server::start(Options::probe()).await;
    let client = client(&server);
    let options = json!({"ttl": 60_000, "poll": 250, "message": "warming up"});
    let answer = client.call("wait", json!({"options": options})).await;
    shape_of("task-created", &answer);
    let id = answer.result()["taskId"]
        .as_str()
        .expect("checked by the schema")
        .to_owned();
    shape_of("task-working", &client.task_get(&id).await);
    shape_of("task-cancel", &client.task_cancel(&id).await);
    shape_of("task-cancelled", &client.task_get(&id).await);
    let unlimited = client
        .task("finish", json!({"options": {"ttl": "unlimited"}}))
        .await;
    unlimited.end().await;
    shape_of(
        "task-completed-unlimited",
        &client.task_get(unlimited.id()).await,
    );
    for (name, how) in [
        ("task-completed-with-tool-error", "tool-error"),
        ("task-failed-by-the-tool", "rpc-error"),
        ("task-failed-by-a-trap", "trap"),
    ] {
        let task = client.task("finish", json!({"how": how})).await;
        task.end().await;
        shape_of(name, &client.task_get(task.id()).await);
    }
}

#[tokio::test]
async fn questions() {
    let server = Server::start(Options::probe()).await;
    let client = client(&server);
    for kind in ["form", "url", "sampling", "roots"] {
        let task = client
            .task("ask", json!({"keys": ["key"], "kind": kind}))
            .await;
        let state = task.until("input_required").await;
        shape(&format!("task-asks-{kind}"), &state);
    }
    let task = client.task("ask", json!({"keys": ["key"]})).await;
    task.until("input_required").await;
    shape_of(
        "task-update",
        &task.answer(json!({"key": {"action": "decline"}})).await,
    );
    let arguments = json!({"keys": ["one", "other"], "begin": "never"});
    shape_of("call-asks", &client.call("ask", arguments).await);
}

#[tokio::test]
async fn attempts() {
    let server = Server::start(Options::probe()).await;
    let arguments = json!({"traps": 1, "options": {"attempts": 2, "message": "trying"}});
    let task = client(&server).task("retry", arguments).await;
    let state = task
        .when("the first attempt to fail", |now| {
            now["statusMessage"] != "trying"
        })
        .await;
    shape("task-between-attempts", &state);
    shape(
        "task-completed-after-attempts",
        &task.until("completed").await,
    );
}

#[tokio::test]
async fn subscriptions() {
    let server = Server::start(Options::probe()).await;
    let client = client(&server);
    let task = client.task("finish", json!({"text": "done"})).await;
    task.end().await;
    shape_of_subscription("listen", client.listen_to(&[&task]).await).await;
}
