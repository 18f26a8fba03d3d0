//! The official SDKs' clients, and the Inspector's command line, of both eras and by both transports.
//! The scripts check; this starts the server for them, or has them start it.

use std::ffi::OsStr;
use std::fs::File;
use std::path::Path;
use std::process::Stdio;

use cofferdam_tests::{Options, Server, binary, guest, node, node_modules, patient, python, root};
use serde_json::Value;
use tempfile::TempDir;
use tokio::process::Command;

/// How a client reaches the server: words for its command line.
enum Target {
    Http(Box<Server>),
    Stdio(TempDir),
}

impl Target {
    async fn both() -> [Self; 2] {
        let server = Server::start(Options::guest("conformance")).await;
        let home = tempfile::tempdir().expect("a folder");
        [Self::Http(Box::new(server)), Self::Stdio(home)]
    }

    fn kind(&self) -> &'static str {
        match self {
            Self::Http(_) => "http",
            Self::Stdio(_) => "stdio",
        }
    }

    fn words(&self) -> Vec<String> {
        let text = |path: &Path| path.to_str().expect("UTF-8").to_owned();
        match self {
            Self::Http(server) => vec![server.url()],
            Self::Stdio(home) => vec![
                text(&binary()),
                "stdio".to_owned(),
                text(&guest("conformance")),
                "--data".to_owned(),
                text(home.path()),
            ],
        }
    }
}

/// Runs a client to its end, and gives what it printed.
async fn run(mut command: Command) -> String {
    let run = command.kill_on_drop(true).output();
    let output = patient(&format!("{command:?}"), run).await;
    let output = output.expect("the client runs");
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {stdout}{stderr}");
    stdout
}

/// What a script prints that went through everything.
const ALL: &str = "connect\nlist\ncall\nprompts\nresources\nprogress\nquestion\ncancel\n";

#[tokio::test]
async fn the_typescript_sdks_of_both_eras_do_everything_by_both_transports() {
    for target in Target::both().await {
        for era in ["first", "legacy", "modern"] {
            let script = File::open(root().join("tests/clients/eras.mjs")).expect("the script");
            let mut command = Command::new(node());
            command
                .args(["--input-type=module", "-", era, target.kind()])
                .args(target.words())
                // A module from standard input finds its packages from the current folder.
                .current_dir(node_modules().parent().expect("a folder"))
                .stdin(Stdio::from(script));
            assert_eq!(run(command).await, ALL, "{era} {}", target.kind());
        }
    }
}

#[tokio::test]
async fn the_python_sdk_in_both_eras_does_everything_by_both_transports() {
    for target in Target::both().await {
        for mode in ["legacy", "2026-07-28"] {
            let mut command = Command::new(python());
            command
                .arg(root().join("tests/clients/python/eras.py"))
                .args([mode, target.kind()])
                .args(target.words())
                .stdin(Stdio::null());
            assert_eq!(run(command).await, ALL, "{mode} {}", target.kind());
        }
    }
}

#[tokio::test]
async fn the_inspectors_command_line_in_both_eras_calls_by_both_transports() {
    let program = node_modules().join("@modelcontextprotocol/inspector/clients/cli/build/index.js");
    let requests: [(&[&str], &str, &str); 4] = [
        (
            &[
                "tools/call",
                "--tool-name",
                "greet",
                "--tool-arg",
                "name=Ada",
            ],
            "/content/0/text",
            "Hello, Ada!",
        ),
        (
            &["resources/list"],
            "/resources/0/uri",
            "test://static-text",
        ),
        (
            &["resources/read", "--uri", "test://static-text"],
            "/contents/0/text",
            "This is the content of the static text resource.",
        ),
        (
            &["prompts/get", "--prompt-name", "test_simple_prompt"],
            "/messages/0/content/text",
            "This is a simple prompt for testing.",
        ),
    ];
    for target in Target::both().await {
        for era in ["legacy", "modern"] {
            for (request, place, expected) in requests {
                let home = tempfile::tempdir().expect("a folder");
                let mut command = Command::new(node());
                command
                    .args([
                        program.as_os_str(),
                        OsStr::new("--protocol-era"),
                        OsStr::new(era),
                    ])
                    .args(target.words())
                    .arg("--method")
                    .args(request)
                    .env("HOME", home.path())
                    .env("MCP_CATALOG_PATH", home.path().join("catalog.json"))
                    .stdin(Stdio::null());
                let told: Value = serde_json::from_str(&run(command).await).expect("JSON");
                let found = told.pointer(place).and_then(Value::as_str);
                assert_eq!(found, Some(expected), "{era} {request:?}: {told}");
            }
        }
    }
}
