//! Calls that become tasks, and what can be done to a task.

use cofferdam_tests::{Options, Server};
use serde_json::json;

use crate::{Ends as _, call, detached, run};

#[tokio::test]
async fn a_call_follows_its_task_to_the_end() {
    let server = Server::start(Options::probe()).await;
    let ended = call(&server, "steps", &["-a", "number=2", "-a", "pause=300"]).await;
    assert_eq!(ended.with(0), "done\n");
    for told in [
        "the call became the task ",
        "working: step 1",
        "working: step 2",
        "completed",
    ] {
        assert!(ended.stderr.contains(told), "{told}: {ended:?}");
    }
    let ended = call(&server, "finish", &["-a", "how=fail"]).await;
    assert!(
        ended.failing(1).contains("the task failed: failed (7)"),
        "{ended:?}"
    );
}

// A look may be answered with a later state than a stream tells after it.
#[tokio::test]
async fn no_state_is_told_after_a_later_one() {
    let server = Server::start(Options::probe()).await;
    let ended = call(&server, "steps", &["-a", "number=4", "-a", "pause=60"]).await;
    assert_eq!(ended.with(0), "done\n");
    let steps = ended.stderr.lines();
    let steps: Vec<_> = steps
        .filter_map(|line| line.strip_prefix("working: step "))
        .collect();
    assert!(!steps.is_empty() && steps.is_sorted(), "{ended:?}");
}

#[tokio::test]
async fn a_detached_task_is_looked_at_watched_and_cancelled() {
    let server = Server::start(Options::probe()).await;
    let url = server.url();
    let id = detached(&server, "finish", &["-a", "text=here"]).await;
    let watched = run(&["task", "watch", &url, &id]).await;
    assert_eq!(
        watched.with(0),
        "{\n  \"text\": \"here\"\n}\n".replace("{\n  \"text\"", "here\n{\n  \"text\"")
    );
    let got = run(&["task", "get", &url, &id]).await;
    assert!(
        got.with(0).starts_with("status   completed\ncreated  "),
        "{got:?}"
    );
    assert!(got.stdout.contains("here"), "its result, too: {got:?}");

    let id = detached(&server, "wait", &[]).await;
    let got = run(&["task", "get", &url, &id, "-o", "json"]).await;
    assert_eq!(got.json()["status"], "working");
    let cancelled = run(&["task", "cancel", &url, &id]).await;
    assert!(cancelled.with(0).starts_with("status   "), "{cancelled:?}");
    let watched = run(&["task", "watch", &url, &id]).await;
    assert!(
        watched.failing(130).contains("the task was cancelled"),
        "{watched:?}"
    );
    let watched = run(&["task", "watch", &url, &id, "-o", "json"]).await;
    assert_eq!(
        (watched.code, &watched.json()["status"]),
        (130, &json!("cancelled"))
    );
}

#[tokio::test]
async fn a_task_that_is_not_there_is_told_so() {
    let server = Server::start(Options::probe()).await;
    let url = server.url();
    for command in ["get", "watch", "update", "cancel"] {
        // Ids of other servers may begin like an option.
        for id in ["unknown", "-Xabc"] {
            let ended = run(&["task", command, &url, id]).await;
            assert!(
                ended.failing(3).contains("the server knows no such task"),
                "{ended:?}"
            );
        }
    }
}

#[tokio::test]
async fn what_a_task_asks_is_answered_by_update() {
    let server = Server::start(Options::probe()).await;
    let url = server.url();
    let left = call(&server, "ask", &["-a", r#"keys=["a", "b"]"#]).await;
    let told = left.failing(2);
    let (_, more) = told
        .split_once("go on with: cofferdam ")
        .expect("how to go on");
    let words: Vec<&str> = more.split_whitespace().collect();
    let ["task", "update", to, id, "--answer", "…"] = words.as_slice() else {
        panic!("{more}")
    };
    assert_eq!(*to, url);

    let got = run(&["task", "get", &url, id]).await;
    for told in [
        "status   input_required",
        "  a: What is it?\n    --answer a.value=…  (string)",
    ] {
        assert!(got.with(0).contains(told), "{got:?}");
    }
    let open = run(&["task", "update", &url, id]).await;
    assert!(
        open.failing(2).contains("nobody is at a terminal"),
        "{open:?}"
    );
    let unfit = run(&["task", "update", &url, id, "--answer", "a.no=1"]).await;
    assert!(
        unfit.failing(2).contains("with the fields value"),
        "{unfit:?}"
    );
    let one = run(&["task", "update", &url, id, "--answer", "a=1"]).await;
    assert!(
        one.with(0).starts_with("status   input_required"),
        "{one:?}"
    );
    assert!(one.stderr.contains("still open:\n  b: "), "{one:?}");
    run(&["task", "update", &url, id, "--decline", "b"])
        .await
        .with(0);

    let ended = run(&["task", "watch", &url, id, "-o", "json"]).await;
    let told = &ended.json()["structuredContent"];
    let expected =
        json!({"a": {"action": "accept", "content": {"value": "1"}}, "b": {"action": "decline"}});
    assert_eq!(told, &expected);
    let late = run(&["task", "update", &url, id, "--answer", "a=1"]).await;
    assert!(late.failing(2).contains("asks nothing now"), "{late:?}");
}

#[tokio::test]
async fn a_time_that_is_over_leaves_the_task() {
    let server = Server::start(Options::probe()).await;
    let ended = call(&server, "wait", &["--timeout", "1"]).await;
    let told = ended.failing(3);
    let how = format!(
        "the task goes on; follow it with: cofferdam task watch {} ",
        server.url()
    );
    let (_, id) = told.split_once(&how).unwrap_or_else(|| panic!("{told}"));
    let got = run(&["task", "get", &server.url(), id.trim()]).await;
    assert!(got.with(0).starts_with("status   working"), "{got:?}");

    let arguments = ["-a", "steps=2", "-a", "delay_ms=600000", "--timeout", "1"];
    let ended = call(&server, "progress", &arguments).await;
    assert!(ended.failing(3).contains("stream is closed"), "{ended:?}");
    assert!(ended.stderr.starts_with("progress 1/2"), "{ended:?}");
    server.until_running(0, 0).await;
    let ended = call(&server, "echo", &["-a", "text=x", "--timeout", "0"]).await;
    ended.failing(2);
}
