//! What all calls of a tenant use together: memory, CPU time, results, progress, streams, stored tasks.
//! At each limit the refusal names its key, and the other tenant feels nothing.

use std::time::{Duration, Instant};

use crate::two::Two;
use cofferdam_tests::{Answer, Client, Declares, Listen, Server, accept, patient};
use serde_json::{Value, json};

fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().expect("text")
}

/// MiB that a call gets, one by one, until it is refused more.
async fn grown(client: &Client) -> usize {
    let result = client.result("grow", json!({})).await;
    text(&result).parse().expect("a number")
}

#[tokio::test]
async fn memory_is_a_tenants_together() {
    let two = Two::new("memory-bytes = 67_108_864", "");
    let server = Server::start(two.config.probe()).await;
    let [flood, calm] = two.clients(&server);
    let (alone, theirs) = (grown(&flood).await, grown(&calm).await);
    assert!((32..64).contains(&alone), "{alone}");
    assert!((128..256).contains(&theirs), "{theirs}");

    // What others of the tenant hold is missing, and only to the tenant.
    let mut held = Vec::new();
    for _ in 0..8 {
        held.push(flood.task("wait", json!({"how": "stubborn"})).await);
    }
    server.until_running(8, 8).await;
    let left = grown(&flood).await;
    println!("of {alone} MiB {left} are left beside 8 instances");
    assert!(left + 8 <= alone, "an instance has at least 1 MiB: {left}");
    let answer = flood.call("allocate", json!({"bytes": 60 << 20})).await;
    let message = answer.message(200, -32603);
    let named = ["tenants.flood.memory-bytes", "67108864 bytes"];
    assert!(named.iter().all(|part| message.contains(part)), "{message}");
    assert_eq!(grown(&calm).await, theirs);

    // It comes back from whatever ended: returned, trapped, cancelled, dropped after its grace.
    for task in &held {
        task.cancel().await;
    }
    server.until_running(0, 0).await;
    for bytes in [40 << 20, 100 << 20, 40 << 20] {
        let answer = flood.call("allocate", json!({"bytes": bytes})).await;
        assert_eq!(answer.response.get("result").is_some(), bytes < 64 << 20);
    }
    assert_eq!(grown(&flood).await, alone);
}

/// CPU time that a process used so far.
fn cpu_time(server: &Server) -> Duration {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", server.pid())).expect("a process");
    let (_, rest) = stat.rsplit_once(')').expect("a name");
    let ticks = rest.split_whitespace().skip(11).take(2);
    let ticks: u64 = ticks.map(|n| n.parse::<u64>().expect("ticks")).sum();
    // USER_HZ is 100 on every Linux.
    Duration::from_millis(ticks * 10)
}

