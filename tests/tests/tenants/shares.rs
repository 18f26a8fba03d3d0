//! What a tenant may use: at its limits it is refused in words that say so, and others feel nothing.

use std::time::{Duration, Instant};

use crate::two::Two;
use cofferdam_postgres::Postgres;
use cofferdam_tests::{Client, Identity, Server, Task, accept, patient};
use serde_json::json;

/// A task that waits for its client, and so holds no instance.
async fn open(client: &Client) -> Task {
    let task = client.task("ask", json!({"keys": ["k"]})).await;
    task.until("input_required").await;
    task
}

async fn refused_a_task(client: &Client) {
    let answer = client.call("ask", json!({"keys": ["k"]})).await;
    let message = answer.message(200, -32603);
    assert_eq!(message, "Task limit reached");
}

#[tokio::test]
async fn a_tenant_at_its_tasks_leaves_those_of_others() {
    let database = Postgres::start();
    for store in ["sqlite", "memory:", &database.database()] {
        let two = Two::new("max-tasks = 2", "");
        let server = Server::start(two.config.probe().store(store)).await;
        let [flood, calm] = two.clients(&server);
        let first = open(&flood).await;
        open(&flood).await;
        refused_a_task(&flood).await;
        for _ in 0..4 {
            open(&calm).await;
        }
        refused_a_task(&flood).await;
        // It is refused tasks, nothing else.
        flood.result("echo", json!({"text": "x"})).await;
        first.cancel().await;
        first.until("cancelled").await;
        open(&flood).await;
        refused_a_task(&flood).await;
    }
}

// What is open is counted again from the store, for each tenant its own.
#[tokio::test]
async fn the_limit_of_tasks_outlives_the_server() {
    let two = Two::new("max-tasks = 2", "max-tasks = 3");
    let server = Server::start(two.config.probe()).await;
    let [flood, calm] = two.clients(&server);
    let (ended, kept) = (open(&flood).await, open(&flood).await);
    ended.cancel().await;
    ended.until("cancelled").await;
    open(&calm).await;
    open(&calm).await;
    let server = server.restart().await;
    let [flood, calm] = two.clients(&server);
    let next = open(&flood).await;
    refused_a_task(&flood).await;
    open(&calm).await;
    refused_a_task(&calm).await;

    // A lower limit ends nothing, but lets nothing begin until there is room.
    let text = std::fs::read_to_string(two.config.file()).expect("a configuration");
    let lower = text.replace("max-tasks = 2", "max-tasks = 1");
    two.config.put("cofferdam.toml", lower);
    let server = server.restart().await;
    let [flood, _calm] = two.clients(&server);
    for task in [&kept, &next] {
        refused_a_task(&flood).await;
        flood.task_cancel(task.id()).await.result();
    }
    open(&flood).await;
    refused_a_task(&flood).await;
}

// What waits for a tenant's own instance holds up nobody else's task, though it came first.
#[tokio::test]
async fn the_tasks_of_a_tenant_hold_up_no_others() {
    let two = Two::new("max-instances = 1", "");
    let options = two.config.probe().set("sandbox.instances", 4);
    let server = Server::start(options.set("tasks.park-after-ms", 10)).await;
    let [flood, calm] = two.clients(&server);
    let mut tasks = Vec::new();
    for _ in 0..8 {
        tasks.push(open(&flood).await);
    }
    let theirs = open(&calm).await;
    server.until_running(0, 0).await;
    // It keeps the only instance that the flood may have; the others wait for that.
    let keeper = flood.task("wait", json!({"how": "stubborn"})).await;
    for task in &tasks {
        task.update(json!({"k": accept("x")})).await;
    }
    let start = Instant::now();
    theirs.update(json!({"k": accept("x")})).await;
    theirs.until("completed").await;
    println!("another tenant's task went on after {:?}", start.elapsed());
    // No more than its share, when the other's instance is gone.
    let alone = async { while server.running().await.instances != 1 {} };
    patient("one instance", alone).await;
    keeper.cancel().await;
    for task in &tasks {
        task.until("completed").await;
    }
}

// Of tasks that all could run now, those of tenants do so in turn, however many one has.
#[tokio::test]
async fn tasks_of_tenants_take_turns() {
    let two = Two::new("", "");
    let options = two.config.probe().set("sandbox.instances", 2);
    let options = options.set("tasks.park-after-ms", 10);
    let server = Server::start(options.set("sandbox.cpu-ms", 100)).await;
    let [flood, calm] = two.clients(&server);
    let mut tasks = Vec::new();
    for _ in 0..60 {
        // Answered, it takes an instance until its CPU time is over.
        let arguments = json!({"keys": ["k"], "then": "spin"});
        let task = flood.task("ask", arguments).await;
        task.until("input_required").await;
        tasks.push(task);
    }
    let theirs = open(&calm).await;
    for task in &tasks {
        task.update(json!({"k": accept("x")})).await;
    }
    let start = Instant::now();
    theirs.update(json!({"k": accept("x")})).await;
    theirs.until("completed").await;
    let took = start.elapsed();
    let mut ended = 0;
    for task in &tasks {
        ended += usize::from(task.status().await == "failed");
    }
    println!(
        "another tenant's task went on after {took:?}; by then {ended} of the flood had ended"
    );
    assert!(
        ended < tasks.len() / 2,
        "{ended} of {} came first",
        tasks.len()
    );
}

