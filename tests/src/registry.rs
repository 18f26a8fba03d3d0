//! A real OCI registry (`docker-registry`) on a free port, with a folder of its own, killed when
//! dropped; and the commands that speak to registries.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

use crate::{Log, files};

/// The only one whom a registry with a password lets in.
pub const USER: (&str, &str) = ("someone", "secret-word");
/// That password, as the registry wants it.
const BCRYPT: &str = "$2y$05$abcdefghijklmnopqrstuuUOabO4v2PoT/v47Y.znQK.9MsMDnesq";

/// A running registry.
pub struct Registry {
    folder: TempDir,
    child: Child,
    address: SocketAddr,
    log: Log,
}

impl Registry {
    /// In the clear, and open to everybody.
    pub async fn start() -> Self {
        Self::with(folder(), "").await
    }

    /// For [`USER`] only.
    ///
    /// # Panics
    /// If its files cannot be written.
    pub async fn with_password() -> Self {
        let folder = folder();
        let file = folder.path().join("htpasswd");
        fs::write(&file, format!("{}:{BCRYPT}\n", USER.0)).expect("a file can be written");
        let more = format!("auth: {{htpasswd: {{realm: tests, path: {file:?}}}}}\n");
        Self::with(folder, &more).await
    }

    /// With TLS, for `localhost`; and the file with the certificate that it must be trusted by.
    ///
    /// # Panics
    /// If no certificate can be made.
    pub async fn with_tls() -> (Self, PathBuf) {
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]);
        let made = made.expect("a certificate can be made");
        let folder = folder();
        let [certificate, key] = ["ca.pem", "key.pem"].map(|name| folder.path().join(name));
        fs::write(&certificate, made.cert.pem()).expect("a file can be written");
        fs::write(&key, made.signing_key.serialize_pem()).expect("a file can be written");
        let more = format!("  tls: {{certificate: {certificate:?}, key: {key:?}}}\n");
        (Self::with(folder, &more).await, certificate)
    }

    async fn with(folder: TempDir, more: &str) -> Self {
        let data = folder.path().join("data");
        let config = format!(
            "version: 0.1\nlog: {{level: info, formatter: text}}\n\
             storage: {{filesystem: {{rootdirectory: {data:?}}}, delete: {{enabled: true}}}}\n\
             http:\n  addr: ADDRESS\n{more}"
        );
        fs::write(folder.path().join("config.in"), config).expect("a file can be written");
        let (child, log, address) = run(folder.path(), "127.0.0.1:0").await;
        Self {
            folder,
            child,
            address,
            log,
        }
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// A reference to something in it.
    pub fn reference(&self, rest: &str) -> String {
        format!("oci://{}/{rest}", self.address)
    }

    /// What it logged.
    pub fn log(&self) -> &Log {
        &self.log
    }

    /// Stops it; its address stays its own.
    pub fn stop(&mut self) {
        // An error says that it is gone already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Starts it again, where it was and with what it had.
    pub async fn start_again(&mut self) {
        let address = self.address.to_string();
        (self.child, self.log, _) = run(self.folder.path(), &address).await;
    }
}

impl Drop for Registry {
    fn drop(&mut self) {
        self.stop();
    }
}

fn folder() -> TempDir {
    let mut folder = tempfile::Builder::new();
    let folder = folder.prefix("cofferdam-registry-").tempdir();
    folder.expect("a folder for a registry")
}

/// Runs it, and waits until it says where it listens.
async fn run(folder: &Path, address: &str) -> (Child, Log, SocketAddr) {
    let config = fs::read_to_string(folder.join("config.in")).expect("its configuration");
    let config = config.replace("ADDRESS", &format!("{address:?}"));
    let file = folder.join("config.yml");
    fs::write(&file, config).expect("a file can be written");
    let mut child = Command::new(files::docker_registry())
        .arg("serve")
        .arg(file)
        .env("OTEL_TRACES_EXPORTER", "none")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("docker-registry can be run");
    let log = Log::of(child.stderr.take().expect("stderr is piped"));
    let line = log.line(&["listening on "]).await;
    let rest = line.split("listening on ").nth(1).unwrap_or_default();
    let end = |letter: char| letter == '"' || letter == ',' || letter.is_whitespace();
    let address = rest.split(end).next().and_then(|it| it.parse().ok());
    let address = address.unwrap_or_else(|| panic!("no address in {line}"));
    (child, log, address)
}

/// A docker configuration, in a folder of its own: nobody's, until something is put there.
pub struct DockerConfig(TempDir);

impl DockerConfig {
    /// With this text in `config.json`; with none there is no such file.
    ///
    /// # Panics
    /// If it cannot be written.
    pub fn new(text: Option<&str>) -> Self {
        let folder = tempfile::Builder::new()
            .prefix("cofferdam-docker-")
            .tempdir();
        let folder = folder.expect("a folder");
        if let Some(text) = text {
            fs::write(folder.path().join("config.json"), text).expect("a file can be written");
        }
        Self(folder)
    }

    /// Where it is.
    pub fn folder(&self) -> &Path {
        self.0.path()
    }

    /// A `cofferdam` command that has it.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(files::binary());
        command.args(arguments).env("DOCKER_CONFIG", self.folder());
        command.env("NO_COLOR", "1").stdin(Stdio::null());
        command
    }

    /// Runs such a command: did it succeed, what did it print, and what did it complain of?
    ///
    /// # Panics
    /// If it cannot be run.
    pub fn run(&self, arguments: &[&str]) -> (bool, String, String) {
        let output = self.command(arguments).output();
        let output = output.expect("the server's binary can be run");
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
        (
            output.status.success(),
            text(output.stdout).trim_end().to_owned(),
            text(output.stderr),
        )
    }
}
