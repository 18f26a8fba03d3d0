//! What survives (M-07, T-19): a task that was named exists, whatever happens to the server.

use std::time::{Duration, Instant};

use cofferdam_tests::{Client, Declares, Options, Server, Task, accept, bare};
use serde_json::json;

fn client(server: &Server) -> Client {
    server.client().declaring(Declares::TasksAndForms)
}

// Killed right after the answer: the task was stored before, and goes on, however often.
#[tokio::test]
async fn a_named_task_survives_kills() {
    let mut server = Server::start(Options::probe()).await;
    let mut tasks: Vec<Task> = Vec::new();
    for _ in 0..5 {
        tasks.push(client(&server).task("wait", json!({})).await);
        server.kill();
        server = server.restart().await;
        for task in &mut tasks {
            *task = task.through(&client(&server));
            assert_eq!(bare(&task.get().await), bare(task.creation()));
        }
    }
    for task in tasks {
        task.cancel().await;
        assert_eq!(task.status().await, "cancelled");
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
async fn a_question_survives_a_kill_to_the_letter() {
    let server = Server::start(Options::probe()).await;
    let task = client(&server)
        .task("ask", json!({"keys": ["b", "a"]}))
        .await;
    let asked = task.until("input_required").await;
    let server = server.restart().await;
    let task = task.through(&client(&server));
    assert_eq!(task.get().await.to_string(), asked.to_string());
    task.update(json!({"a": accept("yes"), "b": {"action": "decline"}}))
        .await;
    let end = task.until("completed").await;
    assert_eq!(
        end["result"]["structuredContent"],
        json!({"b": {"action": "decline"}, "a": accept("yes")})
    );
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
        assert_eq!(task.through(&after).status().await, "working");
    }
}

// What runs is dropped at once, and goes on after the next start.
#[tokio::test]
async fn a_graceful_stop_leaves_running_tasks_to_the_next_server() {
    let mut server = Server::start(Options::probe()).await;
    let client_before = client(&server);
    let sleeping = client_before.task("wait", json!({})).await;
    let spinning = client_before.task("wait", json!({"how": "spin"})).await;
    let mut listen = client_before.listen_to(&[&sleeping]).await;
    listen.until("working").await;
    let start = Instant::now();
    server.stop().await;
    // Requests have five seconds to end; runs of tasks have none.
    assert!(
        start.elapsed() < Duration::from_secs(5),
        "{:?}",
        start.elapsed()
    );
    let server = server.restart().await;
    for task in [sleeping, spinning] {
        let task = task.through(&client(&server));
        assert_eq!(bare(&task.get().await), bare(task.creation()));
        task.cancel().await;
        assert_eq!(task.status().await, "cancelled");
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
