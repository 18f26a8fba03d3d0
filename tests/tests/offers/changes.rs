//! `subscriptions/listen`: what components say that changed, and what a reload changes.

use crate::{forms, serve};
use cofferdam_tests::shop::Shop;
use cofferdam_tests::{Client, Heard, Listen, Options, Server, guest};
use serde_json::{Value, json};
use std::fs;

const RULES: &str = "house://rules";

async fn subscribe(client: &Client, uris: &[&str]) -> Listen {
    client.listen(json!({"resourceSubscriptions": uris})).await
}

async fn touch(client: &Client, uri: &str, times: u32) {
    client
        .result("touch", json!({"uri": uri, "times": times}))
        .await;
}

fn updated(uri: &str) -> Option<Heard> {
    Some(Heard::Updated(uri.to_owned()))
}

#[tokio::test]
async fn whoever_listens_to_a_resource_hears_that_it_changed() {
    let server = serve().await;
    let client = server.client();
    let uris = [
        RULES,
        "house://rooms/5",
        "house://cellar",
        "other:thing",
        RULES,
    ];
    let mut heard = subscribe(&client, &uris).await;
    let accepted = json!({"resourceSubscriptions": [RULES, "house://rooms/5"]});
    assert_eq!(heard.accepted(), &accepted);
    touch(&client, "house://picture", 1).await;
    touch(&client, "other:thing", 1).await;
    touch(&client, "not a uri", 1).await;
    touch(&client, "house://rooms/5", 1).await;
    assert_eq!(heard.next().await, updated("house://rooms/5"));
    touch(&client, RULES, 1).await;
    assert_eq!(heard.next().await, updated(RULES));
    server.terminate();
    assert_eq!(heard.next().await, Some(Heard::End));
}

// A component that tells without end is heard once in a while, and its last word is not lost.
#[tokio::test]
async fn many_changes_are_told_once() {
    let server = serve().await;
    let client = server.client();
    let mut heard = subscribe(&client, &[RULES, "house://picture"]).await;
    touch(&client, RULES, 100_000).await;
    touch(&client, "house://picture", 1).await;
    let mut before = 0;
    loop {
        match heard.next().await {
            Some(Heard::Updated(uri)) if uri == RULES => before += 1,
            Some(Heard::Updated(_)) => break,
            other => panic!("heard {other:?}"),
        }
    }
    assert!((1..100).contains(&before), "{before}");
}

#[tokio::test]
async fn a_list_that_changed_is_told_to_those_who_asked() {
    let server = serve().await;
    let client = server.client();
    let filter = json!({"promptsListChanged": true, "resourcesListChanged": true});
    let mut heard = client.listen(filter.clone()).await;
    assert_eq!(heard.accepted(), &filter);
    for (what, told) in [
        ("tools", None),
        ("prompts", Some(Heard::PromptsChanged)),
        ("resources", Some(Heard::ResourcesChanged)),
    ] {
        client.result("relist", json!({"what": what})).await;
        if told.is_some() {
            assert_eq!(heard.next().await, told);
        }
    }
    for wrong in [
        json!({"promptsListChanged": 1}),
        json!({"resourceSubscriptions": "x"}),
        json!({"resourceSubscriptions": [5]}),
        json!({"resourceSubscriptions": (0..1001).map(|n| format!("a:{n}")).collect::<Vec<_>>()}),
    ] {
        let call = client.request("subscriptions/listen", json!({"notifications": wrong}));
        call.answer().await.error(200, -32602);
    }
}

// What is not offered is left out of the acknowledgement.
#[tokio::test]
async fn a_server_of_tools_tells_of_tools() {
    let server = Server::start(Options::probe()).await;
    let filter = json!({
        "toolsListChanged": true,
        "promptsListChanged": true,
        "resourcesListChanged": true,
        "resourceSubscriptions": [RULES],
    });
    let heard = server.client().listen(filter).await;
    assert_eq!(heard.accepted(), &json!({"toolsListChanged": true}));
}

// A call that asks is run again from the top when the answer is there.
#[tokio::test]
async fn a_run_that_repeats_an_earlier_one_tells_nothing_twice() {
    let server = serve().await;
    let client = forms(&server);
    let mut heard = subscribe(&client, &[RULES, "house://picture"]).await;
    let asked = client.asked("touch_twice", json!({})).await;
    assert_eq!(heard.next().await, updated(RULES));
    let answer = json!({"action": "accept", "content": {"pin": "1"}});
    asked.result(json!({"pin": answer})).await;
    assert_eq!(heard.next().await, updated("house://picture"));
}

#[tokio::test]
async fn a_reload_tells_what_it_changed_and_nothing_else() {
    let shop = Shop::new(1);
    let server = shop.serve().await;
    let client = server.client();
    shop.put("offers.wasm", &fs::read(guest("offers")).expect("read"));
    let mut tools = client.listen(json!({"toolsListChanged": true})).await;
    assert_eq!(tools.next().await, Some(Heard::ToolsChanged));
    let filter = json!({"promptsListChanged": true, "resourcesListChanged": true});
    let mut others = client.listen(filter).await;
    // Another version of the other component changes tools only.
    shop.put_version(2);
    assert_eq!(tools.next().await, Some(Heard::ToolsChanged));
    fs::remove_file(shop.file("offers.wasm")).expect("removed");
    assert_eq!(tools.next().await, Some(Heard::ToolsChanged));
    let mut told = Vec::new();
    for _ in 0..2 {
        told.extend(others.next().await);
    }
    assert_eq!(told, [Heard::PromptsChanged, Heard::ResourcesChanged]);
    let gone = client.request("prompts/list", json!({})).answer().await;
    gone.error(404, -32601);
    let read = client.request("resources/read", json!({"uri": RULES}));
    let error: Value = read.answer().await.error(404, -32601).clone();
    assert_eq!(error["message"], "Method not found");
}
