//! A server of components in a registry.

use cofferdam_tests::{
    Client, Config, DockerConfig, Heard, Listen, Options, Registry, Server, guest,
};
use serde_json::json;

use super::{pushed, text};

/// Tools of two components, by which they are told apart.
const PROBE: &str = "echo";
const OTHER: &str = "report";

/// A server that is told what to serve on its command line.
fn of(reference: &str) -> Options {
    Options::default().argument(reference)
}

/// A configuration of one component in a registry.
fn following(reference: &str) -> Config {
    Config::new(&format!("[[tools]]\npath = {reference:?}\nfollow = true\n"))
}

async fn offers(server: &Server, tool: &str) -> bool {
    let list = server.client().request("tools/list", json!({}));
    let list = list.answer().await;
    let tools = list.result()["tools"].as_array().expect("tools").clone();
    tools.iter().any(|it| it["name"] == tool)
}

async fn listen(client: &Client) -> Listen {
    client.listen(json!({"toolsListChanged": true})).await
}

#[tokio::test]
async fn a_component_is_served_by_tag_and_by_digest_also_without_its_registry() {
    let mut registry = Registry::start().await;
    let docker = DockerConfig::new(None);
    let pinned = pushed(&docker, &registry, "probe", "acme/tools:1");
    let (tagged, _) = pinned.split_once('@').expect("a pinned reference");
    for reference in [tagged, &pinned] {
        let mut server = Server::start(of(reference)).await;
        assert!(offers(&server, PROBE).await);
        server.kill();
        // What was had is served again, and nothing of it is compiled again.
        registry.stop();
        let server = server.restart().await;
        assert!(offers(&server, PROBE).await);
        server.client().result("echo", json!({"text": "x"})).await;
        assert_eq!(server.log().count(&["compiled in"]), 0);
        if reference == tagged {
            let down = ["refused", reference, "cannot reach", "serves on"];
            server.log().line(&down).await;
        }
        registry.start_again().await;
    }
}

#[tokio::test]
async fn another_digest_than_the_pinned_one_is_never_served() {
    let registry = Registry::start().await;
    let docker = DockerConfig::new(None);
    let pinned = pushed(&docker, &registry, "probe", "acme/tools:1");
    let (tagged, digest) = pinned.split_once('@').expect("a pinned reference");
    let zeros = "0".repeat(64);
    let wrong = format!("{tagged}@sha256:{zeros}");
    let (_, said) = Server::refuse(of(&wrong)).await;
    assert!(said.contains(&zeros) && said.contains(digest), "{said}");
    // Beside one that serves, it is left out.
    let config = Config::new(&format!(
        "tools = [{wrong:?}, {:?}]\n",
        text(&guest("report"))
    ));
    let server = Server::start(Options::default().config(&config.file())).await;
    assert!(offers(&server, OTHER).await && !offers(&server, PROBE).await);
    server.log().line(&["refused", &wrong, digest]).await;
}

#[tokio::test]
async fn without_its_registry_a_server_that_never_had_it_serves_the_others() {
    let mut registry = Registry::start().await;
    let reference = registry.reference("acme/tools:1");
    let docker = DockerConfig::new(None);
    pushed(&docker, &registry, "probe", "acme/tools:1");
    registry.stop();
    let (_, said) = Server::refuse(of(&reference)).await;
    assert!(said.contains("cannot reach"), "{said}");
    let options = of(&reference).and(guest("report"));
    let server = Server::start(options).await;
    assert!(offers(&server, OTHER).await);
    let client = server.client();
    let mut heard = listen(&client).await;
    // When it is back, it is asked again.
    registry.start_again().await;
    server.hang_up();
    assert_eq!(heard.next().await, Some(Heard::ToolsChanged));
    assert!(offers(&server, PROBE).await);
}

