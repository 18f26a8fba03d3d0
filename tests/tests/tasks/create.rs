//! How a call becomes a task (section B of the extension).

use std::collections::HashSet;

use cofferdam_tests::{Client, Declares, Options, Server};
use serde_json::json;

fn client(server: &Server) -> Client {
    server.client().declaring(Declares::Tasks)
}

// M-05, M-11, T-17, T-18: the schema of the harness allows nothing more than this.
#[tokio::test]
async fn the_answer_is_the_bare_task() {
    let server = Server::start(Options::probe()).await;
    let task = client(&server).task("wait", json!({})).await;
    let created = task.creation();
    assert_eq!(
        (&created["ttlMs"], &created["pollIntervalMs"]),
        (&json!(600_000), &json!(1000))
    );
    assert_eq!(created["createdAt"], created["lastUpdatedAt"]);
    assert_eq!(created.get("statusMessage"), None);
}

// M-10, T-56: 256 bits in 43 characters that need no encoding anywhere (the schema says so).
#[tokio::test]
async fn ids_are_unlike_each_other() {
    let server = Server::start(Options::probe()).await;
    let client = client(&server);
    let mut ids = HashSet::new();
    let mut starts = HashSet::new();
    for _ in 0..50 {
        let task = client.task("finish", json!({})).await;
        starts.insert(task.id()[..8].to_owned());
        ids.insert(task.id().to_owned());
    }
    assert_eq!((ids.len(), starts.len()), (50, 50));
}

// T-19: whoever has the id finds the task.
#[tokio::test]
async fn a_task_can_be_read_as_soon_as_it_is_named() {
    let server = Server::start(Options::probe()).await;
    let client = client(&server);
    for _ in 0..50 {
        client.task("wait", json!({})).await.get().await;
    }
}

// M-05: what the tool may choose.
#[tokio::test]
async fn a_tool_chooses_ttl_poll_interval_and_message() {
    let server = Server::start(Options::probe()).await;
    let client = client(&server);
    let options = json!({"ttl": 120_000, "poll": 250, "message": "warming up"});
    let task = client.task("wait", json!({"options": options})).await;
    for state in [task.creation().clone(), task.get().await] {
        assert_eq!(state["ttlMs"], 120_000);
        assert_eq!(state["pollIntervalMs"], 250);
        assert_eq!(state["statusMessage"], "warming up");
    }
    let task = client
        .task("wait", json!({"options": {"ttl": "unlimited"}}))
        .await;
    assert_eq!(task.get().await["ttlMs"], json!(null));
}

#[tokio::test]
async fn an_operator_chooses_the_defaults() {
    let options = Options::probe()
        .set("tasks.ttl-ms", 90_000)
        .set("tasks.poll-interval-ms", 50);
    let server = Server::start(options).await;
    let task = client(&server).task("wait", json!({})).await;
    assert_eq!(task.creation()["ttlMs"], 90_000);
    assert_eq!(task.creation()["pollIntervalMs"], 50);
}

// M-08: a bad option is the tool's to handle; no task comes of it.
#[tokio::test]
async fn bad_options_make_no_task() {
    let server = Server::start(Options::probe()).await;
    for (options, named) in [
        (json!({"ttl": 0}), "ttl"),
        (json!({"poll": 0}), "poll"),
        (json!({"attempts": 0}), "max-attempts: must be 1 to 100"),
        (json!({"attempts": 101}), "max-attempts: must be 1 to 100"),
        (json!({"message": "x".repeat(1025)}), "message"),
    ] {
        let result = client(&server)
            .result("start", json!({"options": options}))
            .await;
        let text = result["content"][0]["text"].as_str().expect("text");
        assert!(
            text.contains("invalid-option") && text.contains(named),
            "{options}: {text}"
        );
    }
    let most = json!({"options": {"attempts": 100}});
    client(&server).task("start", most).await;
}

// M-08: what fails once the task is stored fails the task, not its creation.
#[tokio::test]
async fn a_handler_that_dies_right_after_the_start_leaves_a_failed_task() {
    let server = Server::start(Options::probe()).await;
    let client = client(&server);
    for how in ["trap", "panic", "overflow"] {
        let end = client
            .task("finish", json!({"how": how}))
            .await
            .until("failed")
            .await;
        assert_eq!(end["error"]["code"], -32603, "{how}");
    }
}

#[tokio::test]
async fn a_call_becomes_a_task_once() {
    let server = Server::start(Options::probe()).await;
    let end = client(&server)
        .task("start", json!({"times": 2}))
        .await
        .until("completed")
        .await;
    assert_eq!(end["result"]["content"][0]["text"], "task, already-started");
}

#[tokio::test]
async fn a_tool_without_task_support_may_not_start_one() {
    let server = Server::start(Options::probe()).await;
    let result = client(&server).result("start-none", json!({})).await;
    assert_eq!(result["content"][0]["text"], "not-allowed");
}

// M-09: arguments are checked before anything else happens.
#[tokio::test]
async fn bad_arguments_make_no_task() {
    let server = Server::start(Options::probe()).await;
    let result = client(&server).result("ask", json!({"keys": 5})).await;
    assert_eq!(result["isError"], true);
}

// M-06, M-30.
#[tokio::test]
async fn tasks_over_the_limit_are_refused_until_one_is_gone() {
    let options = Options::probe()
        .set("tasks.max", 2)
        .set("tasks.min-retention-ms", 0);
    let server = Server::start(options).await;
    let client = client(&server);
    let _first = client.task("wait", json!({})).await;
    let second = client.task("wait", json!({"options": {"ttl": 1000}})).await;
    let refusal = client.call("wait", json!({})).await;
    assert_eq!(refusal.message(200, -32603), "Task limit reached");
    // A tool that can do without gets to know, too.
    let result = client.result("start", json!({})).await;
    assert_eq!(result["content"][0]["text"], "limit-reached");
    // The end of a task's time makes room, without a sweep.
    second.cancel().await;
    cofferdam_tests::patient("room for a task", async {
        while client
            .call("wait", json!({}))
            .await
            .response
            .get("error")
            .is_some()
        {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    })
    .await;
}

#[tokio::test]
async fn a_slow_tool_that_starts_no_task_is_made_one_by_the_server() {
    let server = Server::start(Options::probe().set("tasks.detach-after-ms.sleep", 50)).await;
    let client = client(&server);
    let quick = client.call("sleep", json!({"ms": 0})).await;
    assert_eq!(quick.result()["resultType"], "complete");
    let task = client.task("sleep", json!({"ms": 400})).await;
    assert_eq!(task.get().await["status"], "working");
    let end = task.until("completed").await;
    assert_eq!(
        end["result"]["content"][0]["text"],
        quick.result()["content"][0]["text"]
    );
    // A client without tasks waits, as ever.
    server.client().result("sleep", json!({"ms": 100})).await;
}

// T-53: the stream that brought the task can go; the task does not care.
#[tokio::test]
async fn the_end_of_the_calls_connection_does_not_end_the_task() {
    let server = Server::start(Options::probe()).await;
    let client = server.client().declaring(Declares::TasksAndForms);
    let task = client.task("ask", json!({"keys": ["k"]})).await;
    // Each request of the harness has its own connection, which is closed by now.
    task.until("input_required").await;
    let note = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1, "reason": task.id()}});
    let call = client
        .request("server/discover", json!({}))
        .header("Mcp-Method", "notifications/cancelled");
    assert_eq!(call.send_body(note.to_string()).await.status, 202);
    task.update(json!({"k": {"action": "decline"}})).await;
    task.until("completed").await;
}
