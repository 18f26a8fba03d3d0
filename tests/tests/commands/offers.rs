//! `cofferdam prompts`, `prompt`, `resources` and `read`.

use std::fs;

use cofferdam_tests::{Options, Server};

use crate::{Ends as _, run};

async fn serve() -> Server {
    Server::start(Options::guest("offers")).await
}

#[tokio::test]
async fn prompts_are_listed_and_shown() {
    let server = serve().await;
    let listed = run(&["prompts", &server.url()]).await;
    let greeting = listed.with(0).split("\n\n").next().expect("a prompt");
    assert!(greeting.starts_with("greeting\n"), "{greeting}");
    assert!(greeting.contains("\n    name: "), "{greeting}");
    assert!(greeting.contains("\n    times (optional)"), "{greeting}");
    let listed = run(&["prompts", &server.url(), "-o", "json"]).await;
    assert_eq!(listed.json()["prompts"][0]["name"], "greeting");

    let prompt = ["prompt", &server.url(), "greeting", "-a", "name=Ada"];
    let shown = run(&prompt).await;
    assert!(shown.with(0).starts_with("user: "), "{shown:?}");
    assert!(shown.stdout.contains("Ada"), "{shown:?}");
    let shown = run(&[&prompt[..], &["-o", "json"]].concat()).await;
    assert_eq!(shown.json()["messages"][0]["role"], "user");

    let refused = run(&["prompt", &server.url(), "nothing"]).await;
    let why = refused.failing(3);
    assert!(why.contains("nothing"), "{why}");
    let refused = run(&["prompt", &server.url(), "greeting", "-a", "name"]).await;
    assert!(refused.failing(2).contains("NAME=VALUE"), "{refused:?}");
}

#[tokio::test]
async fn resources_are_listed_and_read() {
    let server = serve().await;
    let listed = run(&["resources", &server.url()]).await;
    let listed = listed.with(0);
    for line in [
        "house://rules (text/plain)",
        "  Rules",
        "house://rooms/{number} (text/plain)",
        // What a component lists itself, on its last page.
        "house://rooms/249",
    ] {
        assert!(listed.lines().any(|it| it == line), "{line}: {listed}");
    }

    let read =
        async |uri: &str, more: &[&str]| run(&[&["read", &server.url(), uri], more].concat()).await;
    assert_eq!(read("house://rules", &[]).await.with(0), "Be kind.\n");
    let folder = tempfile::tempdir().expect("a folder");
    let save = folder.path().to_str().expect("UTF-8");
    let picture = read("house://picture", &["--save", save]).await;
    let place = format!("resource image/png, 4 bytes: {save}/resource-1.png");
    assert!(picture.with(0).contains(&place), "{picture:?}");
    let saved = fs::read(folder.path().join("resource-1.png"));
    assert_eq!(saved.expect("a file"), [0, 1, 2, 255]);
    let missing = read("house://cellar", &[]).await;
    assert!(missing.failing(3).contains("house://cellar"), "{missing:?}");
}

#[tokio::test]
async fn what_a_resource_asks_is_answered() {
    let server = serve().await;
    let room = ["read", &server.url(), "house://rooms/13"];
    let open = run(&room).await;
    let how = open.failing(2);
    assert!(
        how.contains("Which pin?") && how.contains("--answer"),
        "{how}"
    );
    let answered = run(&[&room[..], &["--answer", "pin.pin=1234"]].concat()).await;
    assert_eq!(answered.with(0), "Room 13, entered with 1234\n");
}
