//! Questions, before a call is a task and in one; and what a run after the answer sees.

use std::sync::Arc;

use cofferdam_tests::{Declares, Task, accept};
use serde_json::{Value, json};

use crate::plain::text;
use crate::stage::Stage;

fn sure(sure: bool) -> Value {
    json!({"sure": {"action": "accept", "content": {"sure": sure}}})
}

fn refused(key: &str, action: &str) -> Value {
    json!({key: {"action": action}})
}

/// The result's text, when the task is done.
async fn told(task: &Task) -> String {
    text(&task.until("completed").await["result"])
}

/// Waits until the task asks under this key.
async fn until_asked(task: &Task, key: &str) {
    task.when(key, |now| now["inputRequests"].get(key).is_some())
        .await;
}

pub(crate) async fn an_inline_call_asks_before_it_goes_on(stage: Arc<Stage>) {
    for (answer, result) in [(true, "yes"), (false, "no")] {
        let asked = stage.asked("confirm").await;
        let question = &asked.requests()["sure"];
        assert_eq!(question["method"], "elicitation/create");
        let form = &question["params"];
        assert_eq!(form["message"], "Are you sure?");
        assert_eq!(
            form["requestedSchema"]["properties"]["sure"]["type"], "boolean",
            "{form}"
        );
        assert_eq!(text(&asked.result(sure(answer)).await), result);
    }
}

pub(crate) async fn a_refusal_is_an_answer(stage: Arc<Stage>) {
    for action in ["decline", "cancel"] {
        let asked = stage.asked("confirm").await;
        assert_eq!(text(&asked.result(refused("sure", action)).await), action);

        let task = stage.task("confirm", json!({})).await;
        until_asked(&task, "sure").await;
        task.update(refused("sure", action)).await;
        assert_eq!(told(&task).await, action);

        let asked = stage.asked("sequence").await;
        let result = asked.result(refused("first", action)).await;
        assert_eq!(
            (&result["isError"], text(&result)),
            (&json!(true), format!("first: {action}"))
        );
    }
}

pub(crate) async fn a_client_that_cannot_be_asked_is_told_what_it_lacks(stage: Arc<Stage>) {
    let client = stage.server.client().declaring(Declares::Tasks);
    let answer = client.call("confirm", json!({})).await;
    let error = &answer.response["error"];
    assert_eq!(error["code"], -32021, "{answer:?}");
    let task = client.task("confirm", json!({"phase": "task"})).await;
    assert_eq!(task.until("failed").await["error"]["code"], -32021);
}

pub(crate) async fn questions_come_one_after_the_other(stage: Arc<Stage>) {
    let expected = json!({"first": "größer", "second": "\"two\"\n"});
    let check = |told: String| {
        let told: Value = serde_json::from_str(&told).expect("JSON");
        assert_eq!(told, expected);
    };
    let asked = stage.asked("sequence").await;
    assert_eq!(asked.keys(), ["first"]);
    let asked = asked.asked(json!({"first": accept("größer")})).await;
    assert_eq!(asked.keys(), ["second"]);
    let answer = json!({"second": accept("\"two\"\n")});
    check(text(&asked.result(answer.clone()).await));

    let task = stage.task("sequence", json!({})).await;
    until_asked(&task, "first").await;
    task.update(json!({"first": accept("größer")})).await;
    until_asked(&task, "second").await;
    task.update(answer).await;
    check(told(&task).await);
}

pub(crate) async fn questions_come_together(stage: Arc<Stage>) {
    let answers = json!({"left": accept("l"), "right": accept("r")});
    let expected = r#"{"left":"l","right":"r"}"#;
    let asked = stage.asked("two_keys").await;
    assert_eq!(asked.keys(), ["left", "right"]);
    assert_eq!(text(&asked.result(answers).await), expected);

    let task = stage.task("two_keys", json!({})).await;
    until_asked(&task, "left").await;
    // One at a time will do.
    task.update(json!({"right": accept("r")})).await;
    task.update(json!({"left": accept("l")})).await;
    assert_eq!(told(&task).await, expected);
}

// Inline, the answer comes with another request. A task that waits is parked: it has no instance.
pub(crate) async fn a_run_after_the_answer_sees_what_the_first_saw(stage: Arc<Stage>) {
    let steps = r#"["655c5ffd","8bd62bed","5e15514d","873b6465","dd1697cd"]"#;
    for (tool, expected) in [
        ("random", r#"{"same":true,"answer":"on"}"#.to_owned()),
        (
            "clock",
            r#"{"same":true,"ordered":true,"answer":"on"}"#.to_owned(),
        ),
        ("steps", format!(r#"{{"steps":{steps},"answer":"on"}}"#)),
    ] {
        let go = json!({"go": accept("on")});
        let asked = stage.asked(tool).await;
        assert_eq!(text(&asked.result(go.clone()).await), expected, "{tool}");

        let task = stage.task(tool, json!({})).await;
        until_asked(&task, "go").await;
        stage.server.until_running(0, 0).await;
        task.update(go).await;
        assert_eq!(told(&task).await, expected, "{tool}");
    }
}
