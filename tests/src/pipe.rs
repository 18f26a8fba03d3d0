//! The real server on standard input and output. Dropping it kills the process.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::thread;

use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::task::spawn_blocking;

use crate::{Log, META, VERSION, files, patient};

/// A server that is this process's own.
pub struct Pipe {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: mpsc::UnboundedReceiver<String>,
    log: Log,
    ids: i64,
}

impl Pipe {
    /// Starts `cofferdam stdio` with these arguments, and a home of its own.
    ///
    /// # Panics
    /// If the binary cannot be run.
    pub fn start(home: &Path, arguments: &[&str]) -> Self {
        let mut command = Command::new(files::binary());
        command.arg("stdio").args(arguments).env("HOME", home);
        command
            .env_remove("XDG_STATE_HOME")
            .env("RUST_LOG", "info,cofferdam=trace")
            .env("NO_COLOR", "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().expect("the server's binary can be run");
        let log = Log::of(child.stderr.take().expect("stderr is piped"));
        let stdout = BufReader::new(child.stdout.take().expect("stdout is piped"));
        let (sender, lines) = mpsc::unbounded_channel();
        thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        Self {
            stdin: child.stdin.take(),
            child,
            lines,
            log,
            ids: 0,
        }
    }

    /// What it logs.
    pub fn log(&self) -> &Log {
        &self.log
    }

    /// Writes text as it is.
    ///
    /// # Panics
    /// If the server does not take it.
    pub fn write(&mut self, text: &str) {
        let stdin = self.stdin.as_mut().expect("standard input is open");
        stdin.write_all(text.as_bytes()).expect("the server reads");
        stdin.flush().expect("the server reads");
    }

    /// Sends a message on a line of its own.
    pub fn send(&mut self, message: &Value) {
        self.write(&format!("{message}\n"));
    }

    /// Sends a request with the next id, and returns that.
    pub fn request(&mut self, method: &str, params: Value) -> i64 {
        self.ids += 1;
        let id = self.ids;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    /// The same, with the metadata of the present revision.
    pub fn modern(&mut self, method: &str, mut params: Value, capabilities: Value) -> i64 {
        params["_meta"] = json!({
            format!("{META}protocolVersion"): VERSION,
            format!("{META}clientCapabilities"): capabilities,
        });
        self.request(method, params)
    }

    /// The next message; none at the end of standard output.
    ///
    /// # Panics
    /// If nothing comes for long, or what comes is no JSON.
    pub async fn next(&mut self) -> Option<Value> {
        let line = patient("a line of the server", self.lines.recv()).await?;
        Some(serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}")))
    }

    /// Waits for the response to a request. What comes before it is returned, too.
    ///
    /// # Panics
    /// If it does not come.
    pub async fn response(&mut self, id: i64) -> (Value, Vec<Value>) {
        let mut before = Vec::new();
        while let Some(message) = self.next().await {
            if message["id"] == id && message.get("method").is_none() {
                return (message, before);
            }
            before.push(message);
        }
        panic!("no response to {id}: {before:?}: {}", self.log.text());
    }

    /// Closes standard input.
    pub fn close(&mut self) {
        self.stdin = None;
    }

    /// Its process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Waits for the end of the process.
    ///
    /// # Panics
    /// If it goes on.
    pub async fn gone(mut self) -> ExitStatus {
        let pid = self.child.id();
        let ended = spawn_blocking(move || self.child.wait());
        let ended = patient(&format!("process {pid} to end"), ended).await;
        ended.expect("the waiting thread").expect("a child process")
    }
}
