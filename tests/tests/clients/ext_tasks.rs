//! The official TypeScript client with the official requester of the Tasks extension. The script
//! checks; this starts the server for it.

use std::process::Stdio;

use cofferdam_tests::{Options, Server, node, node_modules, patient, root};
use tokio::process::Command;

#[tokio::test]
async fn the_typescript_requester_calls_polls_answers_and_cancels() {
    let server = Server::start(Options::guest("conformance")).await;
    let script = root().join("tests/clients/ext-tasks.mjs");
    let run = Command::new(node())
        .arg(script)
        .arg(server.url())
        // The script lies outside the folder of packages, so it is told where they are.
        .env("PACKAGES", node_modules())
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output();
    let output = patient("the script", run).await.expect("node runs");
    let stdout = String::from_utf8_lossy(&output.stdout);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stdout}{stderr}");
    assert_eq!(stdout, "call\ntask\ninput\nerror\ncancel\n", "{stderr}");
}
