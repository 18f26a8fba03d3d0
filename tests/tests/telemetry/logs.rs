//! Log lines for machines.

use cofferdam_tests::{Options, Server};
use serde_json::{Value, json};

#[tokio::test]
async fn each_line_is_an_object_if_that_is_asked_for() {
    let options = Options::probe().argument("--log-format").argument("json");
    let mut server = Server::start(options).await;
    server.client().call("log", json!({})).await;
    server.stop().await;
    let text = server.log().text();
    let mut lines = 0;
    for line in text.lines() {
        let line: Value =
            serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        assert!(
            line["timestamp"].is_string() && line["level"].is_string(),
            "{line}"
        );
        lines += usize::from(line["tool"] == "log");
    }
    // All but the one of the level debug, which is not shown.
    assert_eq!(lines, 7, "{text}");
}
