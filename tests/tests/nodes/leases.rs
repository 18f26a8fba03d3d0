//! Nodes that go, or seem to.

use std::time::{Duration, Instant};

use cofferdam_postgres::Postgres;
use cofferdam_tests::{Options, accept};
use serde_json::json;

use crate::cluster::{Cluster, answer, arrives, asking, client, stepping};

#[tokio::test]
async fn what_a_killed_node_ran_goes_on_elsewhere_after_its_lease() {
    let cluster = Cluster::new().lease(2_000);
    let (mut a, b) = (cluster.node().await, cluster.node().await);
    let slow = json!({"number": 2, "pause": 1_500});
    let running = client(&a).task("steps", slow).await;
    let asking = asking(&a).await;
    let mut listen = client(&b).listen_to(&[&running]).await;
    a.kill();
    arrives(&running, &b).await;
    listen.until("completed").await;
    // Its run is gone, and whoever is answered goes on.
    answer(&asking, &b, "late").await;
}

#[tokio::test]
async fn what_a_stopped_node_ran_goes_on_elsewhere_at_once() {
    let cluster = Cluster::new().lease(600_000);
    let (mut a, b) = (cluster.node().await, cluster.node().await);
    let running = stepping(&a).await;
    a.stop().await;
    arrives(&running, &b).await;
}

#[tokio::test]
async fn a_node_that_is_started_again_goes_on_at_once() {
    let cluster = Cluster::new().lease(600_000);
    let mut a = cluster.node().await;
    let running = stepping(&a).await;
    a.kill();
    let a = a.restart().await;
    arrives(&running, &a).await;
}

#[tokio::test]
async fn what_a_paused_node_says_late_changes_nothing() {
    let cluster = Cluster::new().lease(2_000);
    // Its run asks again after an answer that it has not heard of.
    let patient_run = Options::probe().set("tasks.park-after-ms", 3_600_000);
    let a = cluster.start(patient_run).await;
    let b = cluster.node().await;
    let call = json!({"keys": ["x"], "again": ["y"]});
    let task = client(&a).task("ask", call).await;
    task.until("input_required").await;
    a.pause();
    let task = task.through(&client(&b));
    task.update(json!({"x": accept("one")})).await;
    // It asks the second question on the other node.
    let second = |now: &serde_json::Value| now["inputRequests"].get("y").is_some();
    task.when("the second question", second).await;
    a.unpause();
    // It learns that its lease is lost when it renews it, or that the task goes on elsewhere by what its
    // run is refused: whichever comes first ends the run.
    a.until_running(0, 0).await;
    task.update(json!({"y": accept("two")})).await;
    let end = task.until("completed").await;
    let told = &end["result"]["structuredContent"];
    assert_eq!(
        (&told["x"], &told["y"]),
        (&accept("one"), &accept("two")),
        "{end}"
    );
    // It is one of them again.
    let again = client(&a).task("finish", json!({})).await;
    again.until("completed").await;
}

/// Nodes that have nothing to do, however many tasks wait.
#[tokio::test]
async fn an_idle_node_asks_for_little() {
    // The database's own work would be counted with theirs.
    let database = Postgres::to_measure(&std::env::temp_dir(), &["autovacuum=off"]);
    let cluster = Cluster::of(database).lease(5_000);
    let soon = || Options::probe().set("tasks.park-after-ms", 0);
    let (a, b) = (cluster.start(soon()).await, cluster.start(soon()).await);
    for _ in 0..40 {
        asking(&a).await;
    }
    a.until_running(0, 0).await;
    // Until nothing is held any more, and the database has counted all that was before: an idle
    // connection tells what it did ten seconds late at the most.
    while cluster.sql("SELECT count(*) FROM nodes") != "0" {
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    tokio::time::sleep(Duration::from_secs(11)).await;
    let count = || -> u64 {
        let query = "SELECT xact_commit + xact_rollback FROM pg_stat_database
            WHERE datname = 'tasks0'";
        let told = cluster.database.sql("postgres", query);
        told.parse().expect("a number")
    };
    let (start, before) = (Instant::now(), count());
    tokio::time::sleep(Duration::from_secs(20)).await;
    let told = count() - before;
    let time = start.elapsed();
    println!("two idle nodes, 40 parked tasks, a lease of 5 s: {told} statements in {time:?}");
    // One of each node in each lease; some more for what the database counts late.
    let looks = 2 * (time.as_secs() / 5 + 1);
    assert!(told <= looks + 4, "{told}, not {looks}");
    drop(b);
}

#[tokio::test]
async fn a_lease_is_kept_as_long_as_something_runs() {
    let cluster = Cluster::new().lease(4_000);
    let (a, b) = (cluster.node().await, cluster.node().await);
    let long = client(&a)
        .task("steps", json!({"number": 7, "pause": 1_500}))
        .await;
    long.until("completed").await;
    let told = [a.log().text(), b.log().text()].concat();
    assert!(!told.contains("took this one for dead"), "{told}");
}
