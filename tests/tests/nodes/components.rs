//! Nodes whose tools are not the same.

use cofferdam_tests::shop::{Shop, text, told};
use cofferdam_tests::{Options, accept};
use serde_json::json;

use crate::cluster::{Cluster, client};

#[tokio::test]
async fn a_version_that_a_node_never_had_comes_from_the_database() {
    let cluster = Cluster::new().lease(1_000);
    let (older, newer) = (Shop::new(1), Shop::new(2));
    let mut a = cluster.start(newer.options()).await;
    let b = cluster.start(older.options()).await;
    let task = client(&a).task("task", json!({})).await;
    task.until("input_required").await;
    let asked = client(&a).asked("asked", json!({})).await;
    a.kill();
    drop(newer);
    let task = task.through(&client(&b));
    task.update(json!({"go": accept("x")})).await;
    let end = task.until("completed").await;
    assert_eq!(told(&end["result"]), text(2));
    let asked = asked.through(&client(&b));
    let end = asked.result(json!({"go": accept("x")})).await;
    assert_eq!(told(&end), text(2));
}

#[tokio::test]
async fn a_node_without_the_tool_leaves_its_tasks_to_others() {
    let cluster = Cluster::new().lease(1_000);
    let mut a = cluster.node().await;
    let other = cluster.start(Options::guest("replay")).await;
    let task = client(&a).task("ask", json!({"keys": ["x"]})).await;
    task.until("input_required").await;
    a.kill();
    // Any node takes an answer; the one that is asked cannot go on with the task.
    let task = task.through(&client(&other));
    task.update(json!({"x": accept("y")})).await;
    other.log().line(&["a task is left to other nodes"]).await;
    assert_eq!(task.status().await, "working");
    let b = cluster.node().await;
    let end = task.through(&client(&b)).until("completed").await;
    assert_eq!(end["result"]["structuredContent"]["x"], accept("y"));
}

#[tokio::test]
async fn components_go_from_the_database_with_their_tasks() {
    let cluster = Cluster::new();
    let options = || Options::probe().set("tasks.sweep-ms", 50);
    let a = cluster.start(options()).await;
    let short = json!({"keys": ["x"], "options": {"ttl": 100}});
    let task = client(&a).task("ask", short).await;
    let kept = "SELECT count(*) FROM components";
    assert_eq!(cluster.sql(kept), "1");
    cluster.sql("UPDATE components SET needed_until = 0");
    let held = client(&a).task("ask", json!({"keys": ["x"]})).await;
    // As if its time to be read was over.
    task.until("failed").await;
    cluster.sql("UPDATE tasks SET due_at = 0 WHERE is_final");
    let gone = "SELECT count(*) FROM tasks WHERE is_final";
    while cluster.sql(gone) != "0" {}
    assert_eq!(cluster.sql(kept), "1", "an unfinished task runs it");
    held.cancel().await;
    cluster.sql("UPDATE tasks SET due_at = 0 WHERE is_final");
    while cluster.sql(kept) != "0" {}
}
