//! The configuration file: what it says is done, the command line goes over it, and whatever is wrong
//! with it stops the start, and `cofferdam check`, with words that lead to the place.

use std::path::Path;

use cofferdam_tests::{Config, Declares, Identity, Options, Request, Server, check_config, guest};
use serde_json::json;

/// Everything but how callers are told apart.
const WHOLE: &str = r#"
listen = "127.0.0.1:0"
data = "state"
store = "sqlite:state/tasks.db"
state-key = "seal.key"

[server]
page-size = 3
allowed-hosts = ["mcp.example"]

[sandbox]
instances = 8
memory-bytes = 134_217_728

[tasks]
ttl-ms = 120_000

[[tools]]
path = "tools"
[[tools]]
path = "more/probe.wasm"
prefix = "acme."
limits = { memory-bytes = 67_108_864, table-elements = 20_000, cpu-ms = 5_000, wall-ms = 30_000, task-wall-ms = 1_000_000, result-bytes = 16_777_216, journal-bytes = 1_048_576 }
tasks = { ttl-ms = 90_000, poll-interval-ms = 500, detach-after-ms = 60_000, max-attempts = 3 }

[tenants.acme]
tools = ["acme.*", "echo", "ask"]
max-instances = 4
max-waiting = 10
max-tasks = 100
max-stored-tasks = 200
memory-bytes = 1_073_741_824
cpu-ms-per-minute = 60_000
result-bytes = 1_048_576
progress-per-second = 100
max-listens = 10
max-connections = 10
[tenants.solo]
"#;

fn whole(more: &str) -> Config {
    let config = Config::new(&format!("{WHOLE}{more}"));
    for folder in ["tools", "more"] {
        let folder = config.folder().join(folder);
        std::fs::create_dir(&folder).expect("a folder");
        std::fs::copy(guest("probe"), folder.join("probe.wasm")).expect("a copy");
    }
    config
}

pub(super) fn checked(file: &Path, more: &[&str]) -> (bool, String, String) {
    let mut arguments = vec!["--config", file.to_str().expect("UTF-8")];
    arguments.extend(more);
    let output = check_config(&arguments);
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
    (
        output.status.success(),
        text(output.stdout),
        text(output.stderr),
    )
}

#[tokio::test]
async fn everything_in_the_file_counts() {
    let identity = Identity::new("acme", "ci");
    let config = whole(&identity.entry);
    let (good, _, error) = checked(&config.file(), &[]);
    assert!(good, "{error}");
    assert!(
        !config.folder().join("state").exists(),
        "nothing is served by a check"
    );

    // The tests run elsewhere, so every path is found from the file's own folder.
    let server = Server::start(Options::default().config(&config.file()).as_configured()).await;
    assert!(
        server.announcement().contains("2 components"),
        "{}",
        server.announcement()
    );
    for kept in ["state", "state/tasks.db", "state/components", "seal.key"] {
        assert!(config.folder().join(kept).exists(), "{kept}");
    }
    let client = server
        .client()
        .declaring(Declares::TasksAndForms)
        .bearing(&identity.token);
    let answer = client.request("tools/list", json!({})).answer().await;
    let page = answer.result()["tools"].as_array().expect("tools");
    assert_eq!(page.len(), 3, "page-size");
    client.result("echo", json!({"text": "x"})).await;
    client
        .call("add", json!({"a": 1, "b": 2}))
        .await
        .error(200, -32602);
    let task = client.task("acme.ask", json!({"keys": ["k"]})).await;
    assert_eq!(task.creation()["ttlMs"], 90_000, "of its source");
    let elsewhere = client
        .request("tools/list", json!({}))
        .header("Host", "mcp.example");
    assert_eq!(elsewhere.send().await.status, 200);
}

#[tokio::test]
async fn the_command_line_goes_over_the_file() {
    let identity = Identity::new("solo", "s");
    let config = whole(&identity.entry);
    let options = Options::default().config(&config.file());
    let settings = options
        .clone()
        .set("tasks.ttl-ms", 60_000)
        .set("server.page-size", 5);
    let server = Server::start(
        settings
            .store("memory:")
            .state_key(&config.folder().join("k")),
    )
    .await;
    let client = server
        .client()
        .declaring(Declares::Tasks)
        .bearing(&identity.token);
    let answer = client.request("tools/list", json!({})).answer().await;
    assert_eq!(answer.result()["tools"].as_array().expect("tools").len(), 5);
    let task = client.task("wait", json!({})).await;
    assert_eq!(task.creation()["ttlMs"], 60_000);
    assert!(config.folder().join("k").exists());
    for unused in ["state", "seal.key"] {
        assert!(!config.folder().join(unused).exists(), "{unused}");
    }
    // The other settings of the file stay.
    let host = client
        .request("tools/list", json!({}))
        .header("Host", "mcp.example");
    assert_eq!(host.send().await.status, 200);
    // Components of the command line are served beside those of the file.
    let server = Server::start(options.store("memory:").and(guest("probe-wasi"))).await;
    assert!(
        server.announcement().contains("3 components"),
        "{}",
        server.announcement()
    );
}

