//! The example `links`, which is in the component on StarlingMonkey: the web's own `fetch`, through the
//! server's grants.

use std::sync::Arc;

use serde_json::json;

use crate::stage::Stage;

pub(crate) async fn links_of_a_page_are_fetched_once(stage: Arc<Stage>) {
    let upstream = &stage.upstream;
    let page = upstream.url("/page/3");
    let client = stage.client();
    let task = client.task("check-links", json!({"url": page})).await;
    let end = task.until("completed").await;
    let gone = json!([{"url": upstream.url("/status/404"), "why": "it answered 404"}]);
    assert_eq!(
        end["result"]["structuredContent"],
        json!({"page": page, "found": 3, "checked": 3, "broken": gone})
    );

    // Too many to follow unasked. What was fetched before the question is not fetched again.
    let page = upstream.url("/page/30");
    let task = client.task("check-links", json!({"url": page})).await;
    let asked = task.until("input_required").await;
    let form = &asked["inputRequests"]["limit"]["params"];
    assert_eq!(
        form["message"],
        "The page has 30 links. How many shall be followed?"
    );
    stage.server.until_running(0, 0).await;
    task.update(json!({"limit": {"action": "accept", "content": {"limit": 2}}}))
        .await;
    let end = task.until("completed").await;
    assert_eq!(
        end["result"]["structuredContent"],
        json!({"page": page, "found": 30, "checked": 2, "broken": []})
    );
    assert_eq!(upstream.asked("/page/30").len(), 1);
    assert_eq!(upstream.asked("/there/1").len(), 2);

    // What is not granted is not reached, and a model is told so.
    let elsewhere = json!({"url": "http://elsewhere.example/"});
    let task = client.task("check-links", elsewhere).await;
    let end = task.until("completed").await;
    assert_eq!(end["result"]["isError"], true, "{end}");
}
