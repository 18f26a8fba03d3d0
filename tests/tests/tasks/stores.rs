//! The same life of tasks in every store that can be chosen (M-27).

use cofferdam_postgres::Postgres;
use cofferdam_tests::{Declares, Options, Server};
use serde_json::json;

/// Runs tasks through each end that there is.
async fn lives(store: &str) -> Server {
    let options = Options::probe()
        .store(store)
        .set("tasks.max", 5)
        .set("tasks.sweep-ms", 50);
    let server = Server::start(options).await;
    let client = server.client().declaring(Declares::TasksAndForms);

    let asked = client.task("ask", json!({"keys": ["a", "b"]})).await;
    let mut listen = client.listen_to(&[&asked]).await;
    listen.until("input_required").await;
    asked.update(json!({"a": {"action": "decline"}})).await;
    asked
        .update(json!({"b": {"action": "accept", "content": {"value": "x"}}}))
        .await;
    assert_eq!(
        listen.rest().await.last().expect("the end")["status"],
        "completed"
    );

    let cancelled = client.task("wait", json!({})).await;
    cancelled.cancel().await;
    assert_eq!(cancelled.status().await, "cancelled");
    client
        .task("finish", json!({"how": "rpc-error"}))
        .await
        .until("failed")
        .await;
    client
        .task("wait", json!({"options": {"ttl": 200}}))
        .await
        .until("failed")
        .await;

    client.task("wait", json!({})).await;
    let refusal = client.call("wait", json!({})).await;
    assert_eq!(
        refusal.message(200, -32603),
        "Task limit reached",
        "{store}"
    );
    server
}

#[tokio::test]
async fn in_memory() {
    let server = lives("memory:").await;
    // No task is written, nor what belongs to one.
    let mut files: Vec<_> = std::fs::read_dir(server.data())
        .expect("the data folder")
        .flatten()
        .map(|file| file.file_name())
        .collect();
    files.sort();
    assert_eq!(
        files,
        [
            "compiled",
            "compiled.key",
            "components",
            "lock",
            "registry",
            "request-state.key"
        ]
    );
}

#[tokio::test]
async fn in_the_data_folder() {
    lives("sqlite").await;
}

#[tokio::test]
async fn in_a_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("tasks.sqlite");
    lives(&format!("sqlite:{}", file.display())).await;
    assert!(file.is_file());
}

#[tokio::test]
async fn in_a_database() {
    let database = Postgres::start();
    lives(&database.database()).await;
}

// Two servers that wrote to one folder would take each other's tasks for lost.
#[tokio::test]
async fn a_data_folder_serves_one_server() {
    let server = Server::start(Options::probe()).await;
    let (status, text) = Server::refuse_in(Options::probe(), &server).await;
    assert!(
        !status.success() && text.contains("another server"),
        "{text}"
    );
    server.client().result("echo", json!({"text": "x"})).await;
}
