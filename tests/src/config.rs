//! Configurations of servers, each in a folder of its own, and the commands that go with them.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

use crate::{Options, files};

/// A `cofferdam.toml`; it is gone when dropped.
pub struct Config {
    folder: TempDir,
}

impl Config {
    /// With this text.
    ///
    /// # Panics
    /// If it cannot be written.
    pub fn new(text: &str) -> Self {
        let folder = tempfile::Builder::new()
            .prefix("cofferdam-config-")
            .tempdir()
            .expect("a folder for a configuration");
        let config = Self { folder };
        config.put("cofferdam.toml", text);
        config
    }

    /// A file beside it, new or in place of the one that is there.
    ///
    /// # Panics
    /// If it cannot be written.
    pub fn put(&self, name: &str, content: impl AsRef<[u8]>) {
        std::fs::write(self.folder().join(name), content).expect("a file can be written");
    }

    /// The folder it lies in.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The file.
    pub fn file(&self) -> PathBuf {
        self.folder().join("cofferdam.toml")
    }

    /// A server with it, and with the component of the tests.
    pub fn probe(&self) -> Options {
        Options::probe().config(&self.file())
    }
}

/// Runs `cofferdam check` with these arguments.
///
/// # Panics
/// If it cannot be run.
pub fn check_config(arguments: &[&str]) -> Output {
    let mut command = Command::new(files::binary());
    command.arg("check").args(arguments).env("NO_COLOR", "1");
    command.output().expect("the server's binary can be run")
}

/// A token of `cofferdam token`, and its hash.
///
/// # Panics
/// If it prints none.
pub fn token() -> (String, String) {
    let output = Command::new(files::binary())
        .arg("token")
        .output()
        .expect("the server's binary can be run");
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    let value = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name));
        let line = line.unwrap_or_else(|| panic!("no {name} in {text}"));
        line.trim().to_owned()
    };
    (value("token:"), value("sha256:"))
}

/// A caller by a token that the operator gave out.
pub struct Identity {
    /// What it sends.
    pub token: String,
    /// Its entry in the configuration.
    pub entry: String,
}

impl Identity {
    /// A subject of a tenant, with a new token.
    ///
    /// # Panics
    /// As [`token`].
    pub fn new(tenant: &str, subject: &str) -> Self {
        let (token, hash) = token();
        let entry = format!(
            "[[auth.tokens]]\ntenant = {tenant:?}\nsubject = {subject:?}\nsha256 = {hash:?}\n"
        );
        Self { token, entry }
    }
}
