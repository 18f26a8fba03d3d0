//! Limits of a call (M-30): at each, the call ends with an error that names it, in time, and the
//! server serves on.

use std::time::{Duration, Instant};

use cofferdam_tests::{Declares, Options, Server};
use serde_json::{Value, json};

/// Calls a tool that must end at `limit`, and sees that the server serves on.
async fn ends_at(limit: &str, value: u64, tool: &str, arguments: Value) -> Duration {
    let server = Server::start(Options::probe().set(limit, value)).await;
    let start = Instant::now();
    let answer = server.client().call(tool, arguments).await;
    let took = start.elapsed();
    let message = answer.message(200, -32603);
    assert!(message.contains(limit), "the limit is named: {message}");
    server
        .client()
        .result("echo", json!({"text": "alive"}))
        .await;
    took
}

#[tokio::test]
async fn cpu_time() {
    let took = ends_at("sandbox.cpu-ms", 200, "finish", json!({"how": "spin"})).await;
    assert!(
        took >= Duration::from_millis(200) && took < Duration::from_secs(15),
        "{took:?}"
    );
}

// Time in the host counts as well: a guest that sleeps is not forgotten.
#[tokio::test]
async fn wall_time() {
    for (tool, arguments) in [
        ("sleep", json!({"ms": 60_000})),
        ("finish", json!({"how": "spin"})),
    ] {
        let took = ends_at("sandbox.wall-ms", 300, tool, arguments).await;
        assert!(
            took >= Duration::from_millis(300) && took < Duration::from_secs(15),
            "{took:?}"
        );
    }
}

#[tokio::test]
async fn sleeping_costs_no_cpu_time() {
    let server = Server::start(Options::probe().set("sandbox.cpu-ms", 100)).await;
    server.client().result("sleep", json!({"ms": 500})).await;
}

#[tokio::test]
async fn memory() {
    ends_at(
        "sandbox.memory-bytes",
        16 << 20,
        "allocate",
        json!({"bytes": 64 << 20}),
    )
    .await;
    let server = Server::start(Options::probe().set("sandbox.memory-bytes", 128 << 20)).await;
    server
        .client()
        .result("allocate", json!({"bytes": 64 << 20}))
        .await;
}

#[tokio::test]
async fn the_size_of_a_result() {
    ends_at(
        "sandbox.result-bytes",
        10_000,
        "large",
        json!({"bytes": 10_001}),
    )
    .await;
    let server = Server::start(Options::probe().set("sandbox.result-bytes", 10_000)).await;
    server
        .client()
        .result("large", json!({"bytes": 9_000}))
        .await;
}

// What the server keeps of a call, so that it can be run again.
#[tokio::test]
async fn the_journal_of_a_call() {
    let limit = "tasks.journal-bytes";
    let many = json!({"steps": 200, "delay_ms": 0});
    ends_at(limit, 4096, "progress", many.clone()).await;
    let server = Server::start(Options::probe().set(limit, 1 << 20)).await;
    server.client().result("progress", many).await;
}

// The same limits hold for tasks, where they fail the task.
#[tokio::test]
async fn limits_of_a_task_fail_it() {
    let finish = |how: &str| ("finish", json!({"how": how}));
    for (limit, value, (tool, arguments)) in [
        ("sandbox.cpu-ms", 200, finish("spin")),
        ("sandbox.task-wall-ms", 300, finish("sleep")),
        ("sandbox.result-bytes", 10_000, finish("large")),
        ("sandbox.memory-bytes", 16 << 20, finish("allocate")),
        (
            "tasks.journal-bytes",
            4096,
            ("steps", json!({"number": 200, "pause": 0})),
        ),
    ] {
        let server = Server::start(Options::probe().set(limit, value)).await;
        let end = server
            .client()
            .declaring(Declares::Tasks)
            .task(tool, arguments)
            .await
            .end()
            .await;
        assert_eq!(
            (&end["status"], &end["error"]["code"]),
            (&json!("failed"), &json!(-32603)),
            "{end}"
        );
        let message = end["statusMessage"]
            .as_str()
            .expect("checked by the schema");
        assert!(message.contains(limit), "the limit is named: {message}");
    }
}

// Calls over the number of instances wait for one; only a crowd is refused.
#[tokio::test]
async fn instances() {
    let server = Server::start(Options::probe().set("sandbox.instances", 1)).await;
    let calls: Vec<_> = (0..16)
        .map(|_| tokio::spawn(server.client().tool("sleep", json!({"ms": 300})).answer()))
        .collect();
    let (mut served, mut refused) = (0, 0);
    for call in calls {
        let answer = call.await.expect("an answer");
        if answer.response.get("error").is_some() {
            let message = answer.message(200, -32603);
            assert!(message.contains("sandbox.instances"), "{message}");
            refused += 1;
        } else {
            served += 1;
        }
    }
    // One runs, four wait, and whoever came after an end found room again.
    assert!(
        served >= 5 && refused >= 1,
        "{served} served, {refused} refused"
    );
    server
        .client()
        .result("echo", json!({"text": "alive"}))
        .await;
}

// An instance gave its permit back before its slot was free: the next call found the pool full.
#[tokio::test]
async fn a_free_permit_has_a_free_slot() {
    let server = Server::start(Options::probe().set("sandbox.instances", 1)).await;
    // One runs, and four wait: as many as may.
    let callers: Vec<_> = (0..5)
        .map(|_| {
            let client = server.client();
            tokio::spawn(async move {
                for _ in 0..300 {
                    client.result("echo", json!({"text": "x"})).await;
                }
            })
        })
        .collect();
    for caller in callers {
        caller.await.expect("a result of each call");
    }
}
