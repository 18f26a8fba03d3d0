//! What an operator lets the components of one source reach: that and nothing else, and no other
//! source's.

use cofferdam_tests::{Config, Declares, Server, guest};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::symlink;

/// Two sources of the same component; the grants are the first one's.
fn config(grants: &str) -> Config {
    let component = guest("probe-wasi");
    let component = component.display();
    Config::new(&format!(
        "[[tools]]\npath = \"{component}\"\nprefix = \"with.\"\n{grants}\n\
         [[tools]]\npath = \"{component}\"\nprefix = \"without.\"\n"
    ))
}

const DIRECTORIES: &str = r#"
[[tools.grants.directories]]
host = "readable"
guest = "/data"
[[tools.grants.directories]]
host = "writable"
guest = "/out"
write = true
"#;

/// A readable and a writable folder, with a way out of each.
fn folders(config: &Config) {
    for name in ["readable", "writable"] {
        let folder = config.folder().join(name);
        fs::create_dir(&folder).expect("a folder");
        fs::write(folder.join("file"), name).expect("a file");
        symlink("/etc/passwd", folder.join("absolute")).expect("a link");
        symlink("../secret", folder.join("above")).expect("a link");
    }
    config.put("secret", "not yours");
}

async fn files(server: &Server, tool: &str, write: &[&str], read: &[&str]) -> Value {
    let arguments = json!({"write": write, "read": read});
    let result = server.client().result(tool, arguments).await;
    result["structuredContent"].clone()
}

#[tokio::test]
async fn variables_and_secrets_are_seen_by_their_own_source_only() {
    let config = config(
        "[tools.grants]\nenv = { PLAIN = \"value\" }\n\
         secrets = { TOKEN = { file = \"token\" }, PATHS = { env = \"PATH\" } }",
    );
    config.put("token", "hush-hush\n");
    let server = Server::start(config.probe()).await;
    let seen = |tool: &'static str| {
        let call = server.client().tool(tool, json!({}));
        async move { call.answer().await.result()["structuredContent"]["environment"].clone() }
    };
    let with = seen("with.reach").await;
    assert_eq!(
        (&with["PLAIN"], &with["TOKEN"]),
        (&json!("value"), &json!("hush-hush"))
    );
    assert_eq!(with["PATHS"], json!(std::env::var("PATH").expect("a path")));
    assert_eq!(
        with.as_object().map(serde_json::Map::len),
        Some(3),
        "{with}"
    );
    assert_eq!(seen("without.reach").await, json!({}));
    assert!(!server.log().text().contains("hush-hush"));
}

#[tokio::test]
async fn a_directory_is_read_or_written_as_granted_and_nothing_beside_it() {
    let config = config(DIRECTORIES);
    folders(&config);
    let server = Server::start(config.probe()).await;
    let read = [
        "/data/file",
        "/out/file",
        "/out/new",
        "/data/absolute",
        "/data/above",
        "/data/../secret",
        "/out/above",
        "/etc/passwd",
    ];
    let report = files(
        &server,
        "with.files",
        &["/data/new", "/data/file", "/out/new"],
        &read,
    )
    .await;
    assert_eq!(report["read /data/file"], "readable");
    assert_eq!(report["read /out/file"], "writable");
    assert_eq!(report["read /out/new"], "from the guest");
    let refused = |what: &str| {
        report[what]
            .as_str()
            .is_some_and(|text| text.starts_with("error"))
    };
    for what in ["write /data/new", "write /data/file"]
        .into_iter()
        .map(str::to_owned)
        .chain(read[3..].iter().map(|path| format!("read {path}")))
    {
        assert!(refused(&what), "{what}: {report}");
    }
    let kept = fs::read_to_string(config.folder().join("writable/new")).expect("it was written");
    assert_eq!(kept, "from the guest");
    let other = files(&server, "without.files", &["/out/x"], &["/data/file"]).await;
    assert!(
        other["write /out/x"]
            .as_str()
            .is_some_and(|text| text.starts_with("error")),
        "{other}"
    );
}

// No journal keeps what is read from a folder, so a run cannot be repeated with the same answers.
#[tokio::test]
async fn a_tool_with_directories_is_not_run_again_to_where_it_was() {
    let config = config(DIRECTORIES);
    folders(&config);
    let server = Server::start(config.probe().set("tasks.park-after-ms", 0)).await;
    let client = server.client().declaring(Declares::Everything);
    let arguments = json!({"task": true, "ask": true, "read": ["/data/file"]});
    let kept = client.task("with.files", arguments.clone()).await;
    kept.until("input_required").await;
    // It waits with its instance: an answer finds it there.
    kept.update(json!({"go": {"action": "accept"}})).await;
    let end = kept.until("completed").await;
    assert_eq!(
        end["result"]["structuredContent"]["read /data/file"],
        "readable"
    );

    let lost = client.task("with.files", arguments).await;
    lost.until("input_required").await;
    let before = client.call("with.files", json!({"ask": true})).await;
    let told = before.result().to_string();
    assert!(
        told.contains("nothing can be asked"),
        "no question before a task: {told}"
    );
    let server = server.restart().await;
    let lost = lost.through(&server.client().declaring(Declares::Everything));
    lost.update(json!({"go": {"action": "accept"}})).await;
    let end = lost.until("failed").await;
    let why = end["statusMessage"]
        .as_str()
        .expect("checked by the schema");
    assert!(why.contains("directories"), "{why}");
}

#[tokio::test]
async fn grants_that_are_not_there_stop_the_start_and_are_named() {
    for (grants, named) in [
        (
            "[tools.grants]\nsecrets = { A = { env = \"NOT_SET_ANYWHERE\" } }",
            "NOT_SET_ANYWHERE",
        ),
        (
            "[tools.grants]\nsecrets = { A = { file = \"gone\" } }",
            "gone",
        ),
        ("[tools.grants]\nenv = { \"A-B\" = \"x\" }", "A-B"),
        (
            "[[tools.grants.directories]]\nhost = \"gone\"\nguest = \"/data\"",
            "gone",
        ),
        ("[tools.grants]\nnetwork = true", "network"),
    ] {
        let (status, text) = Server::refuse(config(grants).probe()).await;
        assert!(
            !status.success() && text.contains(named),
            "{grants}: {text}"
        );
        assert!(text.contains("cofferdam.toml"), "{text}");
    }
}
