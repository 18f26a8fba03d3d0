//! Questions and answers (M-14, M-15; section D).

use cofferdam_tests::{Client, Declares, Options, Server, Task, accept};
use serde_json::{Value, json};

fn client(server: &Server) -> Client {
    server.client().declaring(Declares::TasksAndForms)
}

fn open(state: &Value) -> Vec<&str> {
    state["inputRequests"]
        .as_object()
        .map(|open| open.keys().map(String::as_str).collect())
        .unwrap_or_default()
}

async fn asks(client: &Client, keys: &[&str]) -> Task {
    let task = client.task("ask", json!({"keys": keys})).await;
    let state = task.until("input_required").await;
    assert_eq!(open(&state), keys);
    task
}

#[tokio::test]
async fn answers_reach_the_tool() {
    let server = Server::start(Options::probe()).await;
    let task = asks(&client(&server), &["a", "b", "c"]).await;
    task.update(json!({"c": {"action": "cancel"}, "a": accept("yes"), "b": {"action": "decline"}}))
        .await;
    let end = task.until("completed").await;
    let expected = json!({"a": {"action": "accept", "content": {"value": "yes"}}, "b": {"action": "decline"}, "c": {"action": "cancel"}});
    assert_eq!(end["result"]["structuredContent"], expected);
}

// T-35, T-38: a part is taken at once, and the task waits for the rest.
#[tokio::test]
async fn a_part_of_the_answers_leaves_the_rest_open() {
    let server = Server::start(Options::probe()).await;
    let task = asks(&client(&server), &["a", "b", "c"]).await;
    task.update(json!({"b": accept("b")})).await;
    let state = task.get().await;
    assert_eq!(
        (state["status"].as_str(), open(&state)),
        (Some("input_required"), vec!["a", "c"])
    );
    task.update(json!({"a": accept("a")})).await;
    assert_eq!(open(&task.get().await), ["c"]);
    task.update(json!({"c": accept("c")})).await;
    let end = task.until("completed").await;
    assert_eq!(
        end["result"]["structuredContent"]["b"]["content"]["value"],
        "b"
    );
}

// T-37: what is not asked is passed over, whatever it is; the first answer wins.
#[tokio::test]
async fn keys_that_are_not_open_are_passed_over() {
    let server = Server::start(Options::probe()).await;
    let task = asks(&client(&server), &["a", "b"]).await;
    let before = task.get().await;
    task.update(json!({"never": {"ignored": true}, "": 5, "x": null}))
        .await;
    task.update(json!({})).await;
    assert_eq!(task.get().await, before);
    task.update(json!({"a": accept("first"), "never": 5})).await;
    task.update(json!({"a": accept("second")})).await;
    task.update(json!({"a": 5})).await;
    assert_eq!(open(&task.get().await), ["b"]);
    task.update(json!({"b": accept("b")})).await;
    let end = task.until("completed").await;
    assert_eq!(
        end["result"]["structuredContent"]["a"]["content"]["value"],
        "first"
    );
}

// T-40: an answer that does not fit refuses the whole update, and the question stays.
#[tokio::test]
async fn a_malformed_answer_is_refused_and_changes_nothing() {
    let server = Server::start(Options::probe()).await;
    let task = asks(&client(&server), &["a", "b"]).await;
    let before = task.get().await;
    for bad in [
        json!(5),
        json!(null),
        json!("accept"),
        json!([]),
        json!({}),
        json!({"action": "maybe"}),
        json!({"action": 1}),
        json!({"action": "accept"}),
        json!({"action": "accept", "content": "text"}),
        json!({"action": "accept", "content": {}}),
        json!({"action": "accept", "content": {"value": 5}}),
        json!({"action": "accept", "content": {"value": {"deep": "er"}}}),
    ] {
        let answer = task.answer(json!({"a": accept("good"), "b": bad})).await;
        let message = answer.message(200, -32602);
        assert!(
            message.contains("\"b\""),
            "the key is named for {bad}: {message}"
        );
        assert_eq!(task.get().await, before, "{bad}");
    }
    task.update(json!({"a": accept("1"), "b": accept("2")}))
        .await;
    task.until("completed").await;
}

// T-36 and T-41.
#[tokio::test]
async fn an_update_needs_a_task_and_an_object() {
    let server = Server::start(Options::probe()).await;
    let client = client(&server);
    client
        .task_update(&"A".repeat(43), json!({"k": accept("x")}))
        .await
        .error(200, -32602);
    let task = asks(&client, &["k"]).await;
    for bad in [json!(null), json!([]), json!("text"), json!(5), json!(true)] {
        task.answer(bad).await.error(200, -32602);
    }
    let missing = client.request("tasks/update", json!({"taskId": task.id()}));
    missing.answer().await.error(200, -32602);
    assert_eq!(task.status().await, "input_required");
}

