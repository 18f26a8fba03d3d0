//! The life of a task (M-25; section F): the ttl ends the work, never early; then the record goes.

use std::time::{Duration, Instant};

use cofferdam_tests::{Client, Declares, Options, Server, patient};
use serde_json::json;

fn client(server: &Server) -> Client {
    server.client().declaring(Declares::TasksAndForms)
}

// T-48: work that is not done by then is stopped and failed.
#[tokio::test]
async fn work_beyond_the_ttl_fails() {
    let server = Server::start(Options::probe().set("sandbox.instances", 1)).await;
    let client = client(&server);
    for how in ["sleep", "spin"] {
        let start = Instant::now();
        let task = client
            .task("wait", json!({"how": how, "options": {"ttl": 400}}))
            .await;
        let end = task.end().await;
        assert!(
            start.elapsed() >= Duration::from_millis(400),
            "never early: {:?}",
            start.elapsed()
        );
        assert_eq!(
            (&end["status"], &end["error"]["code"]),
            (&json!("failed"), &json!(-32603)),
            "{how}"
        );
        assert!(
            end["statusMessage"]
                .as_str()
                .is_some_and(|text| text.contains("ttl")),
            "{end}"
        );
        // Its instance is given back.
        server
            .client()
            .result("echo", json!({"text": "free"}))
            .await;
    }
}

#[tokio::test]
async fn a_question_nobody_answers_fails_at_the_ttl() {
    let server = Server::start(Options::probe()).await;
    let task = client(&server)
        .task("ask", json!({"keys": ["k"], "options": {"ttl": 500}}))
        .await;
    task.until("input_required").await;
    let end = task.end().await;
    assert_eq!(end["status"], "failed");
}

// A listener hears of it without anyone asking: the deadline itself fails the task, or the sweep.
#[tokio::test]
async fn listeners_hear_of_the_ttl() {
    let server = Server::start(Options::probe().set("tasks.sweep-ms", 50)).await;
    let client = client(&server);
    let task = client.task("wait", json!({"options": {"ttl": 300}})).await;
    let states = client.listen_to(&[&task]).await.rest().await;
    assert_eq!(states.last().expect("the end")["status"], "failed");
}

// T-28: then it is gone, as if it had never been; but its owner may be told that it expired.
#[tokio::test]
async fn a_finished_task_is_gone_after_its_time() {
    let options = Options::probe()
        .set("tasks.min-retention-ms", 0)
        .set("tasks.sweep-ms", 50);
    let server = Server::start(options).await;
    let client = client(&server);
    let start = Instant::now();
    let task = client
        .task("finish", json!({"options": {"ttl": 600}}))
        .await;
    let message = patient("the task to be gone", async {
        loop {
            let answer = client.task_get(task.id()).await;
            if answer.response.get("error").is_some() {
                return answer.message(200, -32602).to_owned();
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    })
    .await;
    assert!(
        start.elapsed() >= Duration::from_millis(600),
        "never early: {:?}",
        start.elapsed()
    );
    assert!(
        message.starts_with("Failed to retrieve task: Task "),
        "{message}"
    );
    client.task_cancel(task.id()).await.error(200, -32602);
    client
        .task_update(task.id(), json!({}))
        .await
        .error(200, -32602);
    // The sweep is counted.
    server.log().line(&["swept", "removed=1"]).await;
}

#[tokio::test]
async fn a_task_without_ttl_is_gone_after_its_retention() {
    let options = Options::probe()
        .set("tasks.retention-ms", 300)
        .set("tasks.min-retention-ms", 0)
        .set("tasks.sweep-ms", 50);
    let server = Server::start(options).await;
    let client = client(&server);
    let running = client
        .task("wait", json!({"options": {"ttl": "unlimited"}}))
        .await;
    let task = client
        .task("finish", json!({"options": {"ttl": "unlimited"}}))
        .await;
    task.until("completed").await;
    server.log().line(&["swept", "removed=1"]).await;
    client.task_get(task.id()).await.error(200, -32602);
    // One that runs stays, however long.
    assert_eq!(running.status().await, "working");
}

#[tokio::test]
async fn an_end_can_be_read_for_a_while_even_past_the_ttl() {
    let server = Server::start(Options::probe().set("tasks.sweep-ms", 20)).await;
    let client = client(&server);
    let task = client.task("wait", json!({"options": {"ttl": 200}})).await;
    task.until("failed").await;
    // Another task's ttl passes meanwhile, so that at least one more sweep has run.
    client
        .task("wait", json!({"options": {"ttl": 200}}))
        .await
        .until("failed")
        .await;
    assert_eq!(task.status().await, "failed");
}
