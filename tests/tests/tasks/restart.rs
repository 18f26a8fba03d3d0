//! What survives (M-07, T-19): a task that was named exists, whatever happens to the server.

use cofferdam_tests::{Client, Declares, Options, Server, Task};
use serde_json::json;

fn client(server: &Server) -> Client {
    server.client().declaring(Declares::TasksAndForms)
}

// Killed right after the answer: the task was stored before.
#[tokio::test]
async fn a_named_task_survives_a_kill() {
    let mut server = Server::start(Options::probe()).await;
    for _ in 0..5 {
        let task = client(&server).task("wait", json!({})).await;
        server.kill();
        server = server.restart().await;
        let end = task.through(&client(&server)).get().await;
        assert_eq!(end["status"], "failed");
        assert_eq!(end["error"]["code"], -32603);
        let why = end["statusMessage"]
            .as_str()
            .expect("checked by the schema");
        assert!(why.contains("server"), "the cause is named: {why}");
    }
}

#[tokio::test]
async fn ends_survive_a_kill_to_the_letter() {
    let mut server = Server::start(Options::probe()).await;
    let mut ends = Vec::new();
    for (how, status) in [
        ("return", "completed"),
        ("tool-error", "completed"),
        ("rpc-error", "failed"),
    ] {
        let task = client(&server).task("finish", json!({"how": how})).await;
        task.until(status).await;
        ends.push(task);
    }
    let task = client(&server).task("wait", json!({})).await;
    task.cancel().await;
    task.get().await;
    ends.push(task);
    server.kill();
    let server = server.restart().await;
    for task in ends {
        // The task helper itself compares a final state with the one seen before.
        task.through(&client(&server)).get().await;
    }
}

#[tokio::test]
async fn a_question_does_not_survive_its_handler() {
    let server = Server::start(Options::probe()).await;
    let task = client(&server).task("ask", json!({"keys": ["k"]})).await;
    task.until("input_required").await;
    let server = server.restart().await;
    let task = task.through(&client(&server));
    assert_eq!(task.status().await, "failed");
    task.update(json!({"k": {"action": "decline"}})).await;
    task.cancel().await;
    assert_eq!(task.status().await, "failed");
}

// A kill in the middle of many creations: whoever was answered finds the task.
#[tokio::test]
async fn no_answered_creation_is_lost() {
    let mut server = Server::start(Options::probe()).await;
    let client_before = client(&server);
    let (answered, mut tasks) = tokio::sync::mpsc::unbounded_channel();
    let calls: Vec<_> = (0..8)
        .map(|_| {
            let (client, answered) = (client_before.clone(), answered.clone());
            tokio::spawn(async move {
                while answered.send(client.task("wait", json!({})).await).is_ok() {}
            })
        })
        .collect();
    let mut named: Vec<Task> = Vec::new();
    for _ in 0..40 {
        named.push(tasks.recv().await.expect("the callers go on"));
    }
    // The callers go first, so that none of them meets the dead server; what they had asked for is
    // still under way when it dies.
    calls.iter().for_each(|call| call.abort());
    server.kill();
    drop(answered);
    while let Some(task) = tasks.recv().await {
        named.push(task);
    }
    let server = server.restart().await;
    let after = client(&server);
    for task in named {
        assert_eq!(task.through(&after).status().await, "failed");
    }
}

#[tokio::test]
async fn a_graceful_stop_ends_running_tasks_and_exits_cleanly() {
    let mut server = Server::start(Options::probe().set("server.drain-ms", 500)).await;
    let client_before = client(&server);
    let working = client_before.task("wait", json!({})).await;
    let spinning = client_before.task("wait", json!({"how": "spin"})).await;
    let mut listen = client_before.listen_to(&[&working]).await;
    listen.until("working").await;
    server.terminate();
    assert!(server.gone().await.success(), "{}", server.log().text());
    let server = server.restart().await;
    for task in [working, spinning] {
        let end = task.through(&client(&server)).get().await;
        assert!(
            end["status"] == "failed" || end["status"] == "completed",
            "{end}"
        );
    }
}

// A call that is nearly done when the server stops gets its answer.
#[tokio::test]
async fn a_graceful_stop_lets_calls_finish() {
    let mut server = Server::start(Options::probe()).await;
    let client = server.client();
    let call = client
        .tool("sleep", json!({"ms": 600}))
        .meta("progressToken", json!(1));
    let call = tokio::spawn(call.answer());
    server.log().line(&["sleep"]).await;
    server.terminate();
    call.await.expect("an answer").result();
    assert!(server.gone().await.success());
}

// The memory store forgets, as it says.
#[tokio::test]
async fn the_memory_store_forgets() {
    let server = Server::start(Options::probe().store("memory:")).await;
    let task = client(&server).task("finish", json!({})).await;
    task.until("completed").await;
    let server = server.restart().await;
    client(&server).task_get(task.id()).await.error(200, -32602);
}
