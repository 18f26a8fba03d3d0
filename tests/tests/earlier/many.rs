//! Sessions of several callers, and of several nodes.

use crate::session::Session;
use cofferdam_tests::{Config, Identity, Options, Server};
use serde_json::json;

#[tokio::test]
async fn a_session_is_its_callers_alone() {
    let [alice, bob] = ["alice", "bob"].map(|subject| Identity::new("one", subject));
    let entries = [&*alice.entry, &*bob.entry].concat();
    let config = Config::new(&format!("[tenants.one]\n{entries}"));
    let server = Server::start(config.probe()).await;
    let at = server.address();
    let hers = Session::begin_at(at, Some(&alice.token), "2025-11-25", json!({})).await;
    let his = Session::begin_at(at, Some(&bob.token), "2025-11-25", json!({})).await;
    let stolen = his.http("POST").header("Mcp-Session-Id", &hers.id);
    let ping = his.message("ping", json!({})).to_string();
    let response = stolen.body(ping.clone()).send(at).await;
    // As one that never was.
    let missing = his.http("POST").header("Mcp-Session-Id", "x");
    let unknown = missing.body(ping.clone()).send(at).await;
    assert_eq!((response.status, unknown.status), (404, 404));
    assert_eq!(response.json().await, unknown.json().await);
    let bare = hers.http("POST").without("Authorization");
    assert_eq!(bare.body(ping).send(at).await.status, 401);
    hers.result("ping", json!({})).await;
}

#[tokio::test]
async fn a_session_goes_on_at_another_node_with_the_same_key() {
    let folder = tempfile::tempdir().expect("a folder");
    let key = folder.path().join("key");
    let options = || Options::probe().state_key(&key);
    let one = Server::start(options()).await;
    let other = Server::start(options()).await;
    let session = Session::begin(&one, "2025-06-18", json!({"roots": {}})).await;
    let told = session.call("features", json!({})).await;
    let session = session.at(other.address());
    assert_eq!(session.call("features", json!({})).await, told);
    let stranger = Server::start(Options::probe()).await;
    let session = session.at(stranger.address());
    assert_eq!(session.send("ping", json!({})).await.status, 404);
}
