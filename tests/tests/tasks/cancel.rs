//! `tasks/cancel` (M-18; section E): at once for everyone who looks, and soon for the guest.

use std::time::{Duration, Instant};

use cofferdam_tests::{Client, Declares, Options, Server, bare};
use serde_json::json;

fn client(server: &Server) -> Client {
    server.client().declaring(Declares::TasksAndForms)
}

#[tokio::test]
async fn a_cancelled_task_is_cancelled_when_the_acknowledgement_comes() {
    let server = Server::start(Options::probe()).await;
    let client = client(&server);
    for arguments in [json!({}), json!({"how": "spin"})] {
        let task = client.task("wait", arguments.clone()).await;
        task.cancel().await;
        assert_eq!(task.status().await, "cancelled", "{arguments}");
    }
}

// T-46: the same acknowledgement, and nothing else.
#[tokio::test]
async fn cancelling_again_or_too_late_changes_nothing() {
    let server = Server::start(Options::probe()).await;
    let client = client(&server);
    for (how, status) in [
        ("return", "completed"),
        ("tool-error", "completed"),
        ("rpc-error", "failed"),
    ] {
        let task = client.task("finish", json!({"how": how})).await;
        let end = task.until(status).await;
        task.cancel().await;
        assert_eq!(task.get().await, end, "{how}");
    }
    let task = client.task("wait", json!({})).await;
    task.cancel().await;
    let end = task.get().await;
    task.cancel().await;
    assert_eq!(task.get().await, end);
}

// T-47: nobody waits for these answers any more.
#[tokio::test]
async fn open_questions_go_with_the_task() {
    let server = Server::start(Options::probe()).await;
    let task = client(&server).task("ask", json!({"keys": ["k"]})).await;
    task.until("input_required").await;
    task.cancel().await;
    let end = task.get().await;
    assert_eq!(end["status"], "cancelled");
    // T-39: an update is acknowledged and dropped.
    task.update(json!({"k": {"action": "accept", "content": {"value": "late"}}}))
        .await;
    assert_eq!(task.get().await, end);
}

// A guest that does not listen is dropped after its grace.
#[tokio::test]
async fn a_guest_that_does_not_listen_is_dropped() {
    let server = Server::start(
        Options::probe()
            .set("tasks.grace-ms", 100)
            .set("sandbox.instances", 1),
    )
    .await;
    let client = client(&server);
    for how in ["spin", "stubborn"] {
        let start = Instant::now();
        let task = client.task("wait", json!({"how": how})).await;
        task.cancel().await;
        // The one instance is free again only when the guest is gone.
        server
            .client()
            .result("echo", json!({"text": "free"}))
            .await;
        assert!(
            start.elapsed() < Duration::from_secs(20),
            "{how}: {:?}",
            start.elapsed()
        );
        assert_eq!(task.status().await, "cancelled");
    }
}

// T-43.
#[tokio::test]
async fn an_unknown_task_cannot_be_cancelled() {
    let server = Server::start(Options::probe()).await;
    client(&server)
        .task_cancel(&"A".repeat(43))
        .await
        .error(200, -32602);
}

// M-13: of a cancel and an end at the same time, one wins, and stays.
#[tokio::test]
async fn a_race_of_cancel_and_end_has_one_winner() {
    let server = Server::start(Options::probe()).await;
    let client = client(&server);
    for round in 0..60 {
        let task = client.task("ask", json!({"keys": ["k"]})).await;
        task.until("input_required").await;
        let finish = task.clone();
        let racing =
            tokio::spawn(async move { finish.update(json!({"k": {"action": "decline"}})).await });
        if round % 3 != 0 {
            tokio::task::yield_now().await;
        }
        task.cancel().await;
        let seen = task.get().await;
        racing.await.expect("the update is acknowledged either way");
        assert!(
            seen["status"] == "cancelled" || seen["status"] == "completed",
            "{seen}"
        );
        assert_eq!(bare(&task.get().await), bare(&seen));
    }
}
