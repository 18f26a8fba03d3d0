//! What a client carries between the requests of one call (`requestState`): good for that call only,
//! at any server with the same key, and for a time.

use std::path::{Path, PathBuf};

use cofferdam_tests::{Answer, Asked, Options, Server, accept, guest};
use serde_json::{Value, json};

use crate::questions::{forms, inline};

/// Sends the answers with another state, which must be refused; returns why.
async fn refused(asked: &Asked, state: impl Into<Value>) -> String {
    let call = asked.call(json!({})).param("requestState", state.into());
    call.answer().await.message(200, -32602).to_owned()
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

    // Another version of the tool might not ask the same: the one that asked goes on.
    let other = Options::default().and(another_version(folder.path()));
    let mut server = server.restart_with(other).await;
    let second = second.through(&forms(&server));
    let result = second.result(json!({"k": accept("2")})).await;
    assert_eq!(
        result["structuredContent"],
        json!({"a": accept("1"), "k": accept("2")})
    );
    // Without its key the server knows nothing any more.
    server.kill();
    std::fs::remove_file(server.data().join("request-state.key")).expect("it is there");
    let server = server.restart_with(Options::probe()).await;
    let second = second.through(&forms(&server));
    refused(&second, second.state()).await;
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

// M-30: what the client has to carry is limited.
#[tokio::test]
async fn a_key_is_changed_and_calls_go_on() {
    let folder = tempfile::tempdir().expect("a folder");
    let key = |name: &str| folder.path().join(name);
    let new = Options::probe().state_key(&key("new"));
    let both = key("old");
    let both = both.to_str().expect("UTF-8");
    let both = new.clone().argument("--old-state-key").argument(both);
    let (_, said) = Server::refuse(both.clone()).await;
    assert!(said.contains("--old-state-key"), "{said}");

    let server = Server::start(Options::probe().state_key(&key("old"))).await;
    let arguments = json!({"keys": ["a"], "again": ["k"], "begin": "never"});
    let first = forms(&server).asked("ask", arguments).await;
    let server = server.restart_with(both).await;
    let first = first.through(&forms(&server));
    // What is sealed now is sealed with the new key.
    let second = first.asked(json!({"a": accept("1")})).await;
    let server = server.restart_with(new).await;
    let client = forms(&server);
    refused(&first.through(&client), first.state()).await;
    let second = second.through(&client);
    let result = second.result(json!({"k": accept("2")})).await;
    assert_eq!(
        result["structuredContent"],
        json!({"a": accept("1"), "k": accept("2")})
    );
}

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
