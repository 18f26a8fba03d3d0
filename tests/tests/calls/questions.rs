//! Questions before a task begins (MCP 2026-07-28, "Multi round-trip requests"): the call is answered
//! with them, and goes on when it is made again with the answers and the state it was given. The
//! server keeps nothing in between.

use cofferdam_tests::{Answer, Asked, Client, Declares, Options, Server, accept, subjects};
use serde_json::{Value, json};

/// Arguments of a call that never becomes a task.
pub(crate) fn inline(keys: &[&str]) -> Value {
    json!({"keys": keys, "begin": "never"})
}

pub(crate) fn forms(server: &Server) -> Client {
    server.client().declaring(Declares::TasksAndForms)
}

#[tokio::test]
async fn every_kind_of_question_can_be_asked_and_answered() {
    let server = Server::start(Options::probe()).await;
    let client = server.client().declaring(Declares::Everything);
    let sampled =
        json!({"role": "assistant", "content": {"type": "text", "text": "x"}, "model": "m"});
    for (kind, answer, told) in [
        ("form", accept("x"), accept("x")),
        (
            "url",
            json!({"action": "accept"}),
            json!({"action": "accept"}),
        ),
        ("sampling", sampled, json!({"model": "m", "text": "x"})),
        (
            "roots",
            json!({"roots": [{"uri": "file:///a", "name": "A"}]}),
            json!(["file:///a"]),
        ),
    ] {
        let asked = client
            .asked(
                "ask",
                json!({"keys": ["k"], "kind": kind, "begin": "never"}),
            )
            .await;
        // A task asks in the same words.
        let task = client
            .task("ask", json!({"keys": ["k"], "kind": kind}))
            .await;
        let state = task.until("input_required").await;
        assert_eq!(asked.requests(), &state["inputRequests"], "{kind}");
        let result = asked.result(json!({"k": answer})).await;
        assert_eq!(result["structuredContent"], json!({"k": told}), "{kind}");
    }
}

#[tokio::test]
async fn each_round_asks_what_comes_next() {
    let server = Server::start(Options::probe()).await;
    let client = forms(&server);
    let arguments = json!({"keys": ["a", "b"], "again": ["c"], "begin": "never"});
    let first = client.asked("ask", arguments).await;
    assert_eq!(first.keys(), ["a", "b"]);
    let second = first
        .asked(json!({"b": {"action": "decline"}, "a": accept("1")}))
        .await;
    assert_eq!(second.keys(), ["c"]);
    assert_ne!(first.state(), second.state());
    let result = second.result(json!({"c": {"action": "cancel"}})).await;
    let told = json!({"a": accept("1"), "b": {"action": "decline"}, "c": {"action": "cancel"}});
    assert_eq!(result["structuredContent"], told);
    // The server keeps nothing: an earlier round can be taken up again, and go another way.
    let other = first
        .asked(json!({"a": {"action": "cancel"}, "b": accept("2")}))
        .await;
    let result = other.result(json!({"c": accept("3")})).await;
    let told = json!({"a": {"action": "cancel"}, "b": accept("2"), "c": accept("3")});
    assert_eq!(result["structuredContent"], told);
}

#[tokio::test]
async fn what_is_not_answered_is_asked_again() {
    let server = Server::start(Options::probe()).await;
    let asked = forms(&server).asked("ask", inline(&["a", "b", "c"])).await;
    for nothing in [json!({}), json!({"never": 5, "": null})] {
        let again = asked.asked(nothing).await;
        assert_eq!(again.requests(), asked.requests());
    }
    let call = asked.call(json!({})).edit(|message| {
        let params = message["params"].as_object_mut().expect("an object");
        params.shift_remove("inputResponses");
    });
    assert_eq!(
        call.answer().await.result()["inputRequests"],
        *asked.requests()
    );

    let rest = asked
        .asked(json!({"b": accept("first"), "never": {"ignored": true}}))
        .await;
    assert_eq!(rest.keys(), ["a", "c"]);
    // An answer stays as it was given.
    let last = rest
        .asked(json!({"a": accept("a"), "b": accept("second")}))
        .await;
    assert_eq!(last.keys(), ["c"]);
    let result = last.result(json!({"c": accept("c"), "b": 5})).await;
    assert_eq!(
        result["structuredContent"],
        json!({"a": accept("a"), "b": accept("first"), "c": accept("c")})
    );
}

