//! The server as a child process of its client (MCP, "stdio"), in every revision.

use std::fs;
use std::path::{Path, PathBuf};

use cofferdam_tests::shop::Shop;
use cofferdam_tests::{Pipe, TASKS, guest};
use serde_json::{Value, json};
use tempfile::TempDir;

fn home() -> TempDir {
    tempfile::tempdir().expect("a folder")
}

fn probe(home: &Path, arguments: &[&str]) -> Pipe {
    let component = guest("probe");
    let mut all = vec![component.to_str().expect("UTF-8")];
    all.extend(arguments);
    Pipe::start(home, &all)
}

fn call(tool: &str, arguments: Value) -> Value {
    json!({"name": tool, "arguments": arguments})
}

async fn initialize(pipe: &mut Pipe, version: &str, capabilities: Value) -> Value {
    let params = json!({
        "protocolVersion": version,
        "capabilities": capabilities,
        "clientInfo": {"name": "tests", "version": "0"},
    });
    let id = pipe.request("initialize", params);
    let (mut response, _) = pipe.response(id).await;
    pipe.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    response["result"].take()
}

fn declares_tasks() -> Value {
    json!({"elicitation": {}, "extensions": {TASKS: {}}})
}

#[tokio::test]
async fn the_present_revision_has_all_of_tasks() {
    let home = home();
    let mut pipe = probe(home.path(), &[]);
    let id = pipe.modern("server/discover", json!({}), json!({}));
    let (discovered, _) = pipe.response(id).await;
    assert_eq!(
        discovered["result"]["supportedVersions"],
        json!(["2026-07-28"])
    );

    // Ids are nobody's but the client's; nothing repeats them in headers.
    let arguments = json!({"keys": ["a"]});
    let id = pipe.modern("tools/call", call("ask", arguments), declares_tasks());
    let (created, _) = pipe.response(id).await;
    let task = created["result"]["taskId"].clone();
    let filter = json!({"notifications": {"taskIds": [task], "toolsListChanged": true}});
    let listen = pipe.modern("subscriptions/listen", filter, declares_tasks());
    let acknowledged = pipe.next().await.expect("a message");
    assert_eq!(
        acknowledged["method"],
        "notifications/subscriptions/acknowledged"
    );
    let mut state = pipe.next().await.expect("a message");
    while state["params"]["status"] != "input_required" {
        state = pipe.next().await.expect("a message");
    }
    let answers = json!({"a": {"action": "accept", "content": {"value": "x"}}});
    let update = json!({"taskId": task, "inputResponses": answers});
    let id = pipe.modern("tasks/update", update, declares_tasks());
    let (_, mut before) = pipe.response(id).await;
    while !before
        .iter()
        .any(|it| it["params"]["status"] == "completed")
    {
        before.push(pipe.next().await.expect("a message"));
    }
    // A listener who is told to stop says nothing more, not even that.
    let cancelled = json!({"requestId": listen});
    pipe.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": cancelled}));
    let id = pipe.modern("tasks/get", json!({"taskId": task}), declares_tasks());
    let (got, before) = pipe.response(id).await;
    assert_eq!(got["result"]["status"], "completed");
    assert!(before.is_empty(), "{before:?}");
    pipe.close();
    assert_eq!(pipe.next().await, None);
    assert!(pipe.gone().await.success());
}

#[tokio::test]
async fn earlier_revisions_are_asked_and_told_on_the_same_pipe() {
    for version in ["2025-03-26", "2025-06-18", "2025-11-25"] {
        let home = home();
        let mut pipe = probe(home.path(), &[]);
        let begun = initialize(&mut pipe, version, json!({"elicitation": {}, "roots": {}})).await;
        assert_eq!(begun["protocolVersion"], version);
        let arguments = json!({"keys": ["a"], "kind": "roots", "begin": "never"});
        let id = pipe.request("tools/call", call("ask", arguments));
        let question = pipe.next().await.expect("a question");
        assert_eq!(question["method"], "roots/list");
        // Something else is answered meanwhile.
        let ping = pipe.request("ping", json!({}));
        assert_eq!(pipe.response(ping).await.0["result"], json!({}));
        let roots = json!({"roots": [{"uri": "file:///a"}]});
        pipe.send(&json!({"jsonrpc": "2.0", "id": question["id"], "result": roots}));
        let (answer, _) = pipe.response(id).await;
        assert!(answer.to_string().contains("file:///a"), "{answer}");
        let id = pipe.request("tasks/get", json!({"taskId": "x"}));
        assert_eq!(pipe.response(id).await.0["error"]["code"], -32601);
        let id = pipe.request(
            "initialize",
            json!({"protocolVersion": version, "capabilities": {}}),
        );
        assert_eq!(pipe.response(id).await.0["error"]["code"], -32600);
        // A request that says its revision itself is served in that.
        let id = pipe.modern("tools/call", call("finish", json!({})), declares_tasks());
        assert_eq!(pipe.response(id).await.0["result"]["resultType"], "task");
    }
}

