//! Parking: a task that waits long gives its instance back, and is run again to where it was when
//! there is something to do. Clients see nothing of it.

use std::time::{Duration, Instant};

use cofferdam_tests::{Client, Declares, Options, Running, Server, Task, accept, subjects};
use serde_json::{Value, json};

fn client(server: &Server) -> Client {
    server.client().declaring(Declares::TasksAndForms)
}

/// Waiting tasks are parked after so many milliseconds; nobody sweeps while the test runs.
fn parking(guest: &str, after_ms: u64) -> Options {
    Options::guest(guest)
        .set("tasks.park-after-ms", after_ms)
        .set("tasks.sweep-ms", 3_600_000)
}

async fn until_asked(task: &Task, count: usize) {
    let asked = |now: &Value| now["inputRequests"].as_object().map(|open| open.len());
    task.when("questions", |now| asked(now) == Some(count))
        .await;
}

#[tokio::test]
async fn one_instance_serves_many_that_wait_and_sleep() {
    const EACH: usize = 12;
    let options = parking("probe", 50).set("sandbox.instances", 1);
    let server = Server::start(options).await;
    let client = client(&server);
    let (mut waiting, mut sleeping) = (Vec::new(), Vec::new());
    for _ in 0..EACH {
        waiting.push(
            client
                .task("ask", json!({"keys": ["a"], "again": ["b"]}))
                .await,
        );
        sleeping.push(client.task("wait", json!({})).await);
    }
    for task in &waiting {
        until_asked(task, 1).await;
    }
    server.until_running(0, 0).await;

    // The instance is free for everyone.
    server
        .client()
        .result("echo", json!({"text": "free"}))
        .await;
    for (n, task) in waiting.iter().enumerate() {
        task.update(json!({"a": accept(&n.to_string())})).await;
    }
    for task in &waiting {
        task.when("the second question", |now| {
            now["inputRequests"].get("b").is_some()
        })
        .await;
    }
    for task in waiting.iter().rev() {
        task.update(json!({"b": {"action": "decline"}})).await;
    }
    for (n, task) in waiting.iter().enumerate() {
        let end = task.until("completed").await;
        assert_eq!(
            end["result"]["structuredContent"],
            json!({"a": accept(&n.to_string()), "b": {"action": "decline"}})
        );
    }
    for task in sleeping {
        assert_eq!(task.status().await, "working");
        task.cancel().await;
    }
    server.until_running(0, 0).await;
}

// Until then it keeps its instance.
#[tokio::test]
async fn a_short_wait_is_waited_out() {
    let server = Server::start(parking("probe", 3_600_000)).await;
    let task = client(&server).task("ask", json!({"keys": ["k"]})).await;
    until_asked(&task, 1).await;
    let one = Running {
        instances: 1,
        tasks: 1,
    };
    assert_eq!(server.running().await, one);
    task.update(json!({"k": {"action": "decline"}})).await;
    task.until("completed").await;
    server.until_running(0, 0).await;
}

#[tokio::test]
async fn a_timer_brings_a_sleeper_back() {
    let server = Server::start(parking("probe", 50)).await;
    let client = client(&server);
    let start = Instant::now();
    let task = client
        .task("steps", json!({"number": 2, "pause": 400}))
        .await;
    let listen = client.listen_to(&[&task]).await;
    server.until_running(0, 0).await;
    let states = listen.rest().await;
    assert!(
        start.elapsed() >= Duration::from_millis(800),
        "never early: {:?}",
        start.elapsed()
    );
    let end = states.last().expect("the end");
    assert_eq!(end["result"]["content"][0]["text"], "done");
    // Each step was told once, though the second run went through both; the first may have been over
    // before anyone listened.
    let mut messages: Vec<&str> = states
        .iter()
        .filter_map(|state| state["statusMessage"].as_str())
        .collect();
    messages.dedup();
    assert!(
        ["step 1", "step 2"].ends_with(&messages[..]),
        "{messages:?}"
    );
}

// One that the server made a task in the middle of its sleep waits no other way.
#[tokio::test]
async fn a_sleep_that_began_before_the_task_is_parked() {
    let options = parking("probe", 50).set("tasks.detach-after-ms.sleep", 30);
    let server = Server::start(options).await;
    let client = client(&server);
    let task = client.task("sleep", json!({"ms": 1_500})).await;
    server.until_running(0, 0).await;
    assert_eq!(task.status().await, "working");
    let states = client.listen_to(&[&task]).await.rest().await;
    let end = states.last().expect("the end");
    assert_eq!(end["result"]["content"][0]["text"], "slept");
}