// All subjects of a tenant share what it may.
#[tokio::test]
async fn a_limit_is_the_tenants_not_the_subjects() {
    let two = Two::new("max-tasks = 1", "");
    let other = Identity::new("flood", "other");
    let text = std::fs::read_to_string(two.config.file()).expect("a configuration");
    two.config.put("cofferdam.toml", text + &other.entry);
    let server = Server::start(two.config.probe()).await;
    let [flood, _calm] = two.clients(&server);
    let task = open(&flood).await;
    refused_a_task(&flood.bearing(&other.token)).await;
    task.cancel().await;
    task.until("cancelled").await;
    open(&flood.bearing(&other.token)).await;
}

#[tokio::test]
async fn a_tenant_at_its_instances_waits_then_is_refused() {
    let two = Two::new("max-instances = 2\nmax-waiting = 3", "");
    let server = Server::start(two.config.probe()).await;
    let [flood, calm] = two.clients(&server);
    let calls: Vec<_> = (0..9)
        .map(|_| {
            let flood = flood.clone();
            tokio::spawn(async move { flood.call("sleep", json!({"ms": 3000})).await })
        })
        .collect();
    server.until_running(2, 0).await;
    let start = Instant::now();
    calm.result("echo", json!({"text": "x"})).await;
    println!("another tenant's call took {:?}", start.elapsed());
    let mut refused = 0;
    for call in calls {
        let answer = call.await.expect("an answer");
        if answer.response.get("result").is_some() {
            continue;
        }
        refused += 1;
        let message = answer.message(200, -32603);
        let named = ["2 instances", "3 calls", "limits of the tenant"];
        assert!(named.iter().all(|part| message.contains(part)), "{message}");
    }
    assert_eq!(refused, 4, "two run, three wait");
    flood.result("echo", json!({"text": "x"})).await;
}

/// Calls one after the other, and how long each took.
async fn latencies(client: &Client, calls: usize) -> Vec<Duration> {
    let mut times = Vec::with_capacity(calls);
    for n in 0..calls {
        let start = Instant::now();
        client.result("echo", json!({"text": n.to_string()})).await;
        times.push(start.elapsed());
    }
    times.sort();
    times
}

// The flood has more calls at once than the server has instances and places to wait. All that the
// other tenant feels is a call that ends before its own begins.
#[tokio::test]
async fn a_flood_drowns_nobody_else() {
    let two = Two::new("max-waiting = 20", "");
    let server = Server::start(two.config.probe().set("sandbox.instances", 4)).await;
    let [flood, calm] = two.clients(&server);
    let before = latencies(&calm, 50).await;
    let floods: Vec<_> = (0..60)
        .map(|_| {
            let flood = flood.clone();
            tokio::spawn(async move {
                let (mut served, mut refused) = (0_usize, Vec::new());
                let end = Instant::now() + Duration::from_secs(4);
                while Instant::now() < end {
                    let answer = flood.call("sleep", json!({"ms": 20})).await;
                    if answer.response.get("result").is_some() {
                        served += 1;
                    } else {
                        refused.push(answer.message(200, -32603).to_owned());
                        tokio::time::sleep(Duration::from_millis(20)).await;
                    }
                }
                (served, refused)
            })
        })
        .collect();
    server.until_running(4, 0).await;
    let during = latencies(&calm, 50).await;
    let (mut served, mut refused) = (0, Vec::new());
    for flood in floods {
        let (some, more) = flood.await.expect("a flooding client");
        served += some;
        refused.extend(more);
    }
    let middle = |times: &[Duration]| times[times.len() / 2];
    println!(
        "another tenant's call: median {:?}, longest {:?} in a flood; median {:?} before it; the flood: \
         {served} served, {} refused",
        middle(&during),
        during.last(),
        middle(&before),
        refused.len()
    );
    assert!(
        served > 0 && !refused.is_empty(),
        "{served} {}",
        refused.len()
    );
    for message in &refused {
        let named = ["20 calls", "limits of the tenant"];
        assert!(named.iter().all(|part| message.contains(part)), "{message}");
    }
    // Behind the queue of the flood it would be 20 calls of 20 ms by 4, about 100 ms each.
    assert!(middle(&during) < Duration::from_secs(2), "{during:?}");
}
