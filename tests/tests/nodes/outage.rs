//! A database that goes and comes back.

use cofferdam_postgres::Postgres;
use cofferdam_tests::{Heard, Options, accept};
use serde_json::json;
use tokio::task::spawn_blocking;

use crate::cluster::{Cluster, client};

#[tokio::test]
async fn listeners_and_runs_outlive_an_outage_that_is_longer_than_a_lease() {
    let cluster = Cluster::of(Postgres::on_tcp()).lease(4_000);
    let (a, b) = (cluster.node().await, cluster.node().await);
    let task = client(&a).task("ask", json!({"keys": ["x"]})).await;
    let busy = client(&a).task("wait", json!({"how": "stubborn"})).await;
    a.until_running(1, 1).await;
    let mut listen = client(&b).listen_to(&[&task]).await;
    listen.until("input_required").await;
    let offers = cluster.start(Options::guest("offers")).await;
    let resources = json!({"resourceSubscriptions": ["house://rules"]});
    let mut changes = offers.client().listen(resources).await;
    let mut cluster = cluster;
    cluster.database.stop();
    b.log()
        .line(&["nodes cannot tell this one of changes"])
        .await;
    // It tries each second, and its lease lasts for four.
    a.log().nth_line(5, &["lease could not be renewed"]).await;
    let cluster = spawn_blocking(move || {
        cluster.database.start_again();
        cluster
    });
    let _cluster = cluster.await.expect("a thread");
    // What others said meanwhile may have been of anything.
    let rules = Heard::Updated("house://rules".to_owned());
    assert_eq!(changes.next().await, Some(rules));
    task.update(json!({"x": accept("back")})).await;
    let end = listen.until("completed").await;
    assert_eq!(end["result"]["structuredContent"]["x"], accept("back"));
    // The outage was everyone's: nobody was taken for dead.
    assert_eq!(busy.status().await, "working");
    busy.through(&client(&b)).cancel().await;
    a.until_running(0, 0).await;
    let said = [a.log().text(), b.log().text()].concat();
    assert!(!said.contains("took this one for dead"), "{said}");
}
