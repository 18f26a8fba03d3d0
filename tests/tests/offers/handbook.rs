//! The example `handbook`, as a client uses it.

use crate::{all, each, forms, read, result};
use cofferdam_tests::{Options, Server};
use serde_json::json;

#[tokio::test]
async fn a_reader_searches_reads_and_asks() {
    let server = Server::start(Options::guest("handbook")).await;
    let client = forms(&server);
    let found = client.result("search", json!({"words": "low water"})).await;
    let link = &found["content"][1];
    assert_eq!(link["type"], "resource_link");
    let uri = link["uri"].as_str().expect("a URI");
    assert_eq!(uri, "handbook://chapters/mooring/tides");
    assert!(read(&client, uri).await.starts_with("## Tides"));
    assert!(read(&client, "handbook://contents").await.contains(uri));

    let listed = all(&client, "resources/list", "resources").await;
    let uris = each(&listed, "uri");
    assert_eq!(
        uris[1..],
        ["mooring", "weather", "signals"].map(|it| format!("handbook://chapters/{it}"))
    );
    for uri in &uris {
        read(&client, uri).await;
    }
    let missing = json!({"uri": "handbook://chapters/cooking"});
    let answer = client
        .request("resources/read", missing.clone())
        .answer()
        .await;
    assert_eq!(answer.error(200, -32602)["data"], missing);

    let reference = json!({"type": "ref/prompt", "name": "explain"});
    let params = json!({
        "ref": reference,
        "argument": {"name": "section", "value": ""},
        "context": {"arguments": {"chapter": "weather"}},
    });
    let completed = result(&client, "completion/complete", params).await;
    let values = json!(["barometer", "reefing", "fog"]);
    assert_eq!(completed["completion"]["values"], values);
    let arguments = json!({"chapter": "weather", "section": "fog", "reader": "child"});
    let params = json!({"name": "explain", "arguments": arguments});
    let explained = result(&client, "prompts/get", params).await;
    let resource = &explained["messages"][0]["content"]["resource"];
    assert_eq!(resource["uri"], "handbook://chapters/weather/fog");

    let quiz = || {
        client.request(
            "prompts/get",
            json!({"name": "quiz", "arguments": {"chapter": "fire"}}),
        )
    };
    assert!(
        quiz()
            .answer()
            .await
            .message(200, -32602)
            .contains("no chapter fire")
    );
    let quiz = || quiz().param("arguments", json!({"chapter": "signals"}));
    let asked = quiz().answer().await;
    let answers = json!({"questions": {"action": "accept", "content": {"number": 4}}});
    let state = asked.result()["requestState"].clone();
    let got = quiz()
        .param("inputResponses", answers)
        .param("requestState", state);
    let got = got.answer().await;
    assert!(got.result().to_string().contains("ask me 4 questions"));
}
