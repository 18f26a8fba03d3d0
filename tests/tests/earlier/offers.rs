//! Prompts, resources and completions for clients of earlier revisions.

use crate::session::Session;
use cofferdam_tests::{Options, Server};
use serde_json::{Value, json};

#[tokio::test]
async fn a_session_has_prompts_resources_and_completions() {
    let server = Server::start(Options::guest("offers")).await;
    for version in ["2025-03-26", "2025-06-18", "2025-11-25"] {
        let session = Session::begin(&server, version, json!({})).await;
        let declared = &session.begun["capabilities"];
        assert_eq!(
            declared["resources"],
            json!({"listChanged": true, "subscribe": true})
        );
        assert_eq!(declared["prompts"], json!({"listChanged": true}));
        assert_eq!(declared["completions"], json!({}));
        let prompts = session.result("prompts/list", json!({})).await;
        assert_eq!(prompts["prompts"][0]["name"], "greeting");
        assert!(prompts.get("ttlMs").is_none() && prompts.get("resultType").is_none());
        let params = json!({"name": "greeting", "arguments": {"name": "Ada"}});
        let got = session.result("prompts/get", params).await;
        let text = json!({"type": "text", "text": "Greet Ada."});
        assert_eq!(
            got,
            json!({"messages": [{"role": "user", "content": text}]})
        );
        let listed = session.result("resources/list", json!({})).await;
        assert_eq!(listed["resources"][0]["uri"], "house://rules");
        let templates = session.result("resources/templates/list", json!({})).await;
        assert_eq!(
            templates["resourceTemplates"].as_array().map(Vec::len),
            Some(2)
        );
        let read = session
            .result("resources/read", json!({"uri": "house://rules"}))
            .await;
        let rules = json!({"uri": "house://rules", "mimeType": "text/plain", "text": "Be kind."});
        assert_eq!(read, json!({"contents": [rules]}));
        let missing = session
            .error("resources/read", json!({"uri": "house://cellar"}))
            .await;
        assert_eq!(
            (&missing["code"], &missing["data"]),
            (&json!(-32002), &json!({"uri": "house://cellar"}))
        );
        let params = json!({
            "ref": {"type": "ref/prompt", "name": "greeting"},
            "argument": {"name": "name", "value": "B"},
        });
        let completed = session.result("completion/complete", params).await;
        assert_eq!(
            completed,
            json!({"completion": {"values": ["Bob"], "hasMore": false}})
        );
    }
}

#[tokio::test]
async fn a_session_hears_of_what_it_subscribed_to() {
    let server = Server::start(Options::guest("offers")).await;
    let session = Session::begin(&server, "2025-11-25", json!({})).await;
    let mut events = session.stream().await.events();
    let (rules, picture) = ("house://rules", "house://picture");
    for uri in [rules, picture] {
        let subscribed = session
            .result("resources/subscribe", json!({"uri": uri}))
            .await;
        assert_eq!(subscribed, json!({}));
    }
    session
        .result("resources/unsubscribe", json!({"uri": rules}))
        .await;
    let unknown = session
        .error("resources/subscribe", json!({"uri": "house://cellar"}))
        .await;
    assert_eq!(unknown["code"], -32002);
    for uri in [rules, picture] {
        let arguments = json!({"name": "touch", "arguments": {"uri": uri}});
        session.result("tools/call", arguments).await;
    }
    let message = events.message().await.expect("a message");
    assert_eq!(message["method"], "notifications/resources/updated");
    assert_eq!(message["params"], json!({"uri": picture}));
    let arguments = json!({"name": "relist", "arguments": {"what": "prompts"}});
    session.result("tools/call", arguments).await;
    let message = events.message().await.expect("a message");
    assert_eq!(message["method"], "notifications/prompts/list_changed");
    server.terminate();
    assert_eq!(events.message().await, None::<Value>);
}
