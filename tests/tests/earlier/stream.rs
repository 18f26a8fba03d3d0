//! The stream of a session: what a client hears without asking.

use crate::session::Session;
use cofferdam_tests::Server;
use cofferdam_tests::shop::Shop;
use serde_json::{Value, json};

#[tokio::test]
async fn a_session_hears_that_its_tools_changed() {
    let shop = Shop::new(1);
    let server = Server::start(shop.options()).await;
    let session = Session::begin(&server, "2025-06-18", json!({})).await;
    let response = session.stream().await;
    assert_eq!(response.status, 200);
    let mut events = response.events();
    shop.put_version(2);
    let message = events.message().await.expect("a message");
    assert_eq!(message["method"], "notifications/tools/list_changed");
    let listed = session.result("tools/list", json!({})).await;
    assert!(listed.to_string().contains("00000002"), "{listed}");
    // When the server stops, the stream ends.
    server.terminate();
    assert_eq!(events.message().await, None::<Value>);
}

#[tokio::test]
async fn a_stream_needs_a_session_and_has_a_place_among_those_that_listen() {
    let shop = Shop::new(1);
    let server = Server::start(shop.options().set("server.max-listens", 1)).await;
    let session = Session::begin(&server, "2025-06-18", json!({})).await;
    let foreign = session.http("GET").header("Mcp-Session-Id", "x");
    assert_eq!(foreign.send(server.address()).await.status, 404);
    let none = session.http("GET").without("Mcp-Session-Id");
    assert_eq!(none.send(server.address()).await.status, 405);
    let json = session.http("GET").header("Accept", "application/json");
    assert_eq!(json.send(server.address()).await.status, 406);
    assert_eq!(
        session.http("DELETE").send(server.address()).await.status,
        405
    );

    let first = session.stream().await;
    assert_eq!(first.status, 200);
    let second = session.stream().await;
    assert_eq!(second.status, 503);
    let error = second.json().await["error"].take();
    assert!(error.to_string().contains("server.max-listens"), "{error}");
}