#[tokio::test]
async fn a_malformed_answer_is_refused_and_names_its_key() {
    let server = Server::start(Options::probe()).await;
    let asked = forms(&server).asked("ask", inline(&["a", "b"])).await;
    for bad in [
        json!(5),
        json!(null),
        json!([]),
        json!({}),
        json!({"action": "maybe"}),
        json!({"action": "accept"}),
        json!({"action": "accept", "content": {}}),
        json!({"action": "accept", "content": {"value": 5}}),
        json!({"action": "accept", "content": {"value": {"deep": "er"}}}),
    ] {
        let answer = asked
            .answer(json!({"a": accept("good"), "b": bad.clone()}))
            .await;
        let message = answer.message(200, -32602);
        assert!(message.contains("\"b\""), "{bad}: {message}");
    }
    for bad in [json!(null), json!([]), json!("text"), json!(5)] {
        asked.answer(bad).await.error(200, -32602);
    }
    asked
        .result(json!({"a": accept("1"), "b": accept("2")}))
        .await;
}

// Nothing that a tool read, drew or recorded before a question is another thing after it.
#[tokio::test]
async fn every_kind_of_tool_goes_on_where_it_asked() {
    let server = Server::start(Options::guest("replay")).await;
    let client = server.client().declaring_json(json!({"elicitation": {}}));
    for subject in subjects() {
        let mut asked = client.asked(subject.tool, json!({})).await;
        let last = subject.rounds.len() - 1;
        for round in 0..last {
            assert_eq!(asked.keys(), subject.rounds[round]);
            asked = asked.asked(subject.answers(round)).await;
        }
        assert_eq!(asked.keys(), subject.rounds[last]);
        subject.check(&asked.result(subject.answers(last)).await);
    }
}

#[tokio::test]
async fn a_task_has_the_answers_from_before_it_began() {
    let server = Server::start(Options::guest("replay")).await;
    let asked = forms(&server)
        .asked("mixed", json!({"phase": "task"}))
        .await;
    let task = asked.task(json!({"a": accept("one")})).await;
    let state = task.until("input_required").await;
    let open = state["inputRequests"].as_object().expect("questions");
    assert_eq!(open.keys().collect::<Vec<_>>(), ["b", "c"]);
    // It is no question of the task.
    task.update(json!({"a": accept("late"), "b": accept("two"), "c": accept("three")}))
        .await;
    let end = task.until("completed").await;
    let text = end["result"]["content"][0]["text"].as_str().expect("text");
    let result: Value = serde_json::from_str(text).expect("JSON");
    assert_eq!(
        (&result["answers"], &result["same"]),
        (&json!(["one", "two", "three"]), &json!(true))
    );
    // The same answers again are another call, and another task.
    let other = asked.task(json!({"a": accept("one")})).await;
    assert_ne!(other.id(), task.id());
}

#[tokio::test]
async fn a_key_is_good_for_one_question_of_a_call() {
    let server = Server::start(Options::probe()).await;
    let client = forms(&server);
    let duplicate = |result: &Value| {
        assert_eq!(
            result["content"][0]["text"], "duplicate-keys: a",
            "{result}"
        );
    };
    duplicate(&client.result("ask", inline(&["a", "b", "a"])).await);
    let again = json!({"keys": ["a"], "again": ["b", "a"], "begin": "never"});
    let asked = client.asked("ask", again.clone()).await;
    duplicate(&asked.result(json!({"a": accept("x")})).await);
    let across = json!({"keys": ["a"], "again": ["b", "a"], "begin": "between"});
    let asked = client.asked("ask", across.clone()).await;
    let task = asked.task(json!({"a": accept("x")})).await;
    duplicate(&task.until("completed").await["result"]);

    // Also if it was answered before it was asked.
    let early = json!({"a": accept("x"), "b": accept("y")});
    let call = client
        .tool("ask", again)
        .param("inputResponses", early.clone());
    duplicate(call.answer().await.result());
    let call = client.tool("ask", across).param("inputResponses", early);
    let answer = call.answer().await;
    let task = cofferdam_tests::Task::created(client.clone(), answer.result());
    duplicate(&task.until("completed").await["result"]);
}

// Each request declares what its client can do; what an earlier one declared does not help.
#[tokio::test]
async fn only_a_client_that_can_answer_is_asked() {
    let server = Server::start(Options::probe()).await;
    let plain = server.client();
    let result = plain.result("ask", inline(&["k"])).await;
    let text = result["content"][0]["text"].as_str().expect("text");
    assert!(text.starts_with("missing-features"), "{text}");

    let needed = json!({"requiredCapabilities": {"elicitation": {"form": {}}}});
    let arguments = json!({"keys": ["a", "b"], "again": ["c"], "begin": "never"});
    let asked = forms(&server).asked("ask", arguments).await;
    let lesser = asked.through(&plain);
    let both = json!({"a": accept("1"), "b": accept("2")});
    for answers in [both.clone(), json!({"a": accept("1")}), json!({})] {
        let answer = lesser.answer(answers).await;
        assert_eq!(answer.error(400, -32021)["data"], needed);
    }
    // It need not be able to answer if nothing more is asked.
    let asked = asked.asked(both).await;
    asked
        .through(&plain)
        .result(json!({"c": accept("3")}))
        .await;
}

