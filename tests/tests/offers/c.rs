//! The library for C: what its example leaves out.

use crate::{all, each, forms, result};
use cofferdam_tests::{Call, Client, Heard, Options, Server, accept, guest_if_built};
use serde_json::{Value, json};

async fn serve() -> Option<Server> {
    let component = guest_if_built("offers-c")?;
    Some(Server::start(Options::default().and(component)).await)
}

#[tokio::test]
async fn blocks_are_messages_of_the_user_or_the_model() {
    let Some(server) = serve().await else { return };
    let client = server.client();
    let got = result(&client, "prompts/get", json!({"name": "talk"})).await;
    assert_eq!(got["description"], "A talk");
    assert_eq!(got["_meta"]["test/kind"], "talk");
    let annotations = json!({"audience": ["user"], "priority": 1.0});
    let asked = json!({"type": "text", "text": "Who are you?", "annotations": annotations});
    let messages = json!([
        {"role": "user", "content": asked},
        {"role": "user", "content": {"type": "image", "data": "iVBORw==", "mimeType": "image/png"}},
        {"role": "assistant", "content": {"type": "text", "text": "A library."}},
    ]);
    assert_eq!(got["messages"], messages);
}

#[tokio::test]
async fn a_prompt_may_ask_first() {
    let Some(server) = serve().await else { return };
    let client = forms(&server);
    let get = || client.request("prompts/get", json!({"name": "greet"}));
    let asked = get().answer().await;
    assert_eq!(asked.result()["resultType"], "input_required");
    let answers = json!({"name": accept("Ada")});
    let again = get().param("inputResponses", answers);
    let state = asked.result()["requestState"].clone();
    let got = again.param("requestState", state).answer().await;
    let text = &got.result()["messages"][0]["content"]["text"];
    assert_eq!(text, "Greet Ada.");
}

#[tokio::test]
async fn a_resource_holds_texts_and_bytes_under_its_uri_and_others() {
    let Some(server) = serve().await else { return };
    let client = server.client();
    let read = result(&client, "resources/read", json!({"uri": "kinds://several"})).await;
    let own = "kinds://several";
    let contents = json!([
        {"uri": own, "mimeType": "text/x-kind", "text": "text"},
        {"uri": own, "mimeType": "text/x-kind", "blob": "AP8="},
        {"uri": own, "mimeType": "image/png", "blob": "iVBORw=="},
        {"uri": "kinds://other", "text": own},
        {"uri": "kinds://bytes", "mimeType": "application/octet-stream", "blob": "AQ=="},
    ]);
    assert_eq!(read["contents"], contents);
    let cache = (&read["ttlMs"], &read["cacheScope"]);
    assert_eq!(cache, (&json!(7_000), &json!("private")));
    let uncached = result(&client, "resources/read", json!({"uri": "numbers://3"})).await;
    assert_eq!(uncached["ttlMs"], 0);
}

#[tokio::test]
async fn what_is_described_and_listed_is_seen_page_by_page() {
    let Some(server) = serve().await else { return };
    let client = server.client();
    let listed = all(&client, "resources/list", "resources").await;
    let several = json!({
        "uri": "kinds://several",
        "name": "several",
        "mimeType": "text/x-kind",
        "size": 9,
        "annotations": {"audience": ["assistant"], "priority": 0.5},
        "_meta": {"test/kind": "several"},
    });
    assert_eq!(listed[0], several);
    let uris = each(&listed, "uri");
    let numbers: Vec<_> = (0..1001).map(|n| format!("numbers://{n}")).collect();
    assert_eq!(uris[1..], numbers);
    let last = json!({"uri": "numbers://1000", "name": "A number", "title": "A number", "size": 7});
    assert_eq!(listed[1001], last);
}

#[tokio::test]
async fn failing_is_told_and_a_bug_ends_the_run() {
    let Some(server) = serve().await else { return };
    let client = server.client();
    for (how, code, word) in [
        ("refuse", -32603, "it cannot be done"),
        ("rpc", 7, "a code of its own"),
        ("structured", -32603, "only a tool"),
        ("trap", -32603, "stopped unexpectedly"),
    ] {
        let got = json!({"name": "failing", "arguments": {"how": how}});
        let read = json!({"uri": format!("faults://{how}")});
        for (method, params) in [("prompts/get", got), ("resources/read", read)] {
            let answer = client.request(method, params).answer().await;
            assert!(answer.message(200, code).contains(word), "{method} {how}");
        }
    }
    // A resource has no links, and one that holds nothing is not there.
    let read = |uri: &str| {
        client
            .request("resources/read", json!({"uri": uri}))
            .answer()
    };
    assert!(
        read("faults://link")
            .await
            .message(200, -32603)
            .contains("cd_link")
    );
    read("faults://none").await.error(200, -32602);
}

// Behind it C would not see what the client chose.
#[tokio::test]
async fn a_value_with_a_zero_byte_is_not_cut() {
    let Some(server) = serve().await else { return };
    let client = server.client();
    let got = json!({"name": "failing", "arguments": {"how": "rpc\0"}});
    let answer = client.request("prompts/get", got).answer().await;
    assert!(answer.message(200, -32602).contains("zero byte"));
    let read = client.request("resources/read", json!({"uri": "numbers://3%004"}));
    read.answer().await.error(200, -32602);
    assert_eq!(
        complete(&client, "how", "r\0", json!({})).await["values"],
        json!([])
    );
}

#[tokio::test]
async fn values_are_suggested_and_the_first_hundred_shown() {
    let Some(server) = serve().await else { return };
    let client = server.client();
    let few = complete(&client, "how", "R", json!({})).await;
    assert_eq!(few, json!({"values": ["refuse", "rpc"], "hasMore": false}));
    let many = complete(&client, "number", "", json!({"other": "known"})).await;
    let values = many["values"].as_array().expect("values");
    assert_eq!((values.len(), &values[0]), (100, &json!("known")));
    assert_eq!(
        (&many["total"], &many["hasMore"]),
        (&json!(151), &json!(true))
    );
    let answer = completion(&client, "broken", "x", json!({})).answer().await;
    assert_eq!(answer.message(200, -32603), "nothing begins with x");
}

#[tokio::test]
async fn changes_are_told() {
    let Some(server) = serve().await else { return };
    let client = server.client();
    let uri = "kinds://several";
    let filter = json!({"resourcesListChanged": true, "resourceSubscriptions": [uri]});
    let mut heard = client.listen(filter).await;
    client.result("touch", json!({})).await;
    let mut told = Vec::new();
    while told.len() < 2 {
        told.push(heard.next().await.expect("a change"));
    }
    assert!(told.contains(&Heard::Updated(uri.to_owned())), "{told:?}");
    assert!(told.contains(&Heard::ResourcesChanged), "{told:?}");
}

/// A request that completes an argument of the prompt `failing`.
fn completion(client: &Client, name: &str, typed: &str, others: Value) -> Call {
    let params = json!({
        "ref": {"type": "ref/prompt", "name": "failing"},
        "argument": {"name": name, "value": typed},
        "context": {"arguments": others},
    });
    client.request("completion/complete", params)
}

async fn complete(client: &Client, name: &str, typed: &str, others: Value) -> Value {
    let answer = completion(client, name, typed, others).answer().await;
    answer.result()["completion"].clone()
}
