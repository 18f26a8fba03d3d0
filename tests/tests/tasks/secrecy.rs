//! A task's id is all that protects it (M-10, T-57), so it is told to its creator alone.

use cofferdam_tests::{Declares, Options, Server};
use serde_json::json;

#[tokio::test]
async fn ids_are_never_logged_nor_repeated_in_errors() {
    let mut server = Server::start(Options::probe().set("tasks.sweep-ms", 50)).await;
    let client = server.client().declaring(Declares::TasksAndForms);
    let mut tasks = Vec::new();
    for how in ["return", "tool-error", "rpc-error", "trap"] {
        let task = client.task("finish", json!({"how": how})).await;
        task.end().await;
        tasks.push(task);
    }
    let asked = client.task("ask", json!({"keys": ["k"]})).await;
    asked.until("input_required").await;
    let refusal = asked.answer(json!({"k": 5})).await;
    assert!(!refusal.message(200, -32602).contains(asked.id()));
    asked.update(json!({"k": {"action": "decline"}})).await;
    asked.end().await;
    let cancelled = client.task("wait", json!({"how": "spin"})).await;
    cancelled.cancel().await;
    let expired = client.task("wait", json!({"options": {"ttl": 200}})).await;
    expired.end().await;
    let running = client.task("wait", json!({})).await;
    client.listen_to(&[&running, &asked]).await;
    tasks.extend([asked, cancelled, expired, running]);

    let mismatch = client
        .request("tasks/get", json!({"taskId": tasks[0].id()}))
        .header("Mcp-Name", "other");
    assert!(
        !mismatch
            .answer()
            .await
            .response
            .to_string()
            .contains(tasks[0].id())
    );

    server.kill();
    let before = server.log().text();
    let server = server.restart().await;
    let after = server.client().declaring(Declares::Tasks);
    for task in &tasks {
        after.task_get(task.id()).await;
    }
    let log = before + &server.log().text();
    assert!(log.contains("finish"), "the log is not empty: {log}");
    for task in &tasks {
        assert!(!log.contains(task.id()), "an id is in the log: {log}");
    }
}

// M-21: without authentication the id alone opens a task, and every request is one of its own.
#[tokio::test]
async fn whoever_has_the_id_has_the_task() {
    let server = Server::start(Options::probe()).await;
    let creator = server.client().declaring(Declares::TasksAndForms);
    let task = creator.task("ask", json!({"keys": ["k"]})).await;
    let other = server.client().declaring(Declares::Tasks);
    let seen = task.through(&other).until("input_required").await;
    assert_eq!(seen, task.get().await);
    other
        .task_update(task.id(), json!({"k": {"action": "decline"}}))
        .await
        .result();
    task.until("completed").await;
}