// Whether a call becomes a task is decided by the request that it does so in.
#[tokio::test]
async fn the_last_request_says_whether_its_client_knows_tasks() {
    let server = Server::start(Options::probe()).await;
    let with = forms(&server);
    let without = server.client().declaring_json(json!({"elicitation": {}}));
    let arguments = json!({"keys": ["k"], "begin": "between"});
    let answers = json!({"k": accept("x")});
    let asked = with.asked("ask", arguments.clone()).await;
    asked.through(&without).result(answers.clone()).await;
    let asked = without.asked("ask", arguments).await;
    let task = asked.through(&with).task(answers).await;
    task.until("completed").await;
}

fn told(answer: &Answer) -> Vec<String> {
    let tell = |note: &Value| {
        let params = &note["params"];
        match note["method"].as_str() {
            Some("notifications/progress") => format!("progress {}", params["progress"]),
            _ => {
                let text = &params["data"];
                let text = text.get("message").unwrap_or(text);
                text.as_str().unwrap_or_default().to_owned()
            }
        }
    };
    answer.notifications.iter().map(tell).collect()
}

#[tokio::test]
async fn what_was_told_is_not_told_again_in_a_later_round() {
    let server = Server::start(Options::guest("replay")).await;
    let client = forms(&server);
    let arguments = json!({"phase": "inline"});
    let wanting = |call: cofferdam_tests::Call| {
        call.meta("progressToken", json!("p"))
            .meta("logLevel", json!("debug"))
            .answer()
    };
    let first = wanting(client.tool("mixed", arguments.clone())).await;
    assert_eq!(told(&first), ["mixed begins", "progress 1.0"]);
    let asked = Asked::of(&client, "mixed", arguments.clone(), first.result());
    let second = wanting(asked.call(json!({"a": accept("a")}))).await;
    assert_eq!(
        told(&second),
        ["progress 2.0", "a step is done", "progress 3.0"]
    );
    let asked = Asked::of(&client, "mixed", arguments, second.result());
    let third = wanting(asked.call(json!({"b": accept("b"), "c": accept("c")}))).await;
    assert_eq!(told(&third), ["progress 4.0", "mixed ends"]);
    assert_eq!(third.result()["resultType"], "complete");
    server.log().line(&["mixed ends"]).await;
    let lines = ["mixed begins", "a step is done", "mixed ends"];
    assert_eq!(lines.map(|line| server.log().count(&[line])), [1, 1, 1]);
}

// What it prints is told to the log as its log lines are.
#[tokio::test]
async fn what_was_printed_is_not_printed_again() {
    let server = Server::start(Options::guest("probe-wasi")).await;
    let client = server.client().declaring(Declares::Everything);
    let asked = client.asked("say", json!({"lines": 1, "ask": true})).await;
    asked.result(json!({"go": {"action": "accept"}})).await;
    server.log().line(&["the last line"]).await;
    for line in ["stdout line 0", "stderr line 0", "the last line"] {
        assert_eq!(server.log().count(&[line, "tool=\"say\""]), 1, "{line}");
    }
}

// Answers to questions that a client expects may come with the first request.
#[tokio::test]
async fn answers_that_are_there_before_are_taken() {
    let server = Server::start(Options::probe()).await;
    let client = forms(&server);
    let arguments = json!({"keys": ["a", "b"], "again": ["c"], "begin": "never"});
    let offer = |answers: Value| {
        client
            .tool("ask", arguments.clone())
            .param("inputResponses", answers)
            .answer()
    };
    let answer = offer(json!({"c": accept("3"), "b": accept("2"), "a": accept("1"), "d": 5})).await;
    assert_eq!(
        answer.result()["structuredContent"],
        json!({"a": accept("1"), "b": accept("2"), "c": accept("3")})
    );
    let answer = offer(json!({"b": accept("2")})).await;
    let asked = Asked::of(&client, "ask", arguments.clone(), answer.result());
    assert_eq!(asked.keys(), ["a"]);
    let asked = asked.asked(json!({"a": accept("1")})).await;
    let result = asked.result(json!({"c": accept("3")})).await;
    assert_eq!(result["structuredContent"]["b"], accept("2"));
    // The first question is answered, the second is asked, and nothing is lost.
    let answer = offer(json!({"a": accept("1"), "b": accept("2")})).await;
    let asked = Asked::of(&client, "ask", arguments.clone(), answer.result());
    assert_eq!(asked.keys(), ["c"]);
    let result = asked.result(json!({"c": accept("3")})).await;
    assert_eq!(result["structuredContent"]["a"], accept("1"));

    let answer = offer(json!({"a": accept("1"), "b": 5})).await;
    assert!(answer.message(200, -32602).contains("\"b\""));
}
