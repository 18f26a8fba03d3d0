//! Questions before a task begins (MCP 2026-07-28, "Multi round-trip requests"): the call is answered
//! with them, and goes on when it is made again with the answers and the state it was given. The
//! server keeps nothing in between.

use std::path::{Path, PathBuf};

use cofferdam_tests::{Answer, Asked, Client, Declares, Options, Server, accept, guest, subjects};
use serde_json::{Value, json};

/// Arguments of a call that never becomes a task.
fn inline(keys: &[&str]) -> Value {
    json!({"keys": keys, "begin": "never"})
}

fn forms(server: &Server) -> Client {
    server.client().declaring(Declares::TasksAndForms)
}

/// Sends the answers with another state, which must be refused; returns why.
async fn refused(asked: &Asked, state: impl Into<Value>) -> String {
    let call = asked.call(json!({})).param("requestState", state.into());
    call.answer().await.message(200, -32602).to_owned()
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

// Nothing is learnt from a refusal: whatever does not verify is refused in the same words.
#[tokio::test]
async fn a_state_is_good_for_its_call_only() {
    let server = Server::start(Options::guest("replay")).await;
    let client = forms(&server);
    let arguments = json!({"phase": "inline"});
    let asked = client.asked("clock", arguments.clone()).await;
    let state = asked.state();
    let changed = |place: usize| {
        let mut bytes = state.as_bytes().to_vec();
        bytes[place] = if bytes[place] == b'A' { b'B' } else { b'A' };
        String::from_utf8(bytes).expect("base64")
    };
    let length = state.len();
    let other_arguments = client.asked("clock", json!({})).await;
    let other_tool = client.asked("random", arguments.clone()).await;
    let stranger = Server::start(Options::guest("replay")).await;
    let other_server = forms(&stranger).asked("clock", arguments).await;
    let words = refused(&asked, "").await;
    assert!(words.contains("\"requestState\""), "{words}");
    for foreign in [
        changed(0),
        changed(length / 2),
        changed(length - 1),
        state[..length - 1].to_owned(),
        state[..length / 2].to_owned(),
        state[..10].to_owned(),
        format!("{state}A"),
        format!("{state}="),
        format!(" {state}"),
        "no base64 at all!".to_owned(),
        "é".repeat(100),
        other_arguments.state().to_owned(),
        other_tool.state().to_owned(),
        other_server.state().to_owned(),
    ] {
        assert_eq!(refused(&asked, foreign.clone()).await, words, "{foreign}");
    }
    for no_text in [json!(5), json!(null), json!({}), json!([state])] {
        refused(&asked, no_text).await;
    }
    // The right one is good still, and the same call may be written in another way.
    asked.result(json!({"go": accept("x")})).await;
    let call = asked.call(json!({"go": accept("x")}));
    let message = call.message().clone();
    let spaced = message
        .to_string()
        .replace(r#"{"phase":"inline"}"#, "{ \"phase\" :\n\"inline\" }");
    assert!(spaced.contains('\n'));
    let answer = Answer::read(&message, call.send_body(spaced).await).await;
    assert_eq!(answer.result()["resultType"], "complete");
}

#[tokio::test]
async fn a_state_expires() {
    let server = Server::start(Options::probe().set("tasks.answer-ms", 1)).await;
    let asked = forms(&server).asked("ask", inline(&["k"])).await;
    // It took longer than that to come here, and on the clock as well.
    tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    let message = refused(&asked, asked.state()).await;
    assert!(
        message.contains("\"requestState\" has expired"),
        "{message}"
    );
    // That it is old is told to those only who have a good one.
    let message = refused(&asked, &asked.state()[1..]).await;
    assert!(!message.contains("expired"), "{message}");
}

/// A copy of the test component that differs, but in no tool.
fn another_version(folder: &Path) -> PathBuf {
    let mut bytes = std::fs::read(guest("probe")).expect("a component");
    // A custom section of the name `test`.
    bytes.extend([0, 5, 4]);
    bytes.extend(b"test");
    let file = folder.join("probe.wasm");
    std::fs::write(&file, bytes).expect("a file");
    file
}

#[tokio::test]
async fn a_call_goes_on_at_a_restarted_server() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut server = Server::start(Options::probe()).await;
    let arguments = json!({"keys": ["a"], "again": ["k"], "begin": "never"});
    let first = forms(&server).asked("ask", arguments).await;
    server.kill();
    let mut server = server.restart().await;
    let second = first
        .through(&forms(&server))
        .asked(json!({"a": accept("1")}))
        .await;
    server.stop().await;
    let server = server.restart().await;
    let second = second.through(&forms(&server));
    let result = second.result(json!({"k": accept("2")})).await;
    assert_eq!(
        result["structuredContent"],
        json!({"a": accept("1"), "k": accept("2")})
    );

    // Another version of the tool might not ask the same.
    let other = Options::default().and(another_version(folder.path()));
    let mut server = server.restart_with(other).await;
    let words = refused(&second.through(&forms(&server)), second.state()).await;
    // Without its key the server knows nothing any more.
    server.kill();
    std::fs::remove_file(server.data().join("request-state.key")).expect("it is there");
    let server = server.restart_with(Options::probe()).await;
    let second = second.through(&forms(&server));
    assert_eq!(refused(&second, second.state()).await, words);
}

#[tokio::test]
async fn a_call_goes_on_at_another_server_with_the_same_key() {
    let folder = tempfile::tempdir().expect("a folder");
    let key = folder.path().join("key");
    let options = Options::probe().state_key(&key);
    let one = Server::start(options.clone()).await;
    let made = std::fs::metadata(&key).expect("the server made it");
    assert_eq!(
        std::os::unix::fs::PermissionsExt::mode(&made.permissions()) & 0o777,
        0o600
    );
    let two = Server::start(options.set("tasks.enabled", false)).await;
    let arguments = json!({"keys": ["a"], "again": ["b"], "begin": "never"});
    let asked = forms(&one).asked("ask", arguments).await;
    let asked = asked
        .through(&forms(&two))
        .asked(json!({"a": accept("1")}))
        .await;
    let result = asked
        .through(&forms(&one))
        .result(json!({"b": accept("2")}))
        .await;
    assert_eq!(
        result["structuredContent"],
        json!({"a": accept("1"), "b": accept("2")})
    );

    std::fs::write(&key, b"short").expect("a file");
    let (status, text) = Server::refuse(Options::probe().state_key(&key)).await;
    assert!(!status.success() && text.contains("no key"), "{text}");
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

// M-30: what the client has to carry is limited.
#[tokio::test]
async fn a_call_with_too_much_behind_it_cannot_ask() {
    let server = Server::start(Options::probe()).await;
    let client = forms(&server);
    let asks = |kept: usize| json!({"keys": ["k"], "begin": "never", "kept": kept});
    let answer = client.call("ask", asks(1 << 20)).await;
    let message = answer.message(200, -32603);
    assert!(
        message.contains("1048576") && message.contains("requestState"),
        "{message}"
    );
    let asked = client.asked("ask", asks(1_000_000)).await;
    asked.result(json!({"k": accept("x")})).await;
    // A task keeps it itself.
    let task = client
        .task("ask", json!({"keys": ["k"], "kept": 1 << 20}))
        .await;
    task.until("input_required").await;
}
