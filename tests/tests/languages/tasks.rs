//! Tasks: how they end, wait and stop.

use std::sync::Arc;

use serde_json::json;

use crate::plain::text;
use crate::stage::Stage;

pub(crate) async fn a_task_ends_with_its_result(stage: Arc<Stage>) {
    let task = stage.task("count", json!({"to": 5})).await;
    let end = task.until("completed").await;
    assert_eq!(text(&end["result"]), "counted to 5");

    // A client that knows no tasks waits for the same.
    let arguments = json!({"to": 5, "phase": "task"});
    let result = stage.server.client().result("count", arguments).await;
    assert_eq!(text(&result), "counted to 5");
}

pub(crate) async fn a_task_fails_with_its_error(stage: Arc<Stage>) {
    let arguments = json!({"code": 42, "message": "out of paper"});
    let task = stage.task("fault", arguments).await;
    let end = task.until("failed").await;
    let expected = json!({"code": 42, "message": "out of paper", "data": {"hint": "none"}});
    assert_eq!(end["error"], expected);

    let task = stage.task("crash", json!({})).await;
    assert_eq!(task.until("failed").await["error"]["code"], -32603);
}

pub(crate) async fn a_task_that_sleeps_gives_its_instance_back(stage: Arc<Stage>) {
    let task = stage.task("nap", json!({"ms": 600})).await;
    stage.server.until_running(0, 0).await;
    assert_eq!(text(&task.until("completed").await["result"]), "slept");
}

pub(crate) async fn a_cancelled_task_cleans_up(stage: Arc<Stage>) {
    let task = stage.task("linger", json!({})).await;
    task.cancel().await;
    assert_eq!(task.status().await, "cancelled");
    let log = stage.server.log();
    log.line(&["tool=\"linger\"", "cleaned up"]).await;
    stage.server.until_running(0, 0).await;
}
