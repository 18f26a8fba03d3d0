//! Clients of one node, and a task that another one runs.

use cofferdam_tests::{Heard, Listen, Options, Running, accept, bare};
use serde_json::json;

use crate::cluster::{Cluster, answer, asking, client};

#[tokio::test]
async fn a_run_hears_answers_and_a_cancel_that_come_to_another_node() {
    let cluster = Cluster::new();
    // It waits with its instance: only what it hears can bring it on.
    let patient = Options::probe().set("tasks.park-after-ms", 3_600_000);
    let (a, b) = (cluster.start(patient).await, cluster.node().await);
    answer(&asking(&a).await, &b, "from b").await;

    let waiting = client(&a).task("wait", json!({"mark": "mark"})).await;
    a.until_running(1, 1).await;
    waiting.through(&client(&b)).cancel().await;
    a.log().line(&["mark", "cancelled: true"]).await;
    assert_eq!(waiting.status().await, "cancelled");
    a.until_running(0, 0).await;
    let nothing = Running {
        instances: 0,
        tasks: 0,
    };
    assert_eq!(b.running().await, nothing);
}

#[tokio::test]
async fn whichever_node_is_answered_goes_on_with_a_parked_task() {
    let cluster = Cluster::new();
    let soon = || Options::probe().set("tasks.park-after-ms", 0);
    let a = cluster.start(soon()).await;
    let asking = asking(&a).await;
    a.until_running(0, 0).await;
    let b = cluster.start(soon()).await;
    answer(&asking, &b, "from b").await;
}

#[tokio::test]
async fn a_listener_hears_all_that_matters_from_any_node() {
    let cluster = Cluster::new();
    let (a, b, c) = (
        cluster.node().await,
        cluster.node().await,
        cluster.node().await,
    );
    let asking = client(&a).task("ask", json!({"keys": ["x"]})).await;
    let ticking = client(&a);
    let ticking = ticking.task("steps", json!({"number": 3, "pause": 300}));
    let ticking = ticking.await;
    let mut listen = client(&c).listen_to(&[&asking]).await;
    let steps = client(&c).listen_to(&[&ticking]).await;
    listen.until("input_required").await;
    let update = asking.through(&client(&b));
    update.update(json!({"x": accept("from b")})).await;
    let heard = listen.until("completed").await;
    assert_eq!(bare(&heard)["result"], asking.get().await["result"]);
    assert_eq!(listen.next().await, Some(Heard::End));
    let heard = steps.rest().await;
    let last = heard.last().expect("its end");
    assert_eq!(last["status"], "completed");
    assert!(
        heard.iter().any(|state| {
            let message = state["statusMessage"].as_str();
            message.is_some_and(|text| text.contains("step"))
        }),
        "progress on the way: {heard:?}"
    );
}

#[tokio::test]
async fn a_call_that_asks_goes_on_on_any_node() {
    let cluster = Cluster::new();
    let (a, b) = (cluster.node().await, cluster.node().await);
    let arguments = json!({"keys": ["x"], "begin": "between", "again": ["y"]});
    let asked = client(&a).asked("ask", arguments).await;
    let task = asked.through(&client(&b));
    let task = task.task(json!({"x": accept("one")})).await;
    let task = task.through(&client(&a));
    task.until("input_required").await;
    task.update(json!({"y": accept("two")})).await;
    let end = task.until("completed").await;
    let told = &end["result"]["structuredContent"];
    assert_eq!(
        (&told["x"], &told["y"]),
        (&accept("one"), &accept("two")),
        "{end}"
    );
}

#[tokio::test]
async fn the_state_key_can_be_changed_for_one_in_files() {
    let cluster = Cluster::new();
    let (a, b) = (cluster.node().await, cluster.node().await);
    let call = json!({"keys": ["x"], "begin": "never"});
    let before = client(&a).asked("ask", call.clone()).await;
    // As the guide says: known everywhere first, then used.
    let folder = tempfile::tempdir().expect("a folder");
    let key = folder.path().join("key");
    let keyed = Options::probe().state_key(&key);
    let c = cluster.start(keyed).await;
    let done = before.through(&client(&c));
    done.result(json!({"x": accept("before")})).await;
    let path = key.to_str().expect("UTF-8");
    let knows = |options: Options| options.argument("--old-state-key").argument(path);
    let b = b
        .restart_with(knows(cluster.options(Options::probe())))
        .await;
    let after = client(&c).asked("ask", call).await;
    let done = after.through(&client(&b));
    done.result(json!({"x": accept("after")})).await;
    let refused = after.through(&client(&a));
    let refused = refused.answer(json!({"x": accept("after")})).await;
    refused.error(200, -32602);
}

async fn next_of(listen: &mut Listen, wanted: &Heard) {
    loop {
        let heard = listen.next().await.expect("more");
        if heard == *wanted {
            return;
        }
    }
}

#[tokio::test]
async fn a_listener_hears_what_components_of_another_node_say() {
    let cluster = Cluster::new();
    let offers = || cluster.start(Options::guest("offers"));
    let (a, b) = (offers().await, offers().await);
    let rules = "house://rules";
    let filter = json!({"resourceSubscriptions": [rules], "promptsListChanged": true});
    let mut listen = b.client().listen(filter).await;
    let touch = async |uri: &str, times: u32| {
        let arguments = json!({"uri": uri, "times": times});
        a.client().result("touch", arguments).await;
    };
    // What no node can be told is nobody's resource.
    touch("no\u{0}uri", 1).await;
    touch(&format!("house://{}", "x".repeat(10_000)), 1).await;
    touch(rules, 1_000).await;
    next_of(&mut listen, &Heard::Updated(rules.to_owned())).await;
    a.client()
        .result("relist", json!({"what": "prompts"}))
        .await;
    next_of(&mut listen, &Heard::PromptsChanged).await;
}
