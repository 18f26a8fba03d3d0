//! Commands that build the project itself: a document names them, the test does not run them, but they
//! must be what the project has.

use crate::{root, xtask};
use std::fs;

/// Does this command fetch, build or install Cofferdam, or what it is built with?
pub(super) fn builds_us(command: &str) -> bool {
    let words: Vec<_> = command.split_whitespace().collect();
    match words.as_slice() {
        ["git", "clone", ..]
        | ["cd", "cofferdam", ..]
        | ["cargo", "xtask" | "doc" | "install", ..]
        | ["rustup", ..] => true,
        ["cargo", "build", ..] => package(&words).is_some(),
        _ => false,
    }
}

/// Is there what it names?
pub(super) fn check(command: &str) -> Result<(), String> {
    let words: Vec<_> = command.split_whitespace().collect();
    if let ["cargo", "xtask", arguments @ ..] = words.as_slice() {
        let arguments: Vec<_> = arguments
            .iter()
            .take_while(|word| !word.starts_with(['#', '&', '|']))
            .collect();
        let output = xtask().args(&arguments).arg("--help").output();
        let output = output.map_err(|error| format!("xtask: {error}"))?;
        if !output.status.success() {
            let told = String::from_utf8_lossy(&output.stderr);
            return Err(format!("no such command: $ {command}\n{told}"));
        }
    }
    let Some(package) = package(&words) else {
        return Ok(());
    };
    let manifest = fs::read_to_string(root().join("Cargo.toml")).map_err(|e| e.to_string())?;
    let is_member = manifest
        .lines()
        .any(|line| line.starts_with(&format!("{package} = {{ path = ")));
    if is_member {
        Ok(())
    } else {
        Err(format!("no such package: $ {command}"))
    }
}

fn package<'c>(words: &[&'c str]) -> Option<&'c str> {
    let name = words
        .iter()
        .skip_while(|word| !["-p", "--package"].contains(word));
    name.copied().nth(1)
}

/// The compiler, as the task runner names it, of a project that this command makes; rustc is always there.
pub(super) fn language(command: &str) -> Option<&'static str> {
    command.strip_prefix("cofferdam new ")?;
    ["js", "python", "c"]
        .into_iter()
        .find(|name| command.split([' ', '=']).any(|word| word == *name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_builds_the_project_is_known_and_the_rest_is_run() {
        for ours in [
            "git clone https://example.com/cofferdam",
            "cargo build --release -p cofferdam",
            "cargo xtask guests --only js   # and others",
            "rustup target add wasm32-unknown-unknown",
        ] {
            assert!(builds_us(ours), "{ours}");
        }
        for run in [
            "cargo build --release",
            "cofferdam serve tools/ &",
            "cd greeter",
        ] {
            assert!(!builds_us(run), "{run}");
        }
        assert!(check("cargo build -p cofferdam").is_ok());
        assert!(check("cargo build -p cofferdame").is_err());
        assert_eq!(
            language("cofferdam new greeter --lang python"),
            Some("python")
        );
        assert_eq!(language("cofferdam new greeter"), None);
    }
}
