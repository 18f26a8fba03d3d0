//! `notifications/tasks` (M-23; T-50, T-52): the acknowledgement, the present state, each change,
//! and a graceful end once there is nothing more to say.

use cofferdam_tests::{Client, Declares, FINAL, Heard, Listen, Options, Server, Task, bare};
use serde_json::json;

fn client(server: &Server) -> Client {
    server.client().declaring(Declares::TasksAndForms)
}

#[tokio::test]
async fn the_present_state_comes_right_after_the_acknowledgement() {
    let server = Server::start(Options::probe()).await;
    let client = client(&server);
    let task = client.task("wait", json!({})).await;
    let mut listen = client.listen_to(&[&task]).await;
    assert_eq!(listen.accepted(), &json!({"taskIds": [task.id()]}));
    let heard = listen.task().await;
    assert_eq!(heard["status"], "working");
    assert_eq!(bare(&heard), bare(&task.get().await));
}

#[tokio::test]
async fn every_state_is_told_as_tasks_get_tells_it() {
    let server = Server::start(Options::probe()).await;
    let client = client(&server);
    let task = client
        .task("ask", json!({"keys": ["first", "second"]}))
        .await;
    let mut listen = client.listen_to(&[&task]).await;

    let asked = listen.until("input_required").await;
    assert_eq!(bare(&asked), bare(&task.get().await));
    assert_eq!(
        asked["inputRequests"].as_object().map(|open| open.len()),
        Some(2)
    );

    // A part of the answers changes what is asked, so it is a change.
    task.update(json!({"first": {"action": "accept", "content": {"value": "1"}}}))
        .await;
    let rest = listen.task().await;
    assert_eq!(rest["status"], "input_required");
    assert_eq!(bare(&rest), bare(&task.get().await));
    assert_eq!(
        rest["inputRequests"].as_object().map(|open| open.len()),
        Some(1)
    );

    task.update(json!({"second": {"action": "decline"}})).await;
    let end = listen.until("completed").await;
    assert_eq!(bare(&end), bare(&task.get().await));
    assert_eq!(listen.next().await, Some(Heard::End));
    assert_eq!(listen.next().await, None);
}

#[tokio::test]
async fn progress_is_told_as_a_status_message_and_never_as_progress() {
    let server = Server::start(Options::probe()).await;
    let client = client(&server);
    // The call asks for progress and log lines; a task has neither, whoever listens.
    let call = client.tool("wait", json!({"progress": 3, "log": true}));
    let answer = call
        .meta("progressToken", json!("p"))
        .meta("logLevel", json!("debug"))
        .answer()
        .await;
    assert!(
        !answer.streamed || answer.notifications.is_empty(),
        "{answer:?}"
    );
    let task = Task::created(client.clone(), answer.result());
    let mut listen = client.listen_to(&[&task]).await;
    // What is no task state fails the listening itself.
    let state = loop {
        let state = listen.task().await;
        if state["statusMessage"] == "3/3" {
            break state;
        }
    };
    assert_eq!(state["status"], "working");
    task.cancel().await;
    listen.until("cancelled").await;
}

#[tokio::test]
async fn each_kind_of_end_is_told() {
    let server = Server::start(Options::probe()).await;
    let client = client(&server);
    for (tool, arguments, status) in [
        ("ask", json!({"keys": ["k"]}), "completed"),
        (
            "ask",
            json!({"keys": ["k"], "then": "tool-error"}),
            "completed",
        ),
        ("ask", json!({"keys": ["k"], "then": "rpc-error"}), "failed"),
        ("ask", json!({"keys": ["k"], "then": "trap"}), "failed"),
    ] {
        let task = client.task(tool, arguments.clone()).await;
        let mut listen = client.listen_to(&[&task]).await;
        listen.until("input_required").await;
        task.update(json!({"k": {"action": "decline"}})).await;
        let states = listen.rest().await;
        let last = states.last().expect("a state after the answer");
        assert_eq!(last["status"], status, "{arguments}");
        assert_eq!(bare(last), bare(&task.get().await), "{arguments}");
    }
}