#[tokio::test]
async fn a_client_of_an_earlier_revision_hears_that_tools_changed() {
    let (home, shop) = (home(), Shop::new(1));
    let mut pipe = Pipe::start(home.path(), &[shop.folder().to_str().expect("UTF-8")]);
    initialize(&mut pipe, "2025-06-18", json!({})).await;
    let ping = pipe.request("ping", json!({}));
    pipe.response(ping).await;
    shop.put_version(2);
    let message = pipe.next().await.expect("a message");
    assert_eq!(message["method"], "notifications/tools/list_changed");
}

#[tokio::test]
async fn a_script_that_writes_all_at_once_is_answered_in_full() {
    let home = home();
    let mut pipe = probe(home.path(), &[]);
    let lines = [
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize",
               "params": {"protocolVersion": "2025-06-18", "capabilities": {}}}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call",
               "params": call("sleep", json!({"ms": 100}))}),
        json!({"jsonrpc": "2.0", "id": 3, "method": "tools/call",
               "params": call("echo", json!({"text": "x"}))}),
        json!({"jsonrpc": "2.0", "id": 4, "method": "tools/call",
               "params": call("sleep", json!({"ms": 3_600_000}))}),
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 4}}),
    ];
    // The last line has no end.
    pipe.write(&lines.map(|line| line.to_string()).join("\r\n"));
    pipe.close();
    let mut ids = Vec::new();
    while let Some(message) = pipe.next().await {
        assert!(message.get("error").is_none(), "{message}");
        ids.extend(message["id"].as_i64());
    }
    ids.sort_unstable();
    assert_eq!(ids, [1, 2, 3]);
    assert!(pipe.gone().await.success());
}

#[tokio::test]
async fn what_is_no_message_is_answered_and_the_next_one_is_served() {
    let home = home();
    let mut pipe = probe(home.path(), &["--set", "server.max-body-bytes=2000"]);
    let long = format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":1,\"x\":\"{}\"}}",
        "y".repeat(3_000)
    );
    for (line, code) in [
        ("nope", -32700),
        ("[]", -32600),
        ("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}", -32602),
        (&long, -32600),
        ("\u{0}", -32700),
    ] {
        pipe.write(&format!("{line}\n\n  \n"));
        let answer = pipe.next().await.expect("an answer");
        assert_eq!(answer["error"]["code"], code, "{line}");
    }
    let id = pipe.modern("server/discover", json!({}), json!({}));
    assert!(pipe.response(id).await.0.get("result").is_some());
    // What the tools and the server log is on standard error only.
    let meta = json!({"name": "log", "arguments": {}});
    let id = pipe.modern("tools/call", meta, json!({}));
    let (_, before) = pipe.response(id).await;
    assert!(before.is_empty(), "{before:?}");
    pipe.log().line(&["line"]).await;
}

#[tokio::test]
async fn a_task_goes_on_in_the_next_process_and_two_at_once_do_not_meet() {
    let home = home();
    let mut first = probe(home.path(), &[]);
    let arguments = json!({"keys": ["a"]});
    let id = first.modern("tools/call", call("ask", arguments), declares_tasks());
    let (created, _) = first.response(id).await;
    let get = json!({"taskId": created["result"]["taskId"]});
    // A second one for the same tools has a folder of its own.
    let mut second = probe(home.path(), &[]);
    let id = second.modern("tasks/get", get.clone(), declares_tasks());
    assert_eq!(second.response(id).await.0["error"]["code"], -32602);
    first.close();
    while first.next().await.is_some() {}
    assert!(first.gone().await.success());
    let mut third = probe(home.path(), &[]);
    let id = third.modern("tasks/get", get, declares_tasks());
    let status = third.response(id).await.0["result"]["status"].take();
    assert!(
        ["working", "input_required"].contains(&status.as_str().unwrap_or_default()),
        "{status}"
    );
    let folders: Vec<PathBuf> = folders(&home.path().join(".local/state/cofferdam/stdio"));
    assert_eq!(folders.len(), 1, "{folders:?}");
    assert_eq!(self::folders(&folders[0]).len(), 2);
}

fn folders(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a folder");
    entries
        .map(|entry| entry.expect("an entry").path())
        .collect()
}

#[tokio::test]
async fn a_client_that_does_not_read_holds_up_nobody_and_can_still_leave() {
    let home = home();
    let mut pipe = probe(home.path(), &["--set", "server.drain-ms=200"]);
    // More than the pipe between the processes holds; the harness reads, but slower than it comes.
    for _ in 0..2_000 {
        pipe.modern("tools/list", json!({}), json!({}));
    }
    pipe.close();
    let mut answers = 0;
    while pipe.next().await.is_some() {
        answers += 1;
    }
    assert!(answers > 0);
    assert!(pipe.gone().await.success());
}

#[tokio::test]
async fn what_only_a_reachable_server_has_is_refused() {
    let home = home();
    let (_, hash) = cofferdam_tests::token();
    let config = cofferdam_tests::Config::new(&format!(
        "[tenants.a]\n[[auth.tokens]]\ntenant = \"a\"\nsubject = \"b\"\nsha256 = \"{hash}\"\n"
    ));
    let file = config.file();
    let pipe = probe(home.path(), &["--config", file.to_str().expect("UTF-8")]);
    pipe.log().line(&["[auth]", "cofferdam serve"]).await;
    assert!(!pipe.gone().await.success());
}
