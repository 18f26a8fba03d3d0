//! Tasks that are followed while their server goes away and comes back.

use std::net::TcpListener;

use cofferdam_tests::{Options, Program, Server};

use crate::{Ends as _, detached, run};

/// A port that is free now, and that a server has again when it comes back.
fn port() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("an address").to_string()
}

#[tokio::test]
async fn a_server_that_comes_back_is_found_again() {
    let server = Server::start(Options::probe().listen(&port())).await;
    let url = server.url();
    let id = detached(&server, "ask", &["-a", r#"keys=["k"]"#]).await;
    let arguments = ["task", "watch", &url, &id];
    let program = Program::start(&arguments, "");
    // Without a terminal, an open question ends it.
    let ended = program.ended().await;
    assert!(
        ended
            .failing(2)
            .contains("answer with: cofferdam task update"),
        "{ended:?}"
    );

    let id = detached(&server, "steps", &["-a", "number=3", "-a", "pause=1500"]).await;
    let program = Program::start(&["task", "watch", &url, &id], "");
    program.log().line(&["working: step 1"]).await;
    let server = server.restart().await;
    program.log().line(&["trying again (1 of 12)"]).await;
    program.log().line(&["the server answers again"]).await;
    let ended = program.ended().await;
    assert_eq!(ended.with(0), "done\n");
    assert!(ended.stderr.contains("working: step 3"), "{ended:?}");
    drop(server);
}

#[tokio::test]
async fn a_server_that_stays_away_is_given_up() {
    let mut server = Server::start(Options::probe()).await;
    let url = server.url();
    let id = detached(&server, "wait", &[]).await;
    server.kill();
    let arguments = ["task", "watch", &url, &id, "--timeout", "2"];
    let ended = run(&arguments).await;
    let told = ended.failing(3);
    assert!(
        told.contains("cannot be reached") && told.contains("trying again (1 of 12)"),
        "{ended:?}"
    );
}
