//! Two nodes at one task in the same moment.

use std::time::Instant;

use cofferdam_tests::{Client, Options, accept};
use serde_json::json;
use tokio::task::JoinSet;

use crate::cluster::{Cluster, client};

/// Tasks, each with two updates that race.
const ROUNDS: usize = 500;
/// Of them at once.
const LINES: usize = 5;

/// Two partial answers on two nodes: both are kept, and the task goes on once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn racing_partial_answers_on_two_nodes_are_both_kept() {
    let begun = Instant::now();
    let cluster = Cluster::new();
    // Every other task waits without an instance, so that both nodes want to go on with it.
    let parked = || Options::probe().set("tasks.park-after-ms", 0);
    let (a, b) = (cluster.start(parked()).await, cluster.start(parked()).await);
    let (a, b) = (client(&a), client(&b));
    let mut lines = JoinSet::new();
    for _ in 0..LINES {
        let (a, b) = (a.clone(), b.clone());
        lines.spawn(async move {
            for _ in 0..ROUNDS / LINES {
                round(&a, &b).await;
            }
        });
    }
    lines.join_all().await;
    println!(
        "{ROUNDS} rounds of two racing updates in {:?}",
        begun.elapsed()
    );
    let twice = "SELECT count(*) FROM tasks WHERE (head::json ->> 'lease')::int > 1";
    assert_eq!(cluster.sql(twice), "0", "a task was brought back twice");
    let ends = "SELECT count(*) FROM tasks WHERE head::json ->> 'status' = 'completed'";
    assert_eq!(cluster.sql(ends), ROUNDS.to_string());
}

async fn round(a: &Client, b: &Client) {
    let task = a.task("ask", json!({"keys": ["x", "y"]})).await;
    task.until("input_required").await;
    let (one, two) = (task.through(a), task.through(b));
    let (one, two) = tokio::join!(
        one.answer(json!({"x": accept("from a")})),
        two.answer(json!({"y": accept("from b")})),
    );
    one.result();
    two.result();
    let end = task.through(b).until("completed").await;
    let told = &end["result"]["structuredContent"];
    assert_eq!(told, &json!({"x": accept("from a"), "y": accept("from b")}));
}
