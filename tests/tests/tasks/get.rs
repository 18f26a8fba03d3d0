//! `tasks/get` (section C of the extension): each state's form, and what it never does.

use std::time::{Duration, Instant};

use cofferdam_tests::{Client, Declares, Options, Server};
use serde_json::json;

fn client(server: &Server) -> Client {
    server.client().declaring(Declares::TasksAndForms)
}

// T-22, T-24: the result is what the call would have answered, with a resultType of its own.
#[tokio::test]
async fn a_completed_task_carries_the_result_of_the_call() {
    let server = Server::start(Options::probe()).await;
    let arguments = json!({"text": "same"});
    let inline = server.client().result("finish", arguments.clone()).await;
    let end = client(&server)
        .task("finish", arguments)
        .await
        .until("completed")
        .await;
    assert_eq!(end["result"]["resultType"], "complete");
    assert_eq!(
        end["result"]["structuredContent"],
        inline["structuredContent"]
    );
    assert_eq!(end["result"]["isError"], inline["isError"]);
}

// M-19, T-26: what the tool calls an error is a result.
#[tokio::test]
async fn a_tool_error_is_completed() {
    let server = Server::start(Options::probe()).await;
    let end = client(&server)
        .task("finish", json!({"how": "tool-error"}))
        .await
        .until("completed")
        .await;
    assert_eq!(end["result"]["isError"], true);
    assert_eq!(end.get("error"), None);
}

// M-19, T-25: failed is for JSON-RPC errors, and says why.
#[tokio::test]
async fn a_protocol_error_is_failed() {
    let server = Server::start(Options::probe()).await;
    let end = client(&server)
        .task("finish", json!({"how": "rpc-error", "code": 7}))
        .await
        .until("failed")
        .await;
    assert_eq!(end["error"]["code"], 7);
    assert!(
        end["statusMessage"]
            .as_str()
            .is_some_and(|text| !text.is_empty()),
        "{end}"
    );
    let end = client(&server)
        .task("finish", json!({"how": "trap"}))
        .await
        .until("failed")
        .await;
    assert_eq!(end["error"]["code"], -32603);
}

// T-23: the questions of a task are the same to the letter each time, all of them.
#[tokio::test]
async fn open_questions_are_a_stable_snapshot() {
    let server = Server::start(Options::probe()).await;
    let task = client(&server)
        .task("ask", json!({"keys": ["b", "a", "c"]}))
        .await;
    let first = task.until("input_required").await;
    let keys: Vec<&String> = first["inputRequests"]
        .as_object()
        .expect("questions")
        .keys()
        .collect();
    assert_eq!(
        keys,
        ["b", "a", "c"],
        "in the order in which they were asked"
    );
    for _ in 0..5 {
        let again = task.get().await;
        assert_eq!(again.to_string(), first.to_string());
    }
}

// T-27: looking changes nothing, however often.
#[tokio::test]
async fn looking_changes_nothing() {
    let server = Server::start(Options::probe()).await;
    let task = client(&server).task("wait", json!({})).await;
    let first = task.get().await;
    for _ in 0..20 {
        assert_eq!(task.get().await, first);
    }
}

fn waiting_long() -> Options {
    Options::probe().set("tasks.get-wait-ms", 30_000)
}

// A short task is over at its client's first look.
#[tokio::test]
async fn a_look_waits_for_a_task_that_works() {
    let server = Server::start(waiting_long()).await;
    let client = client(&server);
    for (how, status) in [("return", "completed"), ("rpc-error", "failed")] {
        let task = client.task("finish", json!({"how": how})).await;
        assert_eq!(task.status().await, status);
    }
    let task = client.task("ask", json!({"keys": ["k"]})).await;
    assert_eq!(task.status().await, "input_required");
    let task = client.task("wait", json!({})).await;
    let (looked, ()) = tokio::join!(task.get(), task.cancel());
    assert_eq!(looked["status"], "cancelled");
}

#[tokio::test]
async fn a_look_that_waits_does_not_hold_up_the_stop() {
    let mut server = Server::start(waiting_long()).await;
    let client = client(&server);
    let task = client.task("wait", json!({})).await;
    let start = Instant::now();
    let (looked, ()) = tokio::join!(task.get(), async {
        // Once these were answered, the look is there as well.
        for _ in 0..20 {
            client.result("echo", json!({"text": "."})).await;
        }
        server.stop().await;
    });
    assert_eq!(looked["status"], "working");
    assert!(start.elapsed() < Duration::from_secs(25));
}

// T-28: unknown and malformed ids are one thing, and are not repeated in the answer.
#[tokio::test]
async fn unknown_ids_are_not_found() {
    let server = Server::start(Options::probe()).await;
    let client = client(&server);
    let known = client.task("wait", json!({})).await;
    let mut close = known.id().to_owned();
    let last = close.pop().expect("an id is not empty");
    close.push(if last == 'A' { 'B' } else { 'A' });
    let long = "x".repeat(5000);
    for id in [
        close.as_str(),
        "x",
        "",
        &"A".repeat(43),
        &"A".repeat(44),
        &long,
        "../../etc/passwd",
        "' OR 1=1 --",
    ] {
        for answer in [
            client.task_get(id).await,
            client.task_cancel(id).await,
            client.task_update(id, json!({})).await,
        ] {
            let message = answer.message(200, -32602);
            assert_eq!(message, "Failed to retrieve task: Task not found");
        }
    }
    assert_eq!(known.status().await, "working");
}

// Non-ASCII ids reach the lookup only in encoded headers.
#[tokio::test]
async fn ids_beyond_ascii_are_not_found_either() {
    let server = Server::start(Options::probe()).await;
    let call = client(&server).request("tasks/get", json!({"taskId": "ü"}));
    call.header("Mcp-Name", "=?base64?w7w=?=")
        .answer()
        .await
        .error(200, -32602);
}
