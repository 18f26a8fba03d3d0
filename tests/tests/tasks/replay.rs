//! Exact replay: a task goes on where it was, whatever happened to its server, with the answers that
//! it was given before, on the component that it started with; or it fails and says why it cannot.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use cofferdam_tests::{
    Client, Declares, Options, Server, Subject, Task, accept, bare, guest, patient, sql, subjects,
};
use serde_json::{Value, json};

fn client(server: &Server) -> Client {
    server.client().declaring(Declares::TasksAndForms)
}

/// The ways in which a server goes.
#[derive(Clone, Copy)]
enum Loss {
    Kill,
    Stop,
}

impl Loss {
    /// The server goes, and comes back.
    async fn happens(self, mut server: Server) -> Server {
        match self {
            Self::Kill => server.kill(),
            Self::Stop => server.stop().await,
        }
        server.restart().await
    }
}

fn open(state: &Value) -> Vec<&str> {
    let open = state["inputRequests"].as_object();
    open.map(|open| open.keys().map(String::as_str).collect())
        .unwrap_or_default()
}

async fn until_asked(task: &Task, keys: &[&str]) -> Value {
    task.when(&format!("a question for {keys:?}"), |now| open(now) == keys)
        .await
}

async fn failure(task: &Task) -> String {
    let end = task.until("failed").await;
    assert_eq!(end["error"]["code"], -32603, "{end}");
    assert_eq!(end["error"]["message"], end["statusMessage"]);
    end["statusMessage"]
        .as_str()
        .expect("checked by the schema")
        .to_owned()
}

/// Every subject loses its server while it waits, and again as soon as it has its answers.
async fn subjects_outlive(loss: Loss) {
    let server = Server::start(Options::guest("replay")).await;
    let before = client(&server);
    let mut asked: Vec<(Subject, Task, Value)> = Vec::new();
    for subject in subjects() {
        let task = subject.begin(&before).await;
        let state = until_asked(&task, &subject.rounds[subject.before_task]).await;
        asked.push((subject, task, state));
    }

    let server = loss.happens(server).await;
    let between = client(&server);
    for (subject, task, state) in &asked {
        let task = task.through(&between);
        assert_eq!(task.get().await.to_string(), state.to_string());
        task.update(subject.answers(subject.before_task)).await;
    }

    let server = loss.happens(server).await;
    let after = client(&server);
    for (subject, task, _) in asked {
        let task = task.through(&after);
        for round in subject.before_task + 1..subject.rounds.len() {
            // What was answered before is not asked again.
            until_asked(&task, &subject.rounds[round]).await;
            task.update(subject.answers(round)).await;
        }
        subject.check(&task.until("completed").await["result"]);
    }
}

#[tokio::test]
async fn every_kind_of_tool_ends_right_though_its_server_is_killed() {
    subjects_outlive(Loss::Kill).await;
}

#[tokio::test]
async fn every_kind_of_tool_ends_right_though_its_server_is_stopped() {
    subjects_outlive(Loss::Stop).await;
}

// Whatever a task is doing at that moment.
#[tokio::test]
async fn a_running_a_waiting_and_a_sleeping_task_survive() {
    for loss in [Loss::Kill, Loss::Stop] {
        let options = Options::probe().set("tasks.park-after-ms", 20);
        let server = Server::start(options).await;
        let before = client(&server);
        let waiting = before
            .task("ask", json!({"keys": ["a"], "again": ["b"]}))
            .await;
        until_asked(&waiting, &["a"]).await;
        waiting.update(json!({"a": accept("1")})).await;
        let asked = until_asked(&waiting, &["b"]).await;
        let start = Instant::now();
        let sleeping = before
            .task("steps", json!({"number": 2, "pause": 400}))
            .await;
        server.until_running(0, 0).await;
        let running = before.task("work", json!({"millions": 300})).await;
        running
            .when("the work to begin", |now| now["statusMessage"] == "at work")
            .await;

        let server = loss.happens(server).await;
        server.log().line(&["unfinished tasks go on"]).await;
        let after = client(&server);
        let waiting = waiting.through(&after);
        assert_eq!(waiting.get().await.to_string(), asked.to_string());
        waiting.update(json!({"b": {"action": "cancel"}})).await;
        assert_eq!(
            waiting.until("completed").await["result"]["structuredContent"],
            json!({"a": accept("1"), "b": {"action": "cancel"}})
        );
        let end = sleeping.through(&after).until("completed").await;
        assert_eq!(end["result"]["content"][0]["text"], "done");
        assert!(
            start.elapsed() >= Duration::from_millis(800),
            "it slept as long as it wanted: {:?}",
            start.elapsed()
        );
        let end = running.through(&after).until("completed").await;
        let sum: u64 = 300_000_000 * 299_999_999 / 2;
        assert_eq!(end["result"]["content"][0]["text"], sum.to_string());
    }
}

