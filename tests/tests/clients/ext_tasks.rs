//! The official TypeScript client with the official requester of the Tasks extension. The script
//! checks; this starts the server for it.

use std::fs::File;
use std::process::Stdio;

use cofferdam_tests::{Options, Server, node, node_modules, patient, root};
use tokio::process::Command;

#[tokio::test]
async fn the_typescript_requester_calls_polls_answers_and_cancels() {
    let server = Server::start(Options::guest("conformance")).await;
    let script = File::open(root().join("tests/clients/ext-tasks.mjs")).expect("the script");
    // A module from standard input finds its packages from the current folder.
    let run = Command::new(node())
        .args(["--input-type=module", "-", &server.url()])
        .current_dir(
            node_modules()
                .parent()
                .expect("a folder of packages lies in another"),
        )
        .stdin(Stdio::from(script))
        .kill_on_drop(true)
        .output();
    let output = patient("the script", run).await.expect("node runs");
    let stdout = String::from_utf8_lossy(&output.stdout);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stdout}{stderr}");
    assert_eq!(stdout, "call\ntask\ninput\nerror\ncancel\n", "{stderr}");
}
