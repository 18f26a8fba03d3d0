//! `cofferdam new`: a project in each language builds with the language's own command, is served, asks
//! its question, and ends the same wherever it is killed.

#![allow(
    clippy::expect_used,
    reason = "a test that meets the unexpected should fail, saying so"
)]

mod refusals;

use std::path::{Path, PathBuf};
use std::process::Command;

use cofferdam_tests::{
    Declares, Options, Server, binary, build_folder, compiler_if_installed, root, rustc,
};
use serde_json::{Value, json};
use tempfile::TempDir;

/// A new project in a folder of its own.
struct Project {
    place: TempDir,
}

impl Project {
    fn new(language: &str) -> Self {
        let place = tempfile::tempdir().expect("a folder");
        let project = Self { place };
        let mut new = Command::new(binary());
        new.args(["new", "my-greeter", "--lang", language]);
        let said = run(new.current_dir(project.place.path()));
        for command in ["cd my-greeter && ", "cofferdam test ", "cofferdam serve "] {
            assert!(said.contains(command), "{said}");
        }
        project
    }

    fn folder(&self) -> PathBuf {
        self.place.path().join("my-greeter")
    }

    /// One of its commands.
    fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.folder());
        command
    }

    /// Serves what was built, and greets someone.
    async fn is_good(&self, component: &Path) {
        let cases = self.folder().join("cases.toml");
        let mut test = Command::new(binary());
        test.arg("test").arg(component).arg("--cases").arg(cases);
        run(test.args(["--kill-everywhere", "--runs", "5"]));

        let server = Server::start(Options::default().and(component.to_owned())).await;
        let client = server.client().declaring(Declares::TasksAndForms);
        for (answer, greeting) in [
            (manner("formal"), "Good day, Zoë."),
            (manner("friendly"), "Hi Zoë!"),
            (json!({"action": "decline"}), "Zoë was not greeted."),
        ] {
            let task = client.task("greet", json!({"name": "Zoë"})).await;
            let asked = task.until("input_required").await;
            let form = &asked["inputRequests"]["manner"]["params"];
            assert_eq!(form["message"], "How shall Zoë be greeted?");
            assert_eq!(asked["statusMessage"], "3 letters");
            task.update(json!({"manner": answer})).await;
            let end = task.until("completed").await;
            assert_eq!(end["result"]["content"][0]["text"], greeting);
        }
    }
}

fn manner(manner: &str) -> Value {
    json!({"action": "accept", "content": {"manner": manner}})
}

/// Runs a command that must succeed, and returns what it printed.
fn run(command: &mut Command) -> String {
    let output = command.output();
    let output = output.unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(output.status.success(), "{command:?}: {output:?}");
    String::from_utf8(output.stdout).expect("UTF-8")
}

#[tokio::test]
async fn rust() {
    let target = "wasm32-unknown-unknown";
    let project = Project::new("rust");
    let mut cargo = project.command("cargo");
    cargo.args(["build", "--release", "--target", target]);
    // The dependencies are those of other guests, and built already.
    let lock = root().join("tests/guests/Cargo.lock");
    std::fs::copy(lock, project.folder().join("Cargo.lock")).expect("copied");
    let built = build_folder("guest-build");
    cargo
        .env("CARGO_TARGET_DIR", &built)
        .env("RUSTC", rustc(target))
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .env_remove("RUSTFLAGS");
    run(&mut cargo);
    let component = built.join(target).join("release/my_greeter.wasm");
    project.is_good(&component).await;
}

#[tokio::test]
async fn javascript() {
    let Some(compiler) = compiler_if_installed("js") else {
        return;
    };
    let project = Project::new("js");
    let modules = project.folder().join("node_modules");
    std::os::unix::fs::symlink(compiler.join("node_modules"), modules).expect("a link");
    run(project.command("npm").args(["run", "build"]));
    project
        .is_good(&project.folder().join("my-greeter.wasm"))
        .await;
}

#[tokio::test]
async fn python() {
    let Some(compiler) = compiler_if_installed("python") else {
        return;
    };
    let project = Project::new("python");
    run(project.command("./build.sh").env("ENVIRONMENT", compiler));
    project
        .is_good(&project.folder().join("my-greeter.wasm"))
        .await;
}

#[tokio::test]
async fn c() {
    let Some(compiler) = compiler_if_installed("c") else {
        return;
    };
    let project = Project::new("c");
    let cache = compiler.join("cache");
    let mut build = project.command("./build.sh");
    build
        .env("ENVIRONMENT", compiler)
        .env("COFFERDAM", binary());
    build
        .env("ZIG_GLOBAL_CACHE_DIR", &cache)
        .env("ZIG_LOCAL_CACHE_DIR", &cache);
    run(&mut build);
    project
        .is_good(&project.folder().join("my-greeter.wasm"))
        .await;
}
