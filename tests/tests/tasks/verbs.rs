//! The verbs of a running task as its guest meets them (M-12): what they answer while it runs, and
//! that nothing changes it afterwards.

use cofferdam_tests::{Client, Declares, Options, Server};
use serde_json::json;

fn client(server: &Server) -> Client {
    server.client().declaring(Declares::TasksAndForms)
}

#[tokio::test]
async fn nothing_changes_a_task_after_its_handler_ended_it() {
    let server = Server::start(Options::probe()).await;
    let end = client(&server)
        .task("late", json!({"mark": "late-verbs"}))
        .await
        .until("completed")
        .await;
    assert_eq!(end["result"]["content"][0]["text"], "first");
    server.log().line(&["late-verbs", "final"]).await;
}