#[tokio::test]
async fn a_tag_that_moved_is_refused_and_what_it_stood_for_serves_on() {
    let registry = Registry::start().await;
    let docker = DockerConfig::new(None);
    let before = pushed(&docker, &registry, "probe", "acme/tools:1");
    let reference = registry.reference("acme/tools:1");
    let server = Server::start(of(&reference)).await;
    let after = pushed(&docker, &registry, "report", "acme/tools:1");
    server.hang_up();
    let digests = [&before, &after].map(|pinned| pinned.split_once('@').expect("a pin").1);
    let parts = [
        "refused",
        "the tag moved",
        digests[0],
        digests[1],
        "follow = true",
    ];
    server.log().line(&parts).await;
    assert!(offers(&server, PROBE).await && !offers(&server, OTHER).await);
    // Also after a restart.
    let server = server.restart().await;
    server.log().line(&parts).await;
    assert!(offers(&server, PROBE).await && !offers(&server, OTHER).await);
    // Pinned as the message says, it is accepted.
    let server = server.restart_with(of(&after)).await;
    assert!(offers(&server, OTHER).await);
}

#[tokio::test]
async fn a_tag_that_may_move_is_followed_whenever_it_is_asked_for() {
    let registry = Registry::start().await;
    let docker = DockerConfig::new(None);
    pushed(&docker, &registry, "probe", "acme/tools:1");
    let config = following(&registry.reference("acme/tools:1"));
    let options = Options::default().config(&config.file());
    let server = Server::start(options.clone()).await;
    let client = server.client();
    let mut heard = listen(&client).await;
    pushed(&docker, &registry, "report", "acme/tools:1");
    server.hang_up();
    assert_eq!(heard.next().await, Some(Heard::ToolsChanged));
    assert!(offers(&server, OTHER).await && !offers(&server, PROBE).await);
    // By itself, every so often.
    let options = options.set("server.registry-poll-ms", 1_000);
    let server = server.restart_with(options).await;
    let client = server.client();
    let mut heard = listen(&client).await;
    pushed(&docker, &registry, "probe", "acme/tools:1");
    assert_eq!(heard.next().await, Some(Heard::ToolsChanged));
    assert!(offers(&server, PROBE).await && !offers(&server, OTHER).await);
}

#[tokio::test]
async fn a_changed_copy_is_had_again() {
    let registry = Registry::start().await;
    let docker = DockerConfig::new(None);
    let pinned = pushed(&docker, &registry, "probe", "acme/tools:1");
    let mut server = Server::start(of(&pinned)).await;
    server.kill();
    let mirror = server.data().join("registry");
    let files = std::fs::read_dir(mirror).expect("a folder");
    let mut changed = 0;
    for file in files.map(|entry| entry.expect("an entry").path()) {
        if file.extension().is_some_and(|end| end == "wasm") {
            std::fs::write(file, "changed").expect("written");
            changed += 1;
        }
    }
    assert_eq!(changed, 1);
    let server = server.restart().await;
    assert!(offers(&server, PROBE).await);
}

#[tokio::test]
async fn a_registry_that_does_not_answer_holds_up_no_file() {
    let mut registry = Registry::start().await;
    let docker = DockerConfig::new(None);
    pushed(&docker, &registry, "probe", "acme/tools:1");
    let folder = tempfile::tempdir().expect("a folder");
    let put = |name: &str| {
        let file = folder.path().join(format!("{name}.wasm"));
        std::fs::copy(guest(name), file).expect("copied");
    };
    put("render");
    let options = of(&registry.reference("acme/tools:1")).and(folder.path().to_owned());
    let server = Server::start(options).await;
    let client = server.client();
    let mut heard = listen(&client).await;
    // Whoever connects waits for an answer.
    registry.stop();
    let silent = tokio::net::TcpListener::bind(registry.address()).await;
    let silent = silent.expect("the registry's address");
    server.hang_up();
    let (_asked, _) = silent.accept().await.expect("it is asked");
    put("report");
    assert_eq!(heard.next().await, Some(Heard::ToolsChanged));
    assert!(offers(&server, OTHER).await && offers(&server, PROBE).await);
    assert_eq!(server.log().count(&["reloaded"]), 0, "it is still asked");
}