// Where a server of the tests listens is typed, so that only a check sees what a file says.
#[tokio::test]
async fn a_check_looks_at_the_address() {
    for (listen, good) in [
        ("127.0.0.1:0", true),
        ("[::1]:8080", true),
        ("localhost:8080", true),
        ("127.0.0.1", false),
        ("8080", false),
        ("http://127.0.0.1:80/mcp", false),
        ("127.0.0.1:65536", false),
    ] {
        let config = Config::new(&format!("listen = {listen:?}\n"));
        let probe = guest("probe");
        let more = [probe.to_str().expect("UTF-8")];
        let (is_good, _, error) = checked(&config.file(), &more);
        assert_eq!(is_good, good, "{listen}: {error}");
        let named = ["cofferdam.toml: listen", listen, "127.0.0.1:8080"];
        assert!(
            good || named.iter().all(|part| error.contains(part)),
            "{listen}: {error}"
        );
    }
}

#[tokio::test]
async fn a_check_looks_at_what_is_typed() {
    let probe = guest("probe");
    let probe = probe.to_str().expect("UTF-8");
    for (arguments, named) in [
        (vec!["missing.wasm"], vec!["missing.wasm", ".wasm file"]),
        (vec![probe, "--listen", "x"], vec!["--listen", "\"x\""]),
        (vec![probe, "--store", "x"], vec!["--store", "sqlite:PATH"]),
        (
            vec![probe, "--state-key", "missing/k"],
            vec!["--state-key", "missing/k"],
        ),
    ] {
        let output = check_config(&arguments);
        let error = String::from_utf8(output.stderr).expect("UTF-8");
        assert!(!output.status.success(), "{arguments:?}");
        assert!(
            named.iter().all(|part| error.contains(part)),
            "{arguments:?}: {error}"
        );
    }
    assert!(check_config(&[probe]).status.success());
}

#[tokio::test]
async fn a_good_file_is_called_good() {
    let config = whole(&Identity::new("acme", "ci").entry);
    let (good, output, error) = checked(&config.file(), &[]);
    assert!(good && output.contains("good"), "{output} {error}");
    let (good, _, error) = checked(&config.file(), &["--set", "tasks.ttl-mss=1"]);
    assert!(!good && error.contains("ttl-mss"), "{error}");
    let (good, _, error) = checked(&config.folder().join("missing.toml"), &[]);
    assert!(!good && error.contains("missing.toml"), "{error}");
    let empty = Config::new("");
    let (good, _, error) = checked(&empty.file(), &[]);
    assert!(!good && error.contains("[[tools]]"), "{error}");
}

// Whoever can reach the port could call everything.
#[tokio::test]
async fn strangers_are_let_in_knowingly_only() {
    let (status, log) = Server::refuse(Options::probe().listen("0.0.0.0:0")).await;
    assert!(!status.success());
    for way_out in ["0.0.0.0:0", "[auth]", "--allow-anonymous"] {
        assert!(log.contains(way_out), "{log}");
    }
    let open = Options::probe()
        .listen("0.0.0.0:0")
        .argument("--allow-anonymous");
    let server = Server::start(open).await;
    server.log().line(&["WARN", "not authenticated"]).await;
    server.client().result("echo", json!({"text": "x"})).await;

    let identity = Identity::new("acme", "ci");
    let config = Config::new(&format!("[tenants.acme]\n{}", identity.entry));
    let server = Server::start(config.probe().listen("0.0.0.0:0")).await;
    assert_eq!(server.log().count(&["WARN"]), 0, "{}", server.log().text());
    let client = server.client();
    assert_eq!(
        client.request("tools/list", json!({})).send().await.status,
        401
    );
    client
        .bearing(&identity.token)
        .result("echo", json!({"text": "x"}))
        .await;
    // It answers to any name now, but not to pages from elsewhere.
    let page = Request::new("POST", "/mcp").header("Origin", "http://evil.example.com");
    assert_eq!(page.send(server.address()).await.status, 403);
}

// A name's tokens differ each time, and a hash cannot be used in place of its token.
#[tokio::test]
async fn a_hash_opens_nothing() {
    let identity = Identity::new("acme", "ci");
    let again = Identity::new("acme", "ci");
    assert_ne!(identity.token, again.token);
    let config = Config::new(&format!("[tenants.acme]\n{}", identity.entry));
    let server = Server::start(config.probe()).await;
    let hash = identity.entry.split('"').nth(5).expect("a hash");
    assert_eq!(hash.len(), 64);
    for wrong in [hash, &again.token] {
        let call = server
            .client()
            .bearing(wrong)
            .request("tools/list", json!({}));
        assert_eq!(call.send().await.status, 401);
    }
}