// Sleeping by the standard library is no other thing.
#[tokio::test]
async fn every_kind_of_tool_can_be_parked() {
    let options = parking("replay", 1).set("sandbox.instances", 1);
    let server = Server::start(options).await;
    let client = client(&server);
    let mut tasks = Vec::new();
    for subject in subjects() {
        let task = subject.begin(&client).await;
        tasks.push((subject, task));
    }
    for (subject, task) in &tasks {
        for round in subject.before_task..subject.rounds.len() {
            let keys = &subject.rounds[round];
            task.when("its question", |now| {
                now["inputRequests"].get(keys[0]).is_some()
            })
            .await;
            server.until_running(0, 0).await;
            task.update(subject.answers(round)).await;
        }
    }
    for (subject, task) in &tasks {
        subject.check(&task.until("completed").await["result"]);
    }
}

#[tokio::test]
async fn a_cancelled_one_ends_and_is_not_run_again() {
    let server = Server::start(parking("probe", 20)).await;
    let client = client(&server);
    let waiting = client.task("ask", json!({"keys": ["k"]})).await;
    let sleeping = client.task("wait", json!({"mark": "mark"})).await;
    until_asked(&waiting, 1).await;
    server.until_running(0, 0).await;
    for task in [waiting, sleeping] {
        let mut listen = client.listen_to(&[&task]).await;
        task.cancel().await;
        listen.until("cancelled").await;
        task.update(json!({"k": {"action": "decline"}})).await;
        assert_eq!(task.status().await, "cancelled");
    }
    // Whatever else would have been run by now, was.
    let other = client.task("ask", json!({"keys": ["k"]})).await;
    until_asked(&other, 1).await;
    server.until_running(0, 0).await;
    other.update(json!({"k": {"action": "decline"}})).await;
    other.until("completed").await;
    server.until_running(0, 0).await;
    let log = server.log().text();
    assert!(
        !log.contains("mark"),
        "its handler would have said so: {log}"
    );
}

// Listeners are told at that time, though nothing runs that could look at the clock.
#[tokio::test]
async fn the_ttl_and_the_wall_time_end_it_when_they_are_over() {
    let options = parking("probe", 20).set("sandbox.task-wall-ms", 900);
    let server = Server::start(options).await;
    let client = client(&server);
    let start = Instant::now();
    let mut listens = Vec::new();
    for (ttl, named) in [(500, "ttl"), (60_000, "sandbox.task-wall-ms")] {
        let options = json!({"ttl": ttl});
        for (tool, arguments) in [
            ("wait", json!({"options": options})),
            ("ask", json!({"keys": ["k"], "options": options})),
        ] {
            let task = client.task(tool, arguments).await;
            listens.push((client.listen_to(&[&task]).await, named));
        }
    }
    server.until_running(0, 0).await;
    for (listen, named) in listens {
        let states = listen.rest().await;
        let least = if named == "ttl" { 500 } else { 900 };
        assert!(
            start.elapsed() >= Duration::from_millis(least),
            "never early: {:?}",
            start.elapsed()
        );
        let end = states.last().expect("the end");
        assert_eq!(end["status"], "failed");
        let message = end["statusMessage"]
            .as_str()
            .expect("checked by the schema");
        assert!(message.contains(named), "{message}");
    }
    assert!(
        start.elapsed() < Duration::from_secs(20),
        "no sweep was needed: {:?}",
        start.elapsed()
    );
}

// A run begins when all is answered, and once, however the answers come.
#[tokio::test]
async fn racing_answers_bring_it_back_once() {
    const ROUNDS: usize = 10;
    let server = Server::start(parking("replay", 1)).await;
    let client = client(&server);
    for _ in 0..ROUNDS {
        let asked = client.asked("mixed", json!({"phase": "task"})).await;
        let task = asked.task(json!({"a": accept("a")})).await;
        until_asked(&task, 2).await;
        server.until_running(0, 0).await;
        let racing: Vec<_> = ["b", "c"]
            .map(|key| {
                let task = task.clone();
                tokio::spawn(async move { task.update(json!({key: accept(key)})).await })
            })
            .into();
        for update in racing {
            update.await.expect("it is acknowledged");
        }
        task.until("completed").await;
    }
    server.log().nth_line(ROUNDS - 1, &["mixed ends"]).await;
    server.until_running(0, 0).await;
    let lines = ["mixed begins", "a step is done", "mixed ends"];
    assert_eq!(lines.map(|line| server.log().count(&[line])), [ROUNDS; 3]);
}

#[tokio::test]
async fn half_of_the_answers_bring_nothing_back() {
    let server = Server::start(parking("probe", 20)).await;
    let task = client(&server)
        .task("ask", json!({"keys": ["a", "b"]}))
        .await;
    until_asked(&task, 2).await;
    server.until_running(0, 0).await;
    task.update(json!({"b": {"action": "decline"}})).await;
    let none = Running {
        instances: 0,
        tasks: 0,
    };
    for _ in 0..3 {
        assert_eq!(server.running().await, none);
    }
    task.update(json!({"a": {"action": "decline"}})).await;
    task.until("completed").await;
}
