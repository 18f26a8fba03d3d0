//! A PostgreSQL server of a test's own: a child process with a folder of its own, reached through a
//! socket in that folder and, if asked for, a free port.
//!
//! It ends with the test however the test ends, and its folder goes with it. Where tests run as root, it
//! runs as `nobody`, because PostgreSQL refuses root. Nothing is flushed to the disk: a killed server
//! loses nothing by that, only a machine without power would.

#![allow(
    clippy::expect_used,
    reason = "a test that meets the unexpected should fail, saying so"
)]

mod place;
#[cfg(test)]
mod tests;

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc;
use std::time::Duration;

use cofferdam_guard::{Guard, Guarded, free_port};

pub use place::is_installed;

/// Its superuser, and that user's password for whoever comes over TCP.
pub const USER: (&str, &str) = ("cofferdam", "secret-word");

/// Longest start.
const PATIENCE: Duration = Duration::from_secs(60);

/// A server. Dropping it ends it.
pub struct Postgres {
    folder: PathBuf,
    port: Option<u16>,
    options: Vec<String>,
    guard: Option<Guard>,
    databases: AtomicU32,
}

impl Postgres {
    /// One that is reached through its socket only.
    ///
    /// # Panics
    /// This and all else here panics if it cannot be done.
    pub fn start() -> Self {
        Self::with(None, None)
    }

    /// One that is reached over TCP, too, with a password.
    pub fn on_tcp() -> Self {
        Self::with(Some(free_port()), None)
    }

    /// The same with TLS: a certificate and its key, as PEM.
    pub fn with_tls(certificate: &str, key: &str) -> Self {
        Self::with(Some(free_port()), Some((certificate, key)))
    }

    fn with(port: Option<u16>, tls: Option<(&str, &str)>) -> Self {
        let template = place::template();
        let folder = tempfile::Builder::new()
            .prefix("cofferdam-pg-")
            .tempdir()
            .expect("a folder for PostgreSQL")
            .keep();
        place::copy(&template, &folder.join("data"));
        let mut options = Vec::new();
        if let Some((certificate, key)) = tls {
            for (setting, name, pem) in [
                ("ssl_cert_file", "server.crt", certificate),
                ("ssl_key_file", "server.key", key),
            ] {
                let file = folder.join(name);
                fs::write(&file, pem).expect("a file can be written");
                place::give_away(&file);
                options.push(format!("{setting}={}", file.display()));
            }
            options.push("ssl=on".to_owned());
        }
        place::give_away(&folder);
        let mut server = Self {
            folder,
            port,
            options,
            guard: None,
            databases: AtomicU32::new(0),
        };
        server.start_again();
        server
    }

    /// Where it listens, if it does.
    pub fn address(&self) -> SocketAddr {
        let port = self.port.expect("it listens to TCP");
        SocketAddr::from(([127, 0, 0, 1], port))
    }

    /// The URL of a database in it, over TCP if it listens there.
    pub fn url(&self, database: &str) -> String {
        let (user, password) = USER;
        match self.port {
            Some(port) => format!("postgres://{user}:{password}@127.0.0.1:{port}/{database}"),
            None => {
                let folder = self.folder.display();
                format!("postgres://{user}@/{database}?host={folder}")
            }
        }
    }

    /// Makes an empty database, and gives its URL.
    pub fn database(&self) -> String {
        let number = self.databases.fetch_add(1, Ordering::Relaxed);
        let name = format!("tasks{number}");
        self.sql("postgres", &format!("CREATE DATABASE {name}"));
        self.url(&name)
    }

    /// Runs statements in a database; gives their rows, one a line, without titles.
    pub fn sql(&self, database: &str, statements: &str) -> String {
        let output = place::command("psql")
            .args(["--no-psqlrc", "--quiet", "--tuples-only", "--no-align"])
            .args(["--set", "ON_ERROR_STOP=1", "--username", USER.0, "--host"])
            .arg(&self.folder)
            .args(["--port", &self.socket().to_string()])
            .args(["--dbname", database, "--command", statements])
            .stdin(Stdio::null())
            .output()
            .expect("psql can be run");
        let complaint = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{statements}: {complaint}");
        let rows = String::from_utf8(output.stdout).expect("UTF-8");
        rows.trim_end().to_owned()
    }

    /// Ends it at once, as a crash would; what was committed is there when it starts again.
    pub fn stop(&mut self) {
        if let Some(mut guard) = self.guard.take() {
            guard.keep_folder();
        }
    }

    /// The port that its socket is named after.
    fn socket(&self) -> u16 {
        self.port.unwrap_or(5432)
    }

    /// Starts it again, where it was and with what it had.
    pub fn start_again(&mut self) {
        // As a crash would end it: at once.
        let mut guarded = Guarded::new("QUIT", Some(&self.folder));
        let command = guarded.command();
        place::as_nobody(command);
        command.arg(place::program("postgres"));
        command.arg("-D").arg(self.folder.join("data"));
        command.arg("-k").arg(&self.folder);
        let host = self.port.map_or("", |_| "127.0.0.1");
        command.args(["-h", host, "-p", &self.socket().to_string()]);
        for option in &self.options {
            command.args(["-c", option]);
        }
        let mut guard = guarded.start().expect("a shell can be run");
        let log = guard.take_stderr();
        self.guard = Some(guard);
        until_ready(log);
    }
}

/// Reads what the server logs until it is ready; the rest is read and dropped.
fn until_ready(log: impl std::io::Read + Send + 'static) {
    let (ready, told) = mpsc::channel();
    std::thread::spawn(move || {
        let mut text = String::new();
        for line in BufReader::new(log).lines().map_while(Result::ok) {
            text.push_str(&line);
            text.push('\n');
            if line.contains("ready to accept connections") {
                // Whoever waited may have given up.
                let _ = ready.send(Ok(()));
                text.clear();
            }
        }
        let _ = ready.send(Err(text));
    });
    match told.recv_timeout(PATIENCE) {
        Ok(Ok(())) => {}
        Ok(Err(text)) => panic!("PostgreSQL ended: {text}"),
        Err(_) => panic!("PostgreSQL is not ready in time"),
    }
}
