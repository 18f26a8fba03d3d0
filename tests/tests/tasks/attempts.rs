//! Attempts: a trap or a limit ends one, and the next begins from the top with the answers and the
//! records of those before it. The task is `working` in between, and says why.

use std::time::{Duration, Instant};

use cofferdam_tests::{Client, Declares, FINAL, Listen, Options, Running, Server, Task, accept};
use serde_json::{Value, json};

fn client(server: &Server) -> Client {
    server.client().declaring(Declares::TasksAndForms)
}

fn message(state: &Value) -> &str {
    state["statusMessage"].as_str().unwrap_or_default()
}

/// Listens until an attempt has failed, and gives the task's state then.
async fn failed(listen: &mut Listen, attempt: &str) -> Value {
    loop {
        let state = listen.task().await;
        let end = FINAL.iter().any(|end| state["status"] == *end);
        assert!(!end, "attempt {attempt} did not fail: {state}");
        if message(&state).starts_with(&format!("Attempt {attempt} failed: ")) {
            return state;
        }
    }
}

#[tokio::test]
async fn a_flaky_tool_gets_through() {
    let server = Server::start(Options::guest("replay")).await;
    let client = client(&server);
    let start = Instant::now();
    let task = client
        .task("flaky", json!({"fails": 2, "attempts": 3}))
        .await;
    let mut listen = client.listen_to(&[&task]).await;
    // The pauses are one second and two; no attempt begins before.
    for (attempt, least) in [("1 of 3", 0), ("2 of 3", 1)] {
        let state = failed(&mut listen, attempt).await;
        assert_eq!(state["status"], "working");
        assert!(
            message(&state).contains("unexpectedly"),
            "the cause is named: {state}"
        );
        assert!(start.elapsed() >= Duration::from_secs(least));
    }
    let states = listen.rest().await;
    assert!(
        start.elapsed() >= Duration::from_secs(3),
        "{:?}",
        start.elapsed()
    );
    let end = states.last().expect("the end");
    assert_eq!(end["status"], "completed");
    assert_eq!(end["result"]["content"][0]["text"], r#"{"tries":3}"#);
    assert_eq!(end.get("statusMessage"), None);
}

#[tokio::test]
async fn the_last_failure_fails_the_task() {
    let server = Server::start(Options::probe()).await;
    let client = client(&server);
    let once = client.task("retry", json!({"traps": 1})).await;
    let twice = client
        .task("retry", json!({"traps": 9, "options": {"attempts": 2}}))
        .await;
    let mut listen = client.listen_to(&[&twice]).await;
    failed(&mut listen, "1 of 2").await;
    let states = listen.rest().await;
    let last = states.last().expect("the end").clone();
    for end in [once.until("failed").await, last] {
        assert_eq!(end["error"]["code"], -32603);
        assert!(
            message(&end).starts_with("The tool stopped unexpectedly"),
            "{end}"
        );
        assert_eq!(end["error"]["message"], end["statusMessage"]);
    }
}

// What a handler returns is its answer, however it sounds.
#[tokio::test]
async fn an_answer_is_not_tried_again() {
    let server = Server::start(Options::probe()).await;
    let client = client(&server);
    for (how, status) in [("tool-error", "completed"), ("rpc-error", "failed")] {
        let arguments = json!({"how": how, "options": {"attempts": 3}});
        let task = client.task("finish", arguments).await;
        let states = client.listen_to(&[&task]).await.rest().await;
        assert_eq!(states.last().expect("the end")["status"], status);
        assert!(
            states
                .iter()
                .all(|state| !message(state).starts_with("Attempt")),
            "{states:?}"
        );
    }
}

async fn asks_and_traps(client: &Client) -> (Task, Listen) {
    let arguments = json!({"traps": 1, "keys": ["a", "b"], "options": {"attempts": 2}});
    let task = client.task("retry", arguments).await;
    let mut listen = client.listen_to(&[&task]).await;
    listen.until("input_required").await;
    (task, listen)
}

#[tokio::test]
async fn what_was_answered_is_not_asked_again() {
    let server = Server::start(Options::probe()).await;
    let client = client(&server);
    let (task, mut listen) = asks_and_traps(&client).await;
    task.update(json!({"a": accept(""), "b": {"action": "decline"}}))
        .await;
    let state = failed(&mut listen, "1 of 2").await;
    assert_eq!(state["status"], "working");
    let states = listen.rest().await;
    assert!(
        states
            .iter()
            .all(|state| state["status"] != "input_required"),
        "{states:?}"
    );
    let end = states.last().expect("the end");
    assert_eq!(end["result"]["content"][0]["text"], "2");
}

// An attempt that is over by its time leaves its question to the next one.
#[tokio::test]
async fn an_open_question_outlives_its_attempt() {
    let options = Options::probe()
        .set("tasks.park-after-ms", 20)
        .set("sandbox.task-wall-ms", 400);
    let server = Server::start(options).await;
    let client = client(&server);
    let arguments = json!({"keys": ["k"], "options": {"attempts": 9}});
    let task = client.task("ask", arguments).await;
    let asked = task.until("input_required").await;
    let mut listen = client.listen_to(&[&task]).await;
    let state = failed(&mut listen, "1 of 9").await;
    assert!(
        message(&state).contains("limit sandbox.task-wall-ms"),
        "{state}"
    );
    assert_eq!(state["status"], "input_required");
    assert_eq!(state["inputRequests"], asked["inputRequests"]);
    task.update(json!({"k": accept("late")})).await;
    let states = listen.rest().await;
    let end = states.last().expect("the end");
    assert_eq!(
        end["result"]["structuredContent"],
        json!({"k": accept("late")})
    );
}

#[tokio::test]
async fn attempts_outlive_the_server() {
    let mut server = Server::start(Options::guest("replay")).await;
    let before = client(&server);
    let task = before
        .task("flaky", json!({"fails": 1, "attempts": 2}))
        .await;
    let mut listen = before.listen_to(&[&task]).await;
    let state = failed(&mut listen, "1 of 2").await;
    server.kill();
    let server = server.restart().await;
    let task = task.through(&client(&server));
    assert_eq!(task.get().await["statusMessage"], state["statusMessage"]);
    let end = task.until("completed").await;
    assert_eq!(end["result"]["content"][0]["text"], r#"{"tries":2}"#);
}

// The next attempt waits until the one before is really gone.
#[tokio::test]
async fn an_attempt_that_does_not_stop_is_dropped_before_the_next() {
    let options = Options::probe()
        .set("tasks.grace-ms", 1_200)
        .set("sandbox.task-wall-ms", 300);
    let server = Server::start(options).await;
    let client = client(&server);
    let arguments = json!({"how": "stubborn", "options": {"attempts": 2}});
    let task = client.task("wait", arguments).await;
    let mut listen = client.listen_to(&[&task]).await;
    failed(&mut listen, "1 of 2").await;
    let one = Running {
        instances: 1,
        tasks: 1,
    };
    assert_eq!(server.running().await, one);
    let states = listen.rest().await;
    let end = states.last().expect("the end");
    assert!(message(end).contains("limit sandbox.task-wall-ms"), "{end}");
    server.until_running(0, 0).await;
    server
        .log()
        .nth_line(1, &["dropped a run that went on"])
        .await;
}

#[tokio::test]
async fn a_pause_between_attempts_ends_at_the_ttl() {
    let server = Server::start(Options::probe().set("tasks.sweep-ms", 3_600_000)).await;
    let client = client(&server);
    let options = json!({"attempts": 100, "ttl": 1_500});
    let task = client
        .task("retry", json!({"traps": 99, "options": options}))
        .await;
    let mut listen = client.listen_to(&[&task]).await;
    failed(&mut listen, "2 of 100").await;
    let states = listen.rest().await;
    let end = states.last().expect("the end");
    assert!(message(end).contains("ttl"), "{end}");
}

#[tokio::test]
async fn a_task_can_be_cancelled_between_attempts() {
    let server = Server::start(Options::probe()).await;
    let client = client(&server);
    let arguments = json!({"traps": 9, "options": {"attempts": 100}});
    let task = client.task("retry", arguments).await;
    let mut listen = client.listen_to(&[&task]).await;
    failed(&mut listen, "1 of 100").await;
    server.until_running(0, 0).await;
    task.cancel().await;
    let states = listen.rest().await;
    assert_eq!(states.last().expect("the end")["status"], "cancelled");
}

// Each limit says which of its clocks it means.
#[tokio::test]
async fn limits_of_time_name_their_clock() {
    for (limit, value, how, clock) in [
        (
            "sandbox.cpu-ms",
            200,
            "spin",
            "used more than 200 ms of CPU time, waiting not counted (limit sandbox.cpu-ms)",
        ),
        (
            "sandbox.task-wall-ms",
            300,
            "sleep",
            "took too long, counted from its start and waiting included (limit sandbox.task-wall-ms)",
        ),
    ] {
        let server = Server::start(Options::probe().set(limit, value)).await;
        let client = client(&server);
        let arguments = json!({"how": how, "options": {"attempts": 2}});
        let task = client.task("finish", arguments).await;
        let mut listen = client.listen_to(&[&task]).await;
        let state = failed(&mut listen, "1 of 2").await;
        assert!(message(&state).ends_with(clock), "{how}: {state}");
        task.cancel().await;
    }
}
