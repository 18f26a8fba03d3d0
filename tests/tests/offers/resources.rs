//! `resources/list`, `resources/templates/list` and `resources/read`.

use crate::{all, each, forms, read, result, serve};
use cofferdam_tests::{Options, Server, guest};
use serde_json::{Value, json};

#[tokio::test]
async fn a_resource_is_read_with_what_it_says_of_caching() {
    let server = serve().await;
    let client = server.client();
    let rules = result(&client, "resources/read", json!({"uri": "house://rules"})).await;
    let expected = json!([{"uri": "house://rules", "mimeType": "text/plain", "text": "Be kind."}]);
    assert_eq!(rules["contents"], expected);
    assert_eq!(
        (&rules["ttlMs"], &rules["cacheScope"]),
        (&json!(5000), &json!("public"))
    );
    let picture = result(&client, "resources/read", json!({"uri": "house://picture"})).await;
    assert_eq!(picture["contents"][0]["blob"], "AAEC/w==");
    assert_eq!(
        (&picture["ttlMs"], &picture["cacheScope"]),
        (&json!(7000), &json!("private"))
    );
    // Nothing was said of this one.
    let room = result(&client, "resources/read", json!({"uri": "house://rooms/1"})).await;
    assert_eq!(
        (&room["ttlMs"], &room["cacheScope"]),
        (&json!(0), &json!("private"))
    );
}

#[tokio::test]
async fn a_template_leads_to_what_it_stands_for() {
    let server = serve().await;
    let client = server.client();
    let templates = all(&client, "resources/templates/list", "resourceTemplates").await;
    let texts = each(&templates, "uriTemplate");
    assert_eq!(texts, ["house://rooms/{number}", "house://papers/{+path}"]);
    assert_eq!(read(&client, "house://rooms/7").await, "Room 7");
    assert_eq!(
        read(&client, "house://papers/a/b%20c").await,
        "The paper a/b c"
    );
    for unknown in [
        "house://rooms/",
        "house://rooms/1/2",
        "house://rooms/999",
        "house://rooms/x",
        "house://cellar",
        "other:thing",
        "",
    ] {
        let answer = client
            .request("resources/read", json!({"uri": unknown}))
            .answer()
            .await;
        let error = answer.error(200, -32602);
        assert_eq!(error["data"], json!({"uri": unknown}));
        assert_eq!(error["message"], "Resource not found");
    }
    let long = format!("house://rooms/{}", "1".repeat(5_000));
    let answer = client
        .request("resources/read", json!({"uri": long}))
        .answer()
        .await;
    assert!(answer.message(200, -32602).contains("URI_BYTES"));
    for missing in [json!({}), json!({"uri": 5}), json!({"uri": null})] {
        client
            .request("resources/read", missing)
            .answer()
            .await
            .error(200, -32602);
    }
}

#[tokio::test]
async fn a_list_goes_on_where_its_component_lists_more() {
    let server = Server::start(Options::guest("offers").set("server.page-size", 2)).await;
    let client = server.client();
    let told = result(&client, "resources/list", json!({})).await;
    let uris = each(told["resources"].as_array().expect("a list"), "uri");
    assert_eq!(uris, ["house://rules", "house://picture"]);
    let mut cursor = told["nextCursor"].clone();
    let mut rooms = Vec::new();
    for _ in 0..3 {
        let page = result(&client, "resources/list", json!({"cursor": cursor})).await;
        rooms.extend(each(page["resources"].as_array().expect("a list"), "uri"));
        cursor = page["nextCursor"].clone();
    }
    let expected: Vec<_> = (0..250).map(|n| format!("house://rooms/{n}")).collect();
    assert_eq!(rooms, expected);
    // The last page lists what leads back to nobody.
    let stray = client
        .request("resources/list", json!({"cursor": cursor}))
        .answer()
        .await;
    assert!(stray.message(200, -32603).contains("\"other://stray\""));
    for wrong in [json!("x"), json!(""), json!(5)] {
        let answer = client
            .request("resources/list", json!({"cursor": wrong}))
            .answer()
            .await;
        answer.error(200, -32602);
    }
}

#[tokio::test]
async fn pages_are_filled_by_what_components_list() {
    let server = Server::start(Options::guest("offers").and(guest("handbook"))).await;
    let client = server.client();
    let first = result(&client, "resources/list", json!({})).await;
    // Three that were told, and the first hundred rooms.
    let uris = each(first["resources"].as_array().expect("a list"), "uri");
    assert_eq!(uris.len(), 103);
    assert_eq!(uris[2], "handbook://contents");
    assert!(first["nextCursor"].is_string());
}

#[tokio::test]
async fn a_resource_may_ask_first() {
    let server = serve().await;
    let client = forms(&server);
    let call = || client.request("resources/read", json!({"uri": "house://rooms/13"}));
    let asked = call().answer().await;
    let state = asked.result()["requestState"].clone();
    let answers = json!({"pin": {"action": "accept", "content": {"pin": "1234"}}});
    let read = call()
        .param("inputResponses", answers)
        .param("requestState", state.clone());
    let read = read.answer().await;
    let text = &read.result()["contents"][0]["text"];
    assert_eq!(text, "Room 13, entered with 1234");
    let other = client.request("resources/read", json!({"uri": "house://rooms/14"}));
    other
        .param("requestState", state)
        .answer()
        .await
        .error(200, -32602);
    // A client that cannot be asked is told so.
    let plain = server
        .client()
        .request("resources/read", json!({"uri": "house://rooms/13"}));
    plain.answer().await.error(400, -32021);
}

#[tokio::test]
async fn limits_hold_for_reads_as_for_calls() {
    let server = Server::start(
        Options::guest("offers")
            .set("sandbox.result-bytes", 100_000)
            .set("sandbox.memory-bytes", 256 << 20),
    )
    .await;
    let client = server.client();
    let read = |path: &str| {
        let uri = format!("house://papers/{path}");
        client
            .request("resources/read", json!({"uri": uri}))
            .answer()
    };
    let huge = read("huge").await;
    let message = huge.message(200, -32603);
    assert!(
        message.contains("sandbox.result-bytes") || message.contains("HOST_CALL_BYTES"),
        "{message}"
    );
    assert!(
        read("trap")
            .await
            .message(200, -32603)
            .contains("stopped unexpectedly")
    );
    read("small").await.result();
}

// Whoever has a URI keeps it: a resource that lies where another component's template has its own is
// refused, whichever is named first.
#[tokio::test]
async fn a_uri_belongs_to_one_component() {
    for (first, second) in [("offers", "bare"), ("bare", "offers")] {
        let server = Server::start(Options::guest(first).and(guest(second))).await;
        let refused = server.log().line(&["refused"]).await;
        assert!(refused.contains(&format!("{second}.wasm")), "{refused}");
        assert!(refused.contains("is served by"), "{refused}");
        let text = read(&server.client(), "house://rooms/7").await;
        assert_eq!(
            text,
            if first == "bare" {
                "Not room 7."
            } else {
                "Room 7"
            }
        );
    }
}

#[tokio::test]
async fn a_component_without_a_tool_serves() {
    let server = Server::start(Options::guest("bare")).await;
    let client = server.client();
    assert_eq!(read(&client, "house://rooms/7").await, "Not room 7.");
    let tools = result(&client, "tools/list", json!({})).await;
    assert_eq!(tools["tools"], Value::Array(Vec::new()));
    client
        .request("prompts/list", json!({}))
        .answer()
        .await
        .error(404, -32601);
    client
        .request("completion/complete", json!({}))
        .answer()
        .await
        .error(404, -32601);
}
