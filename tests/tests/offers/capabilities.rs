//! What is advertised: what some component offers, and nothing else.

use crate::{result, serve};
use cofferdam_tests::{Options, Server};
use serde_json::{Value, json};

async fn capabilities(server: &Server) -> Value {
    let mut discovered = result(&server.client(), "server/discover", json!({})).await;
    discovered["capabilities"].take()
}

#[tokio::test]
async fn a_server_advertises_what_its_components_offer() {
    let all = capabilities(&serve().await).await;
    assert_eq!(all["prompts"], json!({"listChanged": true}));
    assert_eq!(
        all["resources"],
        json!({"listChanged": true, "subscribe": true})
    );
    assert_eq!(all["completions"], json!({}));
    let bare = capabilities(&Server::start(Options::guest("bare")).await).await;
    assert!(bare.get("prompts").is_none() && bare.get("completions").is_none());
    assert_eq!(bare["resources"]["subscribe"], true);
    let tools = capabilities(&Server::start(Options::probe()).await).await;
    for absent in ["prompts", "resources", "completions"] {
        assert!(tools.get(absent).is_none(), "{tools}");
    }
}

#[tokio::test]
async fn lists_say_how_long_they_may_be_kept() {
    let server = serve().await;
    for method in ["prompts/list", "resources/list", "resources/templates/list"] {
        let list = result(&server.client(), method, json!({})).await;
        assert_eq!(list["ttlMs"], 60_000, "{method}");
        assert_eq!(list["cacheScope"], "public", "{method}");
    }
}
