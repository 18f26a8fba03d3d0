//! `POST /reload` and `cofferdam reload`, with components that change.

use std::fs;

use cofferdam_tests::{Options, Request, Server, cofferdam, guest, patient};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{metrics, status, tool};

/// A folder with one component, and a server of it that looks only when it is told to.
async fn served() -> (TempDir, Server) {
    let folder = tempfile::tempdir().expect("a folder");
    put(&folder, "a.wasm", &component("report"));
    let options = Options::default().and(folder.path().to_owned());
    let server = Server::start(options.admin().set("server.watch", false)).await;
    (folder, server)
}

fn component(name: &str) -> Vec<u8> {
    fs::read(guest(name)).expect("a component")
}

fn put(folder: &TempDir, name: &str, bytes: &[u8]) {
    fs::write(folder.path().join(name), bytes).expect("written");
}

async fn reload(server: &Server) -> Value {
    let request = Request::new("POST", "/reload").send(server.admin());
    let response = patient("a reload", request).await;
    assert_eq!(response.status, 200);
    response.json().await
}

fn names(changes: &Value, what: &str) -> Vec<String> {
    let changes = changes[what].as_array().expect("an array");
    let name = |it: &Value| {
        let path = it["name"].as_str().expect("a name");
        path.rsplit('/').next().expect("a file").to_owned()
    };
    changes.iter().map(name).collect()
}

#[tokio::test]
async fn what_changed_and_what_was_refused_is_told_and_stands_in_the_status() {
    let (folder, server) = served().await;
    let nothing = reload(&server).await;
    let empty = json!({"added": [], "changed": [], "removed": [], "refused": [], "serving": 1});
    assert_eq!(nothing, empty);

    let before = status(&server).await;
    put(&folder, "a.wasm", &component("render"));
    put(&folder, "b.wasm", &component("probe"));
    put(&folder, "c.wasm", b"broken");
    let changes = reload(&server).await;
    assert_eq!(names(&changes, "added"), ["b.wasm"]);
    assert_eq!(names(&changes, "changed"), ["a.wasm"]);
    assert_eq!(names(&changes, "refused"), ["c.wasm"]);
    assert_eq!(changes["serving"], 2);
    let now = status(&server).await;
    assert_eq!(now["components"].as_array().map(Vec::len), Some(2));
    assert_ne!(
        now["components"][0]["digest"],
        before["components"][0]["digest"]
    );
    assert_eq!(now["refused"], changes["refused"]);
    assert_eq!(tool(&now, "echo")["digest"], now["components"][1]["digest"]);

    // A version that cannot serve: the one before it does, and both stand there.
    put(&folder, "a.wasm", b"broken");
    fs::remove_file(folder.path().join("b.wasm")).expect("removed");
    let changes = reload(&server).await;
    assert_eq!(names(&changes, "removed"), ["b.wasm"]);
    assert_eq!(names(&changes, "refused"), ["a.wasm", "c.wasm"]);
    let now = status(&server).await;
    assert_eq!(now["refused"][0]["serving"], now["components"][0]["digest"]);
    assert!(now["refused"][1].get("serving").is_none(), "{now}");

    // Of tools that are gone nothing is counted any more.
    let text = metrics(&server).await;
    assert!(!text.contains("tool=\"echo\""), "{text}");
    for line in [
        "cofferdam_reloads_total{outcome=\"complete\"} 1",
        "cofferdam_reloads_total{outcome=\"refused\"} 2",
        "cofferdam_load_errors 2",
        "cofferdam_components 1",
    ] {
        assert!(text.contains(line), "{line} in {text}");
    }
}

#[tokio::test]
async fn the_command_tells_what_changed_and_fails_if_something_was_refused() {
    let (folder, server) = served().await;
    let url = format!("http://{}", server.admin());
    put(&folder, "b.wasm", &component("probe-wasi"));
    let output = cofferdam(&["reload", "--admin", &url], &[]).await;
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    assert!(
        text.starts_with("added    ") && text.contains("b.wasm ("),
        "{text}"
    );
    assert!(text.ends_with("2 components serve\n"), "{text}");

    put(&folder, "c.wasm", b"broken");
    let output = cofferdam(&["reload", "--admin", &url], &[]).await;
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    assert!(
        text.contains("refused  ") && text.contains("c.wasm: "),
        "{text}"
    );
}

#[tokio::test]
async fn reloads_that_come_together_all_end() {
    let (folder, server) = served().await;
    put(&folder, "b.wasm", &component("probe"));
    let mut added = 0;
    let mut all = tokio::task::JoinSet::new();
    for _ in 0..8 {
        let address = server.admin();
        all.spawn(async move {
            let response = Request::new("POST", "/reload").send(address).await;
            assert_eq!(response.status, 200);
            response.json().await
        });
    }
    while let Some(changes) = all.join_next().await {
        let changes: Value = changes.expect("a reload");
        added += names(&changes, "added").len();
        assert_eq!(changes["serving"], 2);
    }
    assert_eq!(added, 1, "one of them found it");
}
