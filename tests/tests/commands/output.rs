//! What is shown of a result, and how it ends the command.

use std::fs;

use cofferdam_tests::{Options, Server};
use serde_json::json;

use crate::{Ends as _, call};

#[tokio::test]
async fn a_tool_cannot_steer_the_terminal() {
    let server = Server::start(Options::probe()).await;
    let hostile = "a\u{1b}]0;title\u{7}b\u{9b}2Jc\u{202e}d\r\ne\tf";
    let given = format!("text={hostile}");
    let ended = call(&server, "echo", &["-a", &given]).await;
    let shown = "a\u{fffd}]0;title\u{fffd}b\u{fffd}2Jc\u{fffd}d\ne\tf\n";
    assert_eq!(ended.with(0), shown);

    let ended = call(&server, "echo", &["-a", &given, "-o", "json"]).await;
    let harmless = |char: char| char == '\n' || !(char.is_control() || char == '\u{202e}');
    assert!(ended.with(0).chars().all(harmless), "{ended:?}");
    assert_eq!(
        ended.json()["content"][0]["text"],
        hostile,
        "and it means the same"
    );

    let value = json!({"count": 1, "x\u{1b}[2J": hostile}).to_string();
    let ended = call(&server, "structured", &["-a", &format!("value={value}")]).await;
    assert!(ended.with(0).chars().all(harmless), "{ended:?}");

    let failed = call(&server, "finish", &["-a", "how=rpc-error", "-o", "json"]).await;
    assert!(failed.with(1).chars().all(harmless), "{failed:?}");
}

#[tokio::test]
async fn bytes_go_to_files_that_were_not_there() {
    let server = Server::start(Options::probe()).await;
    let folder = tempfile::tempdir().expect("a folder");
    let taken = folder.path().join("image-1.png");
    fs::write(&taken, "mine").expect("a file");
    let save = folder.path().to_str().expect("UTF-8");
    let ended = call(&server, "contents", &["--save", save]).await;
    let shown: Vec<&str> = ended.with(0).lines().collect();
    let expected = [
        "text".to_owned(),
        format!("image image/png, 4 bytes: {save}/image-2.png"),
        format!("audio audio/wav, 5 bytes: {save}/audio-1.wav"),
        "link Report: file:///report.txt (text/plain, 7 bytes)".to_owned(),
        "resource test://text".to_owned(),
        "text".to_owned(),
        "resource test://blob".to_owned(),
        format!("resource application/octet-stream, 2 bytes: {save}/resource-1.bin"),
    ];
    assert_eq!(shown, expected);
    assert_eq!(
        fs::read(folder.path().join("image-2.png")).expect("saved"),
        [137, 80, 78, 71]
    );
    assert_eq!(fs::read(&taken).expect("still there"), b"mine");

    let ended = call(&server, "contents", &[]).await;
    let line = ended
        .with(0)
        .lines()
        .find(|line| line.starts_with("image"))
        .expect("an image");
    let (_, path) = line.split_once(": ").expect("a path");
    assert_eq!(fs::read(path).expect("saved"), [137, 80, 78, 71]);
    let folder = std::path::Path::new(path).parent().expect("a folder");
    fs::remove_dir_all(folder).expect("a folder of its own");
}

#[tokio::test]
async fn the_exit_code_tells_how_it_ended() {
    let server = Server::start(Options::probe()).await;
    let ended = call(&server, "structured", &["-a", r#"value={"count": 1}"#]).await;
    assert_eq!(
        ended.with(0),
        "{\n  \"count\": 1\n}\n",
        "structured content once, not as text too"
    );

    let ended = call(&server, "finish", &["-a", "how=tool-error"]).await;
    assert_eq!(ended.with(1), "the tool says no\n");
    assert!(
        ended.stderr.contains("the tool reports an error"),
        "{ended:?}"
    );

    let ended = call(&server, "finish", &["-a", "how=rpc-error", "-a", "code=5"]).await;
    let told = ended.failing(1);
    assert!(
        told.contains("the task failed: the tool failed (5); {\"why\":\"test\"}"),
        "{ended:?}"
    );
}

#[tokio::test]
async fn as_json_there_is_one_document_whatever_happens() {
    let server = Server::start(Options::probe()).await;
    for (tool, more, code, pointer, value) in [
        (
            "echo",
            &["-a", "text=x"][..],
            0,
            "/content/0/text",
            json!("x"),
        ),
        (
            "finish",
            &["-a", "how=tool-error"],
            1,
            "/isError",
            json!(true),
        ),
        ("finish", &["-a", "how=fail"], 1, "/status", json!("failed")),
        (
            "finish",
            &["-a", "text=x"],
            0,
            "/structuredContent/text",
            json!("x"),
        ),
        ("finish", &["--detach"], 0, "/resultType", json!("task")),
        ("ehco", &[], 2, "/error/exit", json!(2)),
        ("ask", &["-a", r#"keys=["k"]"#], 2, "/error/exit", json!(2)),
        ("required", &["-a", "keys=5"], 2, "/error/exit", json!(2)),
    ] {
        let arguments = [&["--output", "json"], more].concat();
        let ended = call(&server, tool, &arguments).await;
        assert_eq!(ended.code, code, "{ended:?}");
        assert_eq!(
            ended.json().pointer(pointer),
            Some(&value),
            "{tool} {more:?}"
        );
    }
    let ended = call(&server, "ask", &["-o", "json", "-a", r#"keys=["k"]"#]).await;
    assert!(ended.json()["error"]["taskId"].is_string(), "{ended:?}");
}

#[tokio::test]
async fn what_happens_is_told_on_standard_error() {
    let server = Server::start(Options::probe()).await;
    let ended = call(&server, "progress", &["-a", "steps=3"]).await;
    assert_eq!(ended.with(0), "done\n");
    let told: Vec<&str> = ended.stderr.lines().collect();
    assert_eq!(
        told,
        [
            "progress 1/3: step",
            "progress 2/3: step",
            "progress 3/3: step"
        ]
    );

    let ended = call(&server, "log", &["--log", "alert"]).await;
    let told: Vec<&str> = ended.stderr.lines().collect();
    assert_eq!(told.len(), 2, "{ended:?}");
    assert!(
        told[0].starts_with("[alert]") && told[1].starts_with("[emergency]"),
        "{ended:?}"
    );
    let ended = call(&server, "log", &[]).await;
    assert_eq!(ended.stderr, "", "nothing unless it is asked for");
}