#[tokio::test]
async fn a_cancelled_task_ends_the_stream() {
    let server = Server::start(Options::probe()).await;
    let client = client(&server);
    let task = client.task("wait", json!({})).await;
    let mut listen = client.listen_to(&[&task]).await;
    listen.until("working").await;
    task.cancel().await;
    let states = listen.rest().await;
    assert_eq!(states.last().expect("the end")["status"], "cancelled");
}

#[tokio::test]
async fn the_stream_ends_at_once_if_all_tasks_have_ended_before() {
    let server = Server::start(Options::probe()).await;
    let client = client(&server);
    let tasks = [
        client.task("finish", json!({})).await,
        client.task("finish", json!({})).await,
    ];
    for task in &tasks {
        task.until("completed").await;
    }
    let listen = client.listen_to(&[&tasks[0], &tasks[1]]).await;
    let states = listen.rest().await;
    assert_eq!(states.len(), 2, "one last state for each: {states:?}");
    for task in &tasks {
        let told = states
            .iter()
            .find(|state| state["taskId"] == task.id())
            .expect("a state of each");
        assert_eq!(bare(told), bare(&task.get().await));
    }
}

#[tokio::test]
async fn the_stream_lives_until_the_last_task_ends() {
    let server = Server::start(Options::probe()).await;
    let client = client(&server);
    let short = client.task("wait", json!({})).await;
    let long = client.task("wait", json!({})).await;
    let mut listen = client.listen_to(&[&short, &long]).await;
    short.cancel().await;
    loop {
        let state = listen.task().await;
        if state["taskId"] == short.id() && state["status"] == "cancelled" {
            break;
        }
    }
    long.cancel().await;
    let states = listen.rest().await;
    assert!(
        states.iter().all(|state| state["taskId"] == long.id()),
        "nothing follows an end: {states:?}"
    );
    assert_eq!(states.last().expect("the end")["status"], "cancelled");
}

// The end can come at any moment around the subscription; it must be told in each case.
#[tokio::test]
async fn the_end_is_never_missed() {
    let server = Server::start(Options::probe()).await;
    let client = client(&server);
    for _ in 0..50 {
        let task = client.task("finish", json!({})).await;
        let states = client.listen_to(&[&task]).await.rest().await;
        assert_eq!(states.last().expect("a state")["status"], "completed");
        let ends = states
            .iter()
            .filter(|state| FINAL.iter().any(|end| state["status"] == *end));
        assert_eq!(ends.count(), 1, "an end is told once: {states:?}");
    }
}

#[tokio::test]
async fn several_subscriptions_hear_the_same() {
    let server = Server::start(Options::probe()).await;
    let client = client(&server);
    let task = client.task("ask", json!({"keys": ["k"]})).await;
    let other = client.task("wait", json!({})).await;
    let mut listens = Vec::new();
    for tasks in [vec![&task], vec![&task, &other], vec![&task]] {
        listens.push(client.listen_to(&tasks).await);
    }
    for listen in &mut listens {
        listen.until("input_required").await;
    }
    task.update(json!({"k": {"action": "cancel"}})).await;
    for listen in &mut listens {
        let end = listen.until("completed").await;
        assert_eq!(bare(&end), bare(&task.get().await));
    }
    other.cancel().await;
}

#[tokio::test]
async fn a_subscription_is_named_by_the_id_of_its_request_in_its_own_type() {
    let server = Server::start(Options::probe()).await;
    let client = client(&server);
    for id in [
        json!("text"),
        json!("7"),
        json!(7),
        json!(1_796_000_000_000_i64),
        json!(""),
    ] {
        let task = client.task("finish", json!({})).await;
        let filter = json!({"notifications": {"taskIds": [task.id()]}});
        // The harness compares the tag of each message with the id.
        let listen = Listen::open(client.request("subscriptions/listen", filter).id(id)).await;
        assert!(!listen.rest().await.is_empty());
    }
}

// Closing the stream ends the subscription, never the task (T-53).
#[tokio::test]
async fn a_closed_stream_touches_no_task() {
    let server = Server::start(Options::probe()).await;
    let client = client(&server);
    let task = client.task("ask", json!({"keys": ["k"]})).await;
    let mut listen = client.listen_to(&[&task]).await;
    listen.until("input_required").await;
    drop(listen);
    assert_eq!(task.status().await, "input_required");
    task.update(json!({"k": {"action": "decline"}})).await;
    task.until("completed").await;
}