// T-39: nothing is open, so there is nothing to take.
#[tokio::test]
async fn an_update_of_a_task_that_asks_nothing_is_acknowledged() {
    let server = Server::start(Options::probe()).await;
    let client = client(&server);
    let task = client.task("wait", json!({})).await;
    let before = task.get().await;
    task.update(json!({"k": accept("x")})).await;
    assert_eq!(task.get().await, before);
    let task = client.task("finish", json!({})).await;
    let end = task.until("completed").await;
    task.update(json!({"k": accept("x")})).await;
    assert_eq!(task.get().await, end);
}

// T-32: a key is good for one question in a task's life.
#[tokio::test]
async fn a_key_is_used_once() {
    let server = Server::start(Options::probe()).await;
    let task = asks(&client(&server), &["a"]).await;
    task.update(json!({"a": accept("x")})).await;
    task.until("completed").await;

    let task = client(&server)
        .task("ask", json!({"keys": ["a"], "again": ["a", "b"]}))
        .await;
    task.until("input_required").await;
    task.update(json!({"a": accept("x")})).await;
    let end = task.until("completed").await;
    assert_eq!(end["result"]["content"][0]["text"], "duplicate-keys: a");

    let task = client(&server)
        .task("ask", json!({"keys": ["a", "b", "a"]}))
        .await;
    let end = task.until("completed").await;
    assert_eq!(end["result"]["content"][0]["text"], "duplicate-keys: a");
}

#[tokio::test]
async fn a_tool_can_ask_again_and_again() {
    let server = Server::start(Options::probe()).await;
    let client = client(&server);
    let task = client
        .task("ask", json!({"keys": ["a"], "again": ["b"]}))
        .await;
    let mut listen = client.listen_to(&[&task]).await;
    for key in ["a", "b"] {
        loop {
            let state = listen.until("input_required").await;
            if open(&state) == [key] {
                break;
            }
        }
        task.update(json!({key: accept(key)})).await;
    }
    listen.until("completed").await;
}

// M-14: requests are checked before anything is asked.
#[tokio::test]
async fn malformed_questions_go_back_to_the_tool() {
    let server = Server::start(Options::probe()).await;
    for (arguments, named) in [
        (json!({"keys": []}), "invalid"),
        (json!({"keys": [""]}), "invalid"),
        (json!({"keys": ["x".repeat(257)]}), "invalid"),
        (
            json!({"keys": (0..33).map(|n| n.to_string()).collect::<Vec<_>>()}),
            "32",
        ),
        (json!({"keys": ["k"], "schema": "nonsense"}), "k"),
        (
            json!({"keys": ["k"], "schema": "{\"type\":\"array\"}"}),
            "k",
        ),
    ] {
        let end = client(&server)
            .task("ask", arguments.clone())
            .await
            .until("completed")
            .await;
        let text = end["result"]["content"][0]["text"].as_str().expect("text");
        assert!(
            text.starts_with("invalid") && text.contains(named),
            "{arguments}: {text}"
        );
    }
}

// T-33: only what the creating request declared may be asked.
#[tokio::test]
async fn nothing_is_asked_that_the_client_did_not_declare() {
    let server = Server::start(Options::probe()).await;
    let plain = server.client().declaring(Declares::Tasks);
    for kind in ["form", "url", "sampling", "roots"] {
        let end = plain
            .task("ask", json!({"keys": ["k"], "kind": kind}))
            .await
            .until("completed")
            .await;
        let text = end["result"]["content"][0]["text"].as_str().expect("text");
        assert!(text.starts_with("missing-features"), "{kind}: {text}");
    }
    // What a later request declares does not matter.
    let task = client(&server)
        .task("ask", json!({"keys": ["k"]}))
        .await
        .through(&plain);
    task.until("input_required").await;
    task.update(json!({"k": {"action": "decline"}})).await;
    task.until("completed").await;
}

#[tokio::test]
async fn every_kind_of_question_can_be_asked_and_answered() {
    let server = Server::start(Options::probe()).await;
    let client = server.client().declaring(Declares::Everything);
    let sampled = json!({"role": "assistant", "content": {"type": "text", "text": "x"}, "model": "m", "stopReason": "endTurn"});
    for (kind, good, bad) in [
        ("form", accept("x"), json!({"action": "accept"})),
        ("url", json!({"action": "accept"}), json!({"action": "yes"})),
        (
            "sampling",
            sampled,
            json!({"role": "assistant", "content": {"type": "text", "text": "x"}}),
        ),
        (
            "roots",
            json!({"roots": [{"uri": "file:///a", "name": "A"}]}),
            json!({"roots": [{"name": "A"}]}),
        ),
    ] {
        let task = client
            .task("ask", json!({"keys": ["k"], "kind": kind}))
            .await;
        task.until("input_required").await;
        task.answer(json!({"k": bad})).await.error(200, -32602);
        task.update(json!({"k": good})).await;
        let end = task.until("completed").await;
        assert_ne!(end["result"]["isError"], json!(true), "{kind}: {end}");
        assert_eq!(
            end["result"]["structuredContent"]
                .as_object()
                .map(|told| told.len()),
            Some(1)
        );
    }
}