// One that the server made a task, since its tool did not.
#[tokio::test]
async fn a_slow_call_that_became_a_task_survives() {
    let options = Options::probe().set("tasks.detach-after-ms.sleep", 30);
    let server = Server::start(options).await;
    let start = Instant::now();
    let task = client(&server).task("sleep", json!({"ms": 900})).await;
    let server = Loss::Kill.happens(server).await;
    server.log().line(&["1 unfinished tasks go on"]).await;
    let end = task.through(&client(&server)).until("completed").await;
    assert_eq!(end["result"]["content"][0]["text"], "slept");
    assert!(start.elapsed() >= Duration::from_millis(900));
}

#[tokio::test]
async fn of_two_questions_only_the_open_one_is_still_asked() {
    let server = Server::start(Options::guest("replay")).await;
    let task = client(&server)
        .task("two_keys", json!({"phase": "task"}))
        .await;
    until_asked(&task, &["left", "right"]).await;
    task.update(json!({"left": accept("before")})).await;
    let server = Loss::Kill.happens(server).await;
    let task = task.through(&client(&server));
    assert_eq!(open(&task.get().await), ["right"]);
    // The answer that was given stays, whoever answers again.
    task.update(json!({"left": accept("again"), "right": accept("after")}))
        .await;
    let end = task.until("completed").await;
    assert_eq!(
        end["result"]["content"][0]["text"],
        r#"{"left":"before","right":"after"}"#
    );
}

// A run that goes the way of an earlier one is silent until it has passed it.
#[tokio::test]
async fn what_was_told_is_not_told_again() {
    let options = Options::guest("replay").set("tasks.park-after-ms", 1);
    let server = Server::start(options).await;
    let told = |server: &Server| {
        ["mixed begins", "a step is done", "mixed ends"].map(|line| server.log().count(&[line]))
    };
    let before = client(&server);
    let asked = before.asked("mixed", json!({"phase": "task"})).await;
    let task = asked.task(json!({"a": accept("a")})).await;
    until_asked(&task, &["b", "c"]).await;
    server.until_running(0, 0).await;
    // It was run three times by then: for its question, as a task, and not for half of the answers.
    task.update(json!({"b": accept("b")})).await;
    server.until_running(0, 0).await;
    assert_eq!(told(&server), [1, 1, 0]);
    let last = task.get().await["statusMessage"].clone();

    let server = Loss::Kill.happens(server).await;
    let after = client(&server);
    let task = task.through(&after);
    let listen = after.listen_to(&[&task]).await;
    task.update(json!({"c": accept("c")})).await;
    let states = listen.rest().await;
    assert_eq!(states.last().expect("the end")["status"], "completed");
    for state in &states {
        let message = state.get("statusMessage");
        assert!(
            message.is_none_or(|message| *message == last || message == "compared"),
            "{states:?}"
        );
    }
    server.log().line(&["mixed ends"]).await;
    assert_eq!(told(&server), [0, 0, 1]);
}

/// A folder with a component in it.
fn folder(name: &str) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("tools.wasm");
    std::fs::copy(guest(name), &file).expect("a copy");
    (folder, file)
}

/// The components that a server keeps.
fn kept(server: &Server) -> Vec<PathBuf> {
    let folder = std::fs::read_dir(server.data().join("components")).expect("the folder");
    let mut files: Vec<PathBuf> = folder.flatten().map(|file| file.path()).collect();
    files.sort();
    files
}

