//! What began with one version goes on with it.

use std::fs;

use cofferdam_tests::{Config, Declares, Options, Server, accept, guest};
use serde_json::json;

use cofferdam_tests::shop::{Shop, changed, listen, text, told, version};

/// Parked at once, so that what goes on is another run.
fn options(shop: &Shop) -> Options {
    shop.options().set("tasks.park-after-ms", 0)
}

#[tokio::test]
async fn tasks_and_questions_go_on_with_their_version_after_a_restart() {
    let shop = Shop::new(1);
    let server = Server::start(options(&shop)).await;
    let client = server.client().declaring(Declares::TasksAndForms);
    let task = client.task("task", json!({})).await;
    let asked = client.asked("asked", json!({})).await;
    task.until("input_required").await;
    // Changed while the server is down, and again when it is up.
    shop.put_version(2);
    let server = server.restart().await;
    let client = server.client().declaring(Declares::TasksAndForms);
    assert_eq!(version(&client).await, text(2));
    let mut heard = listen(&client).await;
    shop.put_version(3);
    changed(&mut heard).await;
    let task = task.through(&client);
    task.update(json!({"go": accept("x")})).await;
    assert_eq!(told(&task.until("completed").await["result"]), text(1));
    let asked = asked.through(&client);
    let done = asked.result(json!({"go": accept("x")})).await;
    assert_eq!(told(&done), text(1));
    assert_eq!(version(&client).await, text(3));
}

#[tokio::test]
async fn a_task_ends_though_its_tool_was_removed_with_what_its_source_grants() {
    let shop = Shop::new(1);
    shop.put("outbound.wasm", &fs::read(guest("outbound")).expect("read"));
    let config = Config::new(&format!(
        "[[tools]]\npath = {:?}\n[tools.grants.http]\nhosts = [\"http://127.0.0.1\"]\n",
        shop.folder()
    ));
    let options = Options::default().config(&config.file());
    let options = options.set("tasks.park-after-ms", 0);
    let server = Server::start(options).await;
    let client = server.client().declaring(Declares::TasksAndForms);
    let task = client.task("race", json!({"urls": []})).await;
    task.until("input_required").await;
    let mut heard = listen(&client).await;
    fs::remove_file(shop.file("outbound.wasm")).expect("removed");
    changed(&mut heard).await;
    let server = server.restart().await;
    let client = server.client().declaring(Declares::TasksAndForms);
    let task = task.through(&client);
    let answer = json!({"action": "accept", "content": {"go": true}});
    task.update(json!({"go": answer})).await;
    task.until("completed").await;
}

#[tokio::test]
async fn a_changed_state_loads_nothing() {
    let shop = Shop::new(1);
    let server = Server::start(options(&shop)).await;
    let client = server.client().declaring(Declares::TasksAndForms);
    let asked = client.asked("asked", json!({})).await;
    let mut heard = listen(&client).await;
    shop.put_version(2);
    changed(&mut heard).await;
    // The digest of what serves now, before what was sealed for another.
    let newer = client.asked("asked", json!({})).await;
    let (digest, _) = newer.state().split_once('.').expect("a digest");
    let (old, sealed) = asked.state().split_once('.').expect("a digest");
    let other: String = old.chars().rev().collect();
    for wrong in [digest, &other, "", "../../x"] {
        let state = format!("{wrong}.{sealed}");
        let params = json!({
            "name": "asked", "arguments": {}, "requestState": state,
            "inputResponses": {"go": accept("x")},
        });
        let answer = client.request("tools/call", params).answer().await;
        let message = answer.message(200, -32602);
        assert!(message.contains("requestState"), "{message}");
    }
    let done = asked.result(json!({"go": accept("x")})).await;
    assert_eq!(told(&done), text(1));
}

#[tokio::test]
async fn a_question_is_checked_by_the_version_that_asked() {
    // The newer version has another tool of that name, which takes other arguments.
    let shop = Shop::new(1);
    let server = Server::start(options(&shop)).await;
    let client = server.client().declaring(Declares::TasksAndForms);
    let asked = client.asked("asked", json!({})).await;
    let mut heard = listen(&client).await;
    fs::remove_file(shop.file("versions.wasm")).expect("removed");
    changed(&mut heard).await;
    let answer = asked.answer(json!({"go": accept("x")})).await;
    let message = answer.message(200, -32602);
    assert!(message.contains("Unknown tool"), "{message}");
    shop.put_version(2);
    changed(&mut heard).await;
    let done = asked.result(json!({"go": accept("x")})).await;
    assert_eq!(told(&done), text(1));
}
