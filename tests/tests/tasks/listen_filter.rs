//! What may be listened to (M-24; T-09, T-51), and how many may listen.

use cofferdam_tests::{Client, Declares, Event, Heard, Options, Server};
use serde_json::{Value, json};

fn client(server: &Server) -> Client {
    server.client().declaring(Declares::Tasks)
}

/// An id of the right form that no task has.
fn unknown_id() -> String {
    "A".repeat(43)
}

#[tokio::test]
async fn ids_need_the_extension_but_an_empty_list_does_not() {
    let server = Server::start(Options::probe()).await;
    let stranger = server
        .client()
        .declaring_json(json!({"elicitation": {}, "tasks": {"cancel": {}}}));
    let filter = json!({"notifications": {"taskIds": [unknown_id()]}});
    let answer = stranger
        .request("subscriptions/listen", filter)
        .answer()
        .await;
    let data = &answer.error(400, -32021)["data"];
    assert_eq!(
        data,
        &json!({"requiredCapabilities": {"extensions": {"io.modelcontextprotocol/tasks": {}}}})
    );
    let listen = stranger.listen(json!({"taskIds": []})).await;
    assert_eq!(listen.accepted(), &json!({"taskIds": []}));
}

#[tokio::test]
async fn unknown_ids_are_left_out_without_a_word() {
    let server = Server::start(Options::probe()).await;
    let client = client(&server);
    let task = client.task("wait", json!({})).await;
    let ids = [
        unknown_id(),
        task.id().to_owned(),
        "not an id at all".to_owned(),
        String::new(),
    ];
    let listen = client.listen(json!({"taskIds": ids})).await;
    assert_eq!(listen.accepted(), &json!({"taskIds": [task.id()]}));
    task.cancel().await;
    assert!(
        listen
            .rest()
            .await
            .iter()
            .all(|state| state["taskId"] == task.id())
    );
}

#[tokio::test]
async fn a_list_of_unknown_ids_ends_at_once() {
    let server = Server::start(Options::probe()).await;
    let listen = client(&server)
        .listen(json!({"taskIds": [unknown_id()]}))
        .await;
    let accepted = listen.accepted().get("taskIds");
    assert!(accepted.is_none_or(|ids| *ids == json!([])), "{accepted:?}");
    assert_eq!(listen.rest().await, Vec::<Value>::new());
}

#[tokio::test]
async fn an_id_given_twice_is_one() {
    let server = Server::start(Options::probe()).await;
    let client = client(&server);
    let task = client.task("finish", json!({})).await;
    task.until("completed").await;
    let listen = client
        .listen(json!({"taskIds": [task.id(), task.id()]}))
        .await;
    assert_eq!(listen.accepted(), &json!({"taskIds": [task.id()]}));
    assert_eq!(listen.rest().await.len(), 1);
}

// M-30: at the limit and one over it.
#[tokio::test]
async fn a_thousand_ids_and_no_more() {
    let server = Server::start(Options::probe()).await;
    let client = client(&server);
    let task = client.task("wait", json!({})).await;
    let mut ids: Vec<String> = (0..999).map(|n| format!("{n:043}")).collect();
    ids.push(task.id().to_owned());
    let listen = client.listen(json!({"taskIds": ids})).await;
    assert_eq!(listen.accepted(), &json!({"taskIds": [task.id()]}));
    ids.push(unknown_id());
    let params = json!({"notifications": {"taskIds": ids}});
    client
        .request("subscriptions/listen", params)
        .answer()
        .await
        .error(200, -32602);
}

#[tokio::test]
async fn a_wrong_type_is_refused() {
    let server = Server::start(Options::probe()).await;
    for ids in [
        json!("text"),
        json!({}),
        json!(1),
        json!([1]),
        json!([null]),
        json!([["x"]]),
        json!(["x", 1]),
    ] {
        let params = json!({"notifications": {"taskIds": ids}});
        let answer = client(&server)
            .request("subscriptions/listen", params)
            .answer()
            .await;
        answer.error(200, -32602);
    }
}

#[tokio::test]
async fn kinds_that_this_server_does_not_offer_are_left_out() {
    let server = Server::start(Options::probe()).await;
    let client = client(&server);
    let task = client.task("finish", json!({})).await;
    task.until("completed").await;
    let filter = json!({
        "promptsListChanged": true, "resourcesListChanged": true, "resourceSubscriptions": ["file:///a"],
        "com.example/own": 5, "taskIds": [task.id()],
    });
    let listen = client.listen(filter).await;
    assert_eq!(listen.accepted(), &json!({"taskIds": [task.id()]}));
}

// What is acknowledged is what discovery offers.
#[tokio::test]
async fn list_changes_are_accepted_if_they_are_asked_for() {
    let server = Server::start(Options::probe()).await;
    let listen = client(&server)
        .listen(json!({"toolsListChanged": true}))
        .await;
    assert_eq!(
        listen.accepted().get("toolsListChanged"),
        Some(&json!(true))
    );
    let listen = client(&server)
        .listen(json!({"toolsListChanged": false}))
        .await;
    assert_eq!(listen.accepted().get("toolsListChanged"), None);
}

#[tokio::test]
async fn a_disabled_extension_is_left_out() {
    let server = Server::start(Options::probe().set("tasks.enabled", false)).await;
    let listen = client(&server)
        .listen(json!({"taskIds": [unknown_id()]}))
        .await;
    assert_eq!(listen.accepted(), &json!({}));
}

// M-30: open subscriptions.
#[tokio::test]
async fn subscriptions_over_the_limit_are_refused_until_one_closes() {
    let server = Server::start(Options::probe().set("server.max-listens", 2)).await;
    let client = client(&server);
    let task = client.task("wait", json!({})).await;
    let first = client.listen_to(&[&task]).await;
    let _second = client.listen_to(&[&task]).await;
    let params = json!({"notifications": {"taskIds": [task.id()]}});
    let third = client.request("subscriptions/listen", params.clone());
    let refusal = third.answer().await;
    assert!(
        refusal.message(200, -32603).contains('2'),
        "the limit is named: {refusal:?}"
    );
    drop(first);
    // The server notices the closed stream on its own time.
    cofferdam_tests::patient("a place for a subscription", async {
        loop {
            let response = client
                .request("subscriptions/listen", params.clone())
                .send()
                .await;
            if response.header("content-type") == "text/event-stream" {
                break;
            }
        }
    })
    .await;
}

#[tokio::test]
async fn a_quiet_stream_is_kept_alive_by_comments() {
    let server = Server::start(Options::probe().set("server.keep-alive-ms", 50)).await;
    let client = client(&server);
    let task = client.task("wait", json!({})).await;
    let mut listen = client.listen_to(&[&task]).await;
    assert!(matches!(listen.next().await, Some(Heard::Task(_))));
    for _ in 0..3 {
        let event = listen.event().await;
        assert!(matches!(event, Some(Event::Comment(_))), "{event:?}");
    }
}