#[tokio::test]
async fn cpu_time_is_a_tenants_together() {
    // 5 ms in a second when the first 300 are used.
    let two = Two::new("cpu-ms-per-minute = 300", "");
    let options = two.config.probe().set("sandbox.cpu-ms", 1_000);
    let options = options.set("tasks.park-after-ms", 10);
    let server = Server::start(options.set("sandbox.wall-ms", 6_000)).await;
    let [flood, calm] = two.clients(&server);
    let parked = flood.task("ask", json!({"keys": ["k"]})).await;
    parked.until("input_required").await;
    server.until_running(0, 0).await;

    let inline = flood.declaring(Declares::Nothing);
    let spin = tokio::spawn({
        let inline = inline.clone();
        async move { inline.call("finish", json!({"how": "spin"})).await }
    });
    let refused = patient("a call to be refused", async {
        loop {
            let answer = inline.call("echo", json!({"text": "x"})).await;
            if answer.response.get("error").is_some() {
                return answer;
            }
        }
    })
    .await;
    let message = refused.message(200, -32603);
    let named = ["tenants.flood.cpu-ms-per-minute", "300 ms", "try again in"];
    assert!(named.iter().all(|part| message.contains(part)), "{message}");
    // A task is refused nothing: its run waits.
    parked.update(json!({"k": accept("x")})).await;

    // What runs is slowed down to the budget's pace, and not by burning time.
    let (before, start) = (cpu_time(&server), Instant::now());
    calm.result("sleep", json!({"ms": 1_500})).await;
    let (used, passed) = (cpu_time(&server) - before, start.elapsed());
    println!("while it was slowed down the server used {used:?} in {passed:?}");
    assert!(used < passed / 2, "{used:?} in {passed:?}");
    for n in 0..20 {
        calm.result("echo", json!({"text": n.to_string()})).await;
    }
    // So the wall time ends it; at full speed it would have been its CPU time.
    let answer = spin.await.expect("an answer");
    let message = answer.message(200, -32603);
    assert!(message.contains("sandbox.wall-ms"), "{message}");

    parked.until("completed").await;
    patient("the tenant to be served again", async {
        while inline
            .call("echo", json!({"text": "x"}))
            .await
            .response
            .get("result")
            .is_none()
        {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    })
    .await;
}

#[tokio::test]
async fn results_have_the_tenants_size() {
    let two = Two::new("result-bytes = 2_000", "");
    let options = two.config.probe().set("tasks.park-after-ms", 10);
    let server = Server::start(options).await;
    let [flood, calm] = two.clients(&server);
    let too_large = |message: &str| {
        let named = ["tenants.flood.result-bytes", "2000"];
        assert!(named.iter().all(|part| message.contains(part)), "{message}");
    };
    flood.result("large", json!({"bytes": 1_000})).await;
    let answer = flood.call("large", json!({"bytes": 3_000})).await;
    too_large(answer.message(200, -32603));
    calm.result("large", json!({"bytes": 3_000})).await;
    // In a task, and in a later run of it.
    let task = flood
        .task("ask", json!({"keys": ["k"], "then": "large"}))
        .await;
    task.until("input_required").await;
    server.until_running(0, 0).await;
    task.update(json!({"k": accept("x")})).await;
    let end = task.until("failed").await;
    too_large(end["error"]["message"].as_str().expect("a message"));
    let long = json!({"how": "complete", "text": "x".repeat(3_000)});
    flood.task("finish", long).await.until("completed").await;
}

/// How many progress notifications a call gets.
async fn told(client: &Client) -> usize {
    let call = client.tool("progress", json!({"steps": 20}));
    let answer: Answer = call.meta("progressToken", json!("t")).answer().await;
    answer.result();
    answer.notifications.len()
}

#[tokio::test]
async fn progress_is_a_tenants_together() {
    let two = Two::new("progress-per-second = 3", "");
    let server = Server::start(two.config.probe()).await;
    let [flood, calm] = two.clients(&server);
    let start = Instant::now();
    let (first, second) = tokio::join!(told(&flood), told(&flood));
    let seconds = usize::try_from(start.elapsed().as_secs()).expect("a few");
    assert!(first + second >= 3, "{first} and {second}");
    assert!(
        first + second <= 3 * (seconds + 2),
        "{first} and {second} in {seconds} s"
    );
    let key = ["INFO", "tenants.flood.progress-per-second"];
    server.log().line(&key).await;
    assert_eq!(told(&calm).await, 20);

    // Of a task's messages the last one comes, whatever was dropped before: when there is room, and
    // when it gives its instance back.
    for how in ["stubborn", "sleep"] {
        told(&flood).await;
        let task = flood.task("wait", json!({"progress": 5, "how": how})).await;
        task.when("the last message", |now| now["statusMessage"] == "5/5")
            .await;
    }
    assert_eq!(told(&calm).await, 20);
}

async fn stream(client: &Client) -> Listen {
    client.listen(json!({"toolsListChanged": true})).await
}

async fn refused_a_stream(client: &Client, most: usize) {
    let filter = json!({"notifications": {"toolsListChanged": true}});
    let answer = client
        .request("subscriptions/listen", filter)
        .answer()
        .await;
    let message = answer.message(200, -32603);
    let named = ["tenants.flood.max-listens", &format!("is {most}")];
    assert!(named.iter().all(|part| message.contains(part)), "{message}");
}

#[tokio::test]
async fn a_tenant_has_its_own_streams() {
    // Half of all where the tenant says nothing.
    for (flood_may, all, most) in [("max-listens = 3", 1_024, 3), ("", 4, 2)] {
        let two = Two::new(flood_may, "");
        let server = Server::start(two.config.probe().set("server.max-listens", all)).await;
        let [flood, calm] = two.clients(&server);
        let mut open = Vec::new();
        for _ in 0..most {
            open.push(stream(&flood).await);
        }
        for _ in 0..3 {
            refused_a_stream(&flood, most).await;
        }
        let _theirs = (stream(&calm).await, stream(&calm).await);
        // A closed stream leaves its place.
        open.pop();
        patient("a place to be free", async {
            let filter = json!({"notifications": {"toolsListChanged": true}});
            loop {
                let call = flood.request("subscriptions/listen", filter.clone());
                let response = call.send().await;
                if response.header("content-type") == "text/event-stream" {
                    return;
                }
            }
        })
        .await;
    }
}

async fn finished(client: &Client) {
    client
        .task("finish", json!({}))
        .await
        .until("completed")
        .await;
}

async fn refused_a_task(client: &Client) {
    let answer = client.call("finish", json!({})).await;
    assert_eq!(answer.message(200, -32603), "Task limit reached");
}

#[tokio::test]
async fn a_tenant_has_its_own_stored_tasks() {
    for store in ["sqlite", "memory:"] {
        // Half of all where the tenant says nothing.
        for (flood_may, all) in [("max-stored-tasks = 2", 10_000), ("", 4)] {
            let two = Two::new(flood_may, "");
            let options = two.config.probe().store(store).set("tasks.max", all);
            let server = Server::start(options).await;
            let [flood, calm] = two.clients(&server);
            finished(&flood).await;
            finished(&flood).await;
            refused_a_task(&flood).await;
            let key = ["WARN", "tenants.flood.max-stored-tasks"];
            server.log().line(&key).await;
            finished(&calm).await;
            finished(&calm).await;
            // It is refused tasks, nothing else.
            flood.result("echo", json!({"text": "x"})).await;
        }
    }
}

// Finished tasks count until they are gone, also after a restart.
#[tokio::test]
async fn stored_tasks_count_until_they_are_removed() {
    let two = Two::new("max-stored-tasks = 2", "");
    let server = Server::start(two.config.probe()).await;
    let [flood, _calm] = two.clients(&server);
    finished(&flood).await;
    finished(&flood).await;
    let options = two.config.probe();
    let server = server.restart().await;
    let [flood, calm] = two.clients(&server);
    refused_a_task(&flood).await;
    finished(&calm).await;
    let short = options
        .set("tasks.ttl-ms", 200)
        .set("tasks.min-retention-ms", 0)
        .set("tasks.sweep-ms", 50);
    let server = server.restart_with(short).await;
    let [flood, calm] = two.clients(&server);
    refused_a_task(&flood).await;
    finished(&calm).await;
    // The next one's life is short, so there is room for it again and again.
    let two = Two::new("max-stored-tasks = 1", "");
    let options = two.config.probe().set("tasks.ttl-ms", 200);
    let options = options
        .set("tasks.min-retention-ms", 0)
        .set("tasks.sweep-ms", 50);
    let server = Server::start(options).await;
    let [flood, _calm] = two.clients(&server);
    finished(&flood).await;
    refused_a_task(&flood).await;
    patient("room for a task", async {
        while flood
            .call("finish", json!({}))
            .await
            .response
            .get("result")
            .is_none()
        {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await;
}