// Both components have a tool `sleep`, and the later one is another.
#[tokio::test]
async fn a_task_ends_on_the_component_it_started_with() {
    let (_folder, file) = folder("replay");
    let mut server = Server::start(Options::default().and(file.clone())).await;
    let task = client(&server)
        .task("sleep", json!({"phase": "task"}))
        .await;
    until_asked(&task, &["go"]).await;
    let [old] = kept(&server).try_into().expect("one component");

    // Replaced.
    server.kill();
    std::fs::copy(guest("probe"), &file).expect("a copy");
    let mut server = server.restart().await;
    assert_eq!(kept(&server).len(), 2);
    server.client().result("sleep", json!({"ms": 1})).await;

    // Removed.
    server.kill();
    std::fs::remove_file(&file).expect("it is there");
    let server = server.restart_with(Options::guest("probe-wasi")).await;
    assert!(kept(&server).contains(&old));
    server
        .client()
        .call("sleep", json!({}))
        .await
        .error(200, -32602);
    let task = task.through(&client(&server));
    task.update(json!({"go": accept("go")})).await;
    let end = task.until("completed").await;
    assert_eq!(
        end["result"]["content"][0]["text"],
        r#"{"answer":"go","slept":true}"#
    );

    // Needed no more, it goes at the next start.
    let server = server.restart().await;
    let gone = async {
        while kept(&server).contains(&old) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    patient("the old component to be gone", gone).await;
}

fn change(file: &Path) {
    let mut bytes = std::fs::read(file).expect("it can be read");
    bytes.push(0);
    std::fs::write(file, bytes).expect("it can be written");
}

#[tokio::test]
async fn a_task_whose_component_is_not_to_be_had_fails() {
    let mut server = Server::start(Options::guest("replay")).await;
    let removed = client(&server)
        .task("sleep", json!({"phase": "task"}))
        .await;
    until_asked(&removed, &["go"]).await;
    let [first] = kept(&server).try_into().expect("one component");
    server.kill();
    let mut server = server.restart_with(Options::probe()).await;
    let changed = client(&server).task("ask", json!({"keys": ["go"]})).await;
    until_asked(&changed, &["go"]).await;
    let others = kept(&server).into_iter().filter(|file| *file != first);
    let [second] = others
        .collect::<Vec<_>>()
        .try_into()
        .expect("two components");
    server.kill();
    std::fs::remove_file(&first).expect("it is there");
    change(&second);

    let server = server.restart_with(Options::guest("probe-wasi")).await;
    for (task, file, fault) in [
        (removed, first, "it is not kept"),
        (changed, second, "the kept file was changed"),
    ] {
        let task = task.through(&client(&server));
        // A question stays open: nobody knows yet that nothing will come of its answer.
        until_asked(&task, &["go"]).await;
        task.update(json!({"go": accept("go")})).await;
        let digest = file.file_stem().expect("a name").to_string_lossy();
        assert_eq!(
            failure(&task).await,
            format!("The component that the call started with ({digest}) cannot be had: {fault}")
        );
        // Where it lies is for the log.
        server.log().line(&["ERROR", &digest]).await;
    }
}

// A component that is served is there, whatever became of the copy.
#[tokio::test]
async fn a_component_that_is_served_is_kept_anew() {
    let mut server = Server::start(Options::guest("replay")).await;
    let task = client(&server)
        .task("sleep", json!({"phase": "task"}))
        .await;
    until_asked(&task, &["go"]).await;
    let before = kept(&server);
    server.kill();
    std::fs::remove_file(&before[0]).expect("it is there");
    let server = server.restart().await;
    assert_eq!(kept(&server), before);
    let task = task.through(&client(&server));
    task.update(json!({"go": accept("go")})).await;
    task.until("completed").await;
}

// What a handler does that is not the same again is seen at once. No handler can manage that, so the
// journals of two tasks are exchanged.
#[tokio::test]
async fn a_task_that_does_not_fit_its_journal_fails() {
    let mut server = Server::start(Options::guest("replay")).await;
    let before = client(&server);
    let mut tasks = Vec::new();
    for (tool, keys) in [
        ("sequence", &["first"][..]),
        ("two_keys", &["left", "right"]),
        ("clock", &["go"]),
    ] {
        let task = before.task(tool, json!({"phase": "task"})).await;
        until_asked(&task, keys).await;
        tasks.push((task, keys));
    }
    server.kill();
    sql(
        server.data(),
        "UPDATE journal SET entries = other.entries
             FROM tasks AS mine, tasks AS its, journal AS other
             WHERE mine.number = journal.task AND its.number = other.task
             AND other.row = journal.row AND (mine.head ->> '$.tool', its.head ->> '$.tool')
             IN (VALUES ('sequence', 'two_keys'), ('two_keys', 'sequence'))",
    );
    sql(
        server.data(),
        "UPDATE journal SET entries = x'ff'
             FROM tasks WHERE number = task AND head ->> '$.tool' = 'clock'",
    );
    let server = server.restart().await;
    let mut messages = Vec::new();
    for (task, keys) in tasks {
        let task = task.through(&client(&server));
        let answers: Value = keys
            .iter()
            .map(|key| ((*key).to_owned(), accept(key)))
            .collect();
        task.update(answers).await;
        messages.push(failure(&task).await);
    }
    let diverged = "Replay diverged at journal entry 1: expected require-input of ";
    assert!(
        messages[0].starts_with(&format!(
            "{diverged}left, right, got require-input of first"
        )),
        "{messages:?}"
    );
    assert!(
        messages[1].starts_with(&format!(
            "{diverged}first, got require-input of left, right"
        )),
        "{messages:?}"
    );
    assert!(
        messages[2].starts_with("The stored journal of the task cannot be read"),
        "{messages:?}"
    );
}

// The limits of a task are those that it started with.
#[tokio::test]
async fn a_task_that_needs_more_memory_than_there_is_now_fails() {
    let server = Server::start(Options::guest("replay")).await;
    let task = client(&server)
        .task("sleep", json!({"phase": "task"}))
        .await;
    until_asked(&task, &["go"]).await;
    let less = Options::guest("replay").set("sandbox.memory-bytes", 64 << 20);
    let server = server.restart_with(less).await;
    let task = task.through(&client(&server));
    assert_eq!(bare(&task.get().await)["status"], "input_required");
    task.update(json!({"go": accept("go")})).await;
    let message = failure(&task).await;
    assert!(
        message.contains("268435456") && message.contains("limit sandbox.memory-bytes"),
        "{message}"
    );
}
