//! The verbs of a running task as its guest meets them (M-12): what they answer while it runs, and
//! that nothing changes it afterwards. The guest writes what it met to the log.

use cofferdam_tests::{Client, Declares, Options, Server};
use serde_json::json;

/// A server whose tasks keep their instances however long they sleep: a parked one that ends is not
/// run again, so its guest meets nothing.
async fn keeping_instances() -> Server {
    Server::start(Options::probe().set("tasks.park-after-ms", 2 * 3_600_000)).await
}

/// Every verb that would change the call answers that it is over.
const ALL: &str = "final: start-task progress complete fail sleep require-input record";

fn client(server: &Server) -> Client {
    server.client().declaring(Declares::Everything)
}

#[tokio::test]
async fn nothing_changes_a_task_after_its_handler_ended_it() {
    let server = Server::start(Options::probe()).await;
    let task = client(&server).task("late", json!({"mark": "mark"})).await;
    let end = task.until("completed").await;
    assert_eq!(end["result"]["content"][0]["text"], "first");
    let line = server.log().line(&["mark:"]).await;
    assert!(line.contains("inline, working, completed"), "{line}");
    assert!(line.contains(ALL), "{line}");
    assert_eq!(task.get().await, end);
}

#[tokio::test]
async fn nothing_changes_an_inline_call_after_its_handler_ended_it() {
    let server = Server::start(Options::probe()).await;
    let result = server
        .client()
        .result("late", json!({"mark": "mark"}))
        .await;
    assert_eq!(result["content"][0]["text"], "first");
    let line = server.log().line(&["mark:"]).await;
    assert!(line.contains("inline, inline, completed"), "{line}");
    assert!(line.contains(ALL), "{line}");
}

#[tokio::test]
async fn nothing_changes_a_task_after_its_client_cancelled_it() {
    let server = keeping_instances().await;
    let task = client(&server).task("wait", json!({"mark": "mark"})).await;
    task.cancel().await;
    let end = task.get().await;
    let line = server.log().line(&["mark:"]).await;
    assert!(
        line.contains("cancelled: true") && line.contains("status cancelled") && line.contains(ALL),
        "{line}"
    );
    assert_eq!(task.get().await, end);
}

#[tokio::test]
async fn nothing_changes_a_task_after_its_ttl() {
    let server = keeping_instances().await;
    let arguments = json!({"mark": "mark", "options": {"ttl": 300}});
    let task = client(&server).task("wait", arguments).await;
    let line = server.log().line(&["mark:"]).await;
    assert!(
        line.contains("cancelled: true") && line.contains("status failed") && line.contains(ALL),
        "{line}"
    );
    task.until("failed").await;
}

// `complete` and `fail` end a call just as returning does, wherever it runs.
#[tokio::test]
async fn a_handler_ends_its_call_by_a_verb_or_by_returning() {
    let server = Server::start(Options::probe()).await;
    let client = client(&server);
    for (how, status) in [("complete", "completed"), ("fail", "failed")] {
        let end = client
            .task("finish", json!({"how": how}))
            .await
            .until(status)
            .await;
        let inline = server.client().call("finish", json!({"how": how})).await;
        if status == "completed" {
            assert_eq!(end["result"]["content"], inline.result()["content"]);
        } else {
            assert_eq!(&end["error"], inline.error(200, 7));
        }
    }
}

// What a tool needs of its client it can also find out too late.
#[tokio::test]
async fn a_handler_can_refuse_a_client_that_lacks_a_feature() {
    let server = Server::start(Options::probe()).await;
    let inline = server
        .client()
        .call("finish", json!({"how": "missing"}))
        .await;
    let error = inline.error(400, -32021);
    assert_eq!(
        error["data"],
        json!({"requiredCapabilities": {"sampling": {}}})
    );
    let task = client(&server)
        .task("finish", json!({"how": "missing"}))
        .await;
    assert_eq!(&task.until("failed").await["error"], error);
}

// The last word of a burst of progress is what stays.
#[tokio::test]
async fn the_status_message_follows_the_progress() {
    let server = Server::start(Options::probe()).await;
    let client = client(&server);
    let task = client
        .task("steps", json!({"number": 3, "pause": 200}))
        .await;
    let states = client.listen_to(&[&task]).await.rest().await;
    let mut messages: Vec<&str> = states
        .iter()
        .filter_map(|state| state["statusMessage"].as_str())
        .collect();
    messages.dedup();
    assert!(messages.ends_with(&["step 2", "step 3"]), "{messages:?}");
    let burst = client.task("wait", json!({"progress": 1000})).await;
    burst
        .when("the last report", |now| now["statusMessage"] == "1000/1000")
        .await;
}
