//! Ctrl-C, by signal and by key.

use cofferdam_tests::{Options, Program, Server, patient};
use tokio::task::spawn_blocking;

use crate::terminal::{CONTROL_C, Terminal};
use crate::{Ends as _, detached, run};

#[tokio::test]
async fn the_first_cancels_the_task_of_a_call() {
    let server = Server::start(Options::probe()).await;
    let url = server.url();
    let program = Program::start(&["call", &url, "wait"], "");
    let line = program.log().line(&["the call became the task "]).await;
    let (_, id) = line.split_once("the task ").expect("an id");
    program.log().line(&["working"]).await;
    program.interrupt();
    let ended = program.ended().await;
    assert!(
        ended.failing(130).contains("cancelled: the server knows"),
        "{ended:?}"
    );
    let watched = run(&["task", "watch", &url, id]).await;
    assert!(
        watched.failing(130).contains("the task was cancelled"),
        "{watched:?}"
    );
    server.until_running(0, 0).await;
}

#[tokio::test]
async fn the_first_closes_the_stream_of_a_call_that_is_no_task() {
    let server = Server::start(Options::probe()).await;
    let url = server.url();
    let arguments = [
        "call",
        &url,
        "progress",
        "-a",
        "steps=2",
        "-a",
        "delay_ms=600000",
        "-o",
        "json",
    ];
    let program = Program::start(&arguments, "");
    program.log().line(&["progress 1/2"]).await;
    program.interrupt();
    let ended = program.ended().await;
    assert_eq!(
        (ended.code, ended.json()["error"]["exit"].as_i64()),
        (130, Some(130)),
        "{ended:?}"
    );
    server.until_running(0, 0).await;
}

#[tokio::test]
async fn the_second_leaves_at_once() {
    let server = Server::start(Options::probe()).await;
    let program = Program::start(&["call", &server.url(), "wait"], "");
    program.log().line(&["working"]).await;
    // A server that does not answer any more.
    server.pause();
    program.interrupt();
    program.log().line(&["cancelling the task"]).await;
    program.interrupt();
    let ended = program.ended().await;
    server.unpause();
    assert_eq!(
        ended.failing(130).matches("cancelling").count(),
        1,
        "{ended:?}"
    );
    assert!(!ended.stderr.contains("the server knows"), "{ended:?}");
}

#[tokio::test]
async fn who_watches_leaves_the_task_alone() {
    let server = Server::start(Options::probe()).await;
    let url = server.url();
    let id = detached(&server, "wait", &[]).await;
    let program = Program::start(&["task", "watch", &url, &id], "");
    program.log().line(&["working"]).await;
    program.interrupt();
    let ended = program.ended().await;
    let told = format!("the task goes on; cancel it with: cofferdam task cancel {url} {id}");
    assert!(ended.failing(130).contains(&told), "{ended:?}");
    let got = run(&["task", "get", &url, &id, "-o", "json"]).await;
    assert_eq!(got.json()["status"], "working");
}

#[tokio::test]
async fn at_a_prompt_it_cancels_the_call() {
    let server = Server::start(Options::probe()).await;
    for by_key in [true, false] {
        let url = server.url();
        let conversation = spawn_blocking(move || {
            let mut terminal = Terminal::start(&["call", &url, "ask", "-a", r#"keys=["k"]"#]);
            terminal.sees("value:");
            match by_key {
                true => terminal.types(CONTROL_C),
                false => terminal.interrupt(),
            }
            terminal.ends()
        });
        let (shown, code) = patient("the conversation", conversation)
            .await
            .expect("its thread");
        assert_eq!(code, 130, "{shown}");
        let told = shown.contains("cancelling the task") && shown.contains("the server knows");
        assert!(told, "{shown}");
        server.until_running(0, 0).await;
    }
}
