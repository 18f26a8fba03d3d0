//! The official Inspector's `mcpdo`: a daemon that holds the connection, and one command for each
//! step. It knows nothing of this project, so it is the blackest box of the three.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use cofferdam_tests::{Declares, Options, Server, node, node_modules, patient};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::Command;

/// A daemon of its own, with its catalogue and state in a folder of its own.
struct Inspector {
    program: PathBuf,
    home: TempDir,
    private: Vec<(String, String)>,
}

impl Inspector {
    async fn connected_to(server: &Server) -> Self {
        let packages = node_modules().join("@modelcontextprotocol/inspector");
        let home = tempfile::tempdir().expect("a folder");
        let catalogue =
            json!({"mcpServers": {"cofferdam": {"type": "streamable-http", "url": server.url()}}});
        std::fs::write(home.path().join("catalog.json"), catalogue.to_string()).expect("a file");
        let program = packages.join("clients/mcpdo/build/mcp-bin.js");
        let mut inspector = Self {
            program,
            home,
            private: Vec::new(),
        };
        // It prints `export NAME='VALUE'` for a shell to evaluate.
        let exports = inspector.text(&["private"]).await;
        inspector.private = exports
            .lines()
            .filter_map(|line| line.strip_prefix("export ")?.split_once('='))
            .map(|(name, value)| (name.to_owned(), value.trim_matches('\'').to_owned()))
            .collect();
        assert!(!inspector.private.is_empty(), "{exports}");
        inspector
            .json(&["connect", "cofferdam", "--era", "modern"])
            .await;
        inspector
    }

    /// One command, ready to be run.
    fn command(&self, arguments: &[&str]) -> std::process::Command {
        let home = self.home.path();
        let mut command = std::process::Command::new(node());
        command
            .arg(&self.program)
            .args(arguments)
            .env("HOME", home)
            .env("TMPDIR", home)
            .env("MCP_CATALOG_PATH", home.join("catalog.json"))
            .env("MCP_INSPECTOR_SECRET_STORE", "file")
            // Its daemon must be started by the pinned Node too.
            .env("PATH", search_path(&node()))
            .envs(self.private.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null());
        command
    }

    /// Runs one command and returns what it printed.
    async fn text(&self, arguments: &[&str]) -> String {
        let run = Command::from(self.command(arguments))
            .kill_on_drop(true)
            .output();
        let output = patient(&format!("mcpdo {arguments:?}"), run)
            .await
            .expect("node runs");
        let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.success(),
            "mcpdo {arguments:?}: {stdout}{stderr}"
        );
        stdout
    }

    /// Runs one command and returns the JSON that it printed.
    async fn json(&self, arguments: &[&str]) -> Value {
        let mut all = arguments.to_vec();
        all.extend(["--format", "json"]);
        let text = self.text(&all).await;
        serde_json::from_str(&text)
            .unwrap_or_else(|error| panic!("mcpdo {arguments:?}: {error}: {text}"))
    }
}

impl Drop for Inspector {
    /// Whatever the test came to, its daemon must not stay.
    fn drop(&mut self) {
        let _ = self.command(&["daemon", "stop"]).output();
    }
}

fn search_path(node: &Path) -> std::ffi::OsString {
    let mut folders = vec![
        node.parent()
            .expect("an executable lies in a folder")
            .to_owned(),
    ];
    folders.extend(std::env::split_paths(
        &std::env::var_os("PATH").unwrap_or_default(),
    ));
    std::env::join_paths(folders).expect("folders without colons")
}

#[tokio::test]
async fn the_inspector_calls_polls_answers_and_cancels() {
    let server = Server::start(Options::guest("conformance")).await;
    let inspector = Inspector::connected_to(&server).await;

    let answer = inspector
        .json(&["@cofferdam", "tools/call", "greet", "name:=Ada"])
        .await;
    assert!(answer.to_string().contains("Hello, Ada!"), "{answer}");

    // It polls by itself.
    let answer = inspector
        .json(&[
            "@cofferdam",
            "tools/call",
            "slow_compute",
            "seconds:=0.2",
            "label:=x",
        ])
        .await;
    assert!(answer.to_string().contains("\"content\""), "{answer}");

    let pending = inspector
        .json(&[
            "@cofferdam",
            "tools/call",
            "confirm_delete",
            "filename:=a.txt",
        ])
        .await;
    let question = pending["elicitationPending"]["elicitationId"].as_str();
    let question = question
        .unwrap_or_else(|| panic!("a question should be pending: {pending}"))
        .to_owned();
    let answer = inspector
        .json(&["elicitation/respond", &question, "confirm:=true"])
        .await;
    assert!(answer.to_string().contains("\"content\""), "{answer}");

    // It holds no id of its own then, so it is given one.
    let task = server.client().declaring(Declares::Tasks);
    let task = task
        .task("slow_compute", json!({"seconds": 60, "label": "long"}))
        .await;
    let state = inspector
        .json(&["@cofferdam", "tasks/get", task.id()])
        .await;
    assert!(state.to_string().contains("\"working\""), "{state}");
    inspector
        .json(&["@cofferdam", "tasks/cancel", task.id()])
        .await;
    assert_eq!(task.status().await, "cancelled");
}

#[tokio::test]
async fn the_inspector_completes_and_subscribes() {
    let server = Server::start(Options::guest("conformance")).await;
    let inspector = Inspector::connected_to(&server).await;
    let completed = inspector
        .json(&[
            "@cofferdam",
            "prompts/complete",
            "--complete-ref-type",
            "ref/prompt",
            "--complete-ref",
            "test_prompt_with_arguments",
            "--complete-arg-name",
            "arg1",
            "--complete-arg-value",
            "par",
        ])
        .await;
    let values = &completed["values"];
    assert_eq!(*values, json!(["paris", "park", "party"]), "{completed}");

    let watched = "test://watched-resource";
    let subscribe = inspector.command(&["@cofferdam", "resources/subscribe", watched]);
    let mut subscribed = Command::from(subscribe)
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .expect("node runs");
    let mut lines = BufReader::new(subscribed.stdout.take().expect("it is piped")).lines();
    let mut heard = String::new();
    for word in ["Subscribed", "Resource updated"] {
        let client = server.client();
        if word == "Resource updated" {
            let change = client.tool("test_trigger_resource_change", json!({}));
            change.answer().await.result();
        }
        while !heard.contains(word) {
            let line = patient(word, lines.next_line()).await.expect("text");
            heard = line.expect("a line before it ends");
        }
        assert!(heard.contains(watched), "{heard}");
    }
}
