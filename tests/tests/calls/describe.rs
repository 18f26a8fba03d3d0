//! `server/discover` and `tools/list`.

use cofferdam_tests::{Declares, Options, Server, TASKS, VERSION, guest};
use serde_json::{Value, json};

async fn names(server: &Server, params: Value) -> (Vec<String>, Option<Value>) {
    let answer = server.client().request("tools/list", params).answer().await;
    let result = answer.result();
    let tools = result["tools"].as_array().expect("checked by the schema");
    let names = tools
        .iter()
        .map(|tool| tool["name"].as_str().expect("a name").to_owned())
        .collect();
    (names, result.get("nextCursor").cloned())
}

#[tokio::test]
async fn discovery_tells_versions_and_capabilities() {
    let server = Server::start(Options::probe()).await;
    let answer = server
        .client()
        .request("server/discover", json!({}))
        .answer()
        .await;
    let result = answer.result();
    assert_eq!(result["supportedVersions"], json!([VERSION]));
    let capabilities = &result["capabilities"];
    assert_eq!(capabilities["extensions"][TASKS], json!({}));
    assert_eq!(capabilities["logging"], json!({}));
    assert!(capabilities.get("prompts").is_none() && capabilities.get("resources").is_none());
}

#[tokio::test]
async fn the_announcement_counts_tools_and_components() {
    let server = Server::start(Options::probe()).await;
    let (names, _) = names(&server, json!({})).await;
    let expected = format!(
        "listening on {} ({} tools from 1 component",
        server.url(),
        names.len()
    );
    assert!(
        server.announcement().starts_with(&expected),
        "{}",
        server.announcement()
    );
}

#[tokio::test]
async fn the_list_is_the_same_each_time_and_for_everyone() {
    let server = Server::start(Options::probe()).await;
    let list = |declares| {
        server
            .client()
            .declaring(declares)
            .request("tools/list", json!({}))
            .answer()
    };
    let first = list(Declares::Nothing).await.result().to_string();
    for declares in [Declares::Nothing, Declares::Tasks, Declares::Everything] {
        assert_eq!(list(declares).await.result().to_string(), first);
    }
    let restarted = server.restart().await;
    let again = restarted
        .client()
        .request("tools/list", json!({}))
        .answer()
        .await;
    assert_eq!(again.result().to_string(), first);
}

#[tokio::test]
async fn pages_make_up_the_whole_list() {
    let whole = Server::start(Options::probe()).await;
    let (all, next) = names(&whole, json!({})).await;
    assert!(all.len() > 3 && next.is_none());
    let paged = Server::start(Options::probe().set("server.page-size", 3)).await;
    let (mut found, mut next) = names(&paged, json!({})).await;
    assert_eq!(found.len(), 3);
    while let Some(cursor) = next {
        let (more, further) = names(&paged, json!({"cursor": cursor})).await;
        assert!(!more.is_empty() && more.len() <= 3);
        found.extend(more);
        next = further;
    }
    assert_eq!(found, all);
}

#[tokio::test]
async fn a_cursor_that_was_not_given_out_is_refused() {
    let server = Server::start(Options::probe().set("server.page-size", 3)).await;
    for cursor in ["", "nonsense", "-1", "999999", "3 ", "MA=="] {
        let answer = server
            .client()
            .request("tools/list", json!({"cursor": cursor}))
            .answer()
            .await;
        answer.error(200, -32602);
    }
    let (_, next) = names(&server, json!({})).await;
    let mut other = next
        .expect("a second page")
        .as_str()
        .expect("a string")
        .to_owned();
    other.push('x');
    server
        .client()
        .request("tools/list", json!({"cursor": other}))
        .answer()
        .await
        .error(200, -32602);
}

#[tokio::test]
async fn two_components_serve_side_by_side() {
    let server = Server::start(Options::guest("probe").and(guest("conformance"))).await;
    server.client().result("echo", json!({"text": "x"})).await;
    server.client().result("greet", json!({"name": "x"})).await;
}

#[tokio::test]
async fn components_that_cannot_be_served_are_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let bad = folder.path().join("bad.wasm");
    std::fs::write(&bad, b"\0asm nonsense").expect("a file");
    let (status, text) = Server::refuse(Options::default().and(bad.clone())).await;
    assert!(!status.success() && text.contains("bad.wasm"), "{text}");
    let absent = folder.path().join("absent.wasm");
    let (status, text) = Server::refuse(Options::probe().and(absent)).await;
    assert!(!status.success() && text.contains("absent.wasm"), "{text}");

    // Beside components that can be served, those that cannot are left out: the bad file, and one
    // whose tools are there already.
    let copy = folder.path().join("copy.wasm");
    std::fs::copy(guest("probe"), &copy).expect("a copy");
    let server = Server::start(Options::probe().and(bad).and(copy)).await;
    server.log().line(&["ERROR", "bad.wasm"]).await;
    server.log().line(&["ERROR", "copy.wasm", "already"]).await;
    assert!(server.announcement().contains("from 1 component"));
    server.client().result("echo", json!({"text": "x"})).await;
}
