//! A PostgreSQL server of a test's own: a child process with a folder of its own, reached through a
//! socket in that folder and, if asked for, a free port.
//!
//! It ends with the test however the test ends, and its folders go with it. Where tests run as root, it
//! runs as `nobody`, because PostgreSQL refuses root. Nothing is flushed to the disk, except by one that
//! is measured: a killed server loses nothing by that, only a machine without power would.

#![allow(
    clippy::expect_used,
    reason = "a test that meets the unexpected should fail, saying so"
)]

mod place;
#[cfg(test)]
mod tests;

use std::env;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
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

/// What a server that is measured has other than the tests': what PostgreSQL comes with.
const AS_IT_COMES: [&str; 6] = [
    "fsync=on",
    "full_page_writes=on",
    "wal_level=replica",
    "max_wal_size=1GB",
    "min_wal_size=80MB",
    "shared_buffers=128MB",
];
/// The module that counts statements.
const COUNTER: &str = "pg_stat_statements";

/// A server. Dropping it ends it.
pub struct Postgres {
    /// Where its socket is.
    folder: PathBuf,
    /// What its data is in: the same, or another.
    place: PathBuf,
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
        Self::new(None).started()
    }

    /// One that is reached over TCP, too, with a password.
    pub fn on_tcp() -> Self {
        Self::new(Some(free_port())).started()
    }

    /// The same with TLS: a certificate and its key, as PEM.
    pub fn with_tls(certificate: &str, key: &str) -> Self {
        let mut server = Self::new(Some(free_port()));
        for (setting, name, pem) in [
            ("ssl_cert_file", "server.crt", certificate),
            ("ssl_key_file", "server.key", key),
        ] {
            let file = server.folder.join(name);
            fs::write(&file, pem).expect("a file can be written");
            place::give_away(&file);
            server.options.push(format!("{setting}={}", file.display()));
        }
        server.options.push("ssl=on".to_owned());
        server.started()
    }

    /// One that is measured: set up as PostgreSQL comes, what is committed is on the disk of the folder
    /// `parent`, which the user it runs as must reach. Then come `options`, each `NAME=VALUE`.
    pub fn to_measure(parent: &Path, options: &[&str]) -> Self {
        let mut server = Self::new(None);
        let parent = parent.canonicalize().expect("a folder for the data");
        server.place = folder_in(&parent);
        let options = AS_IT_COMES.iter().chain(options);
        server.options = options.map(|&option| option.to_owned()).collect();
        let counts = place::has_module(COUNTER);
        if counts {
            let preload = format!("shared_preload_libraries={COUNTER}");
            server.options.push(preload);
        }
        place::copy(&place::template(), &server.data());
        place::flush(&server.data());
        server.start_again();
        if counts {
            server.sql("postgres", &format!("CREATE EXTENSION {COUNTER}"));
        }
        server
    }

    fn new(port: Option<u16>) -> Self {
        let folder = folder_in(&env::temp_dir());
        Self {
            place: folder.clone(),
            folder,
            port,
            options: Vec::new(),
            guard: None,
            databases: AtomicU32::new(0),
        }
    }

    fn started(mut self) -> Self {
        place::copy(&place::template(), &self.data());
        self.start_again();
        self
    }

    /// Does it count statements, in the view `pg_stat_statements` of the database `postgres`? One that
    /// is measured does, if PostgreSQL is installed with the module.
    pub fn counts_statements(&self) -> bool {
        let view = format!("SELECT to_regclass('{COUNTER}') IS NOT NULL");
        self.sql("postgres", &view) == "t"
    }

    /// The id of its process, whose children serve one session each.
    pub fn process(&self) -> u32 {
        let file = self.data().join("postmaster.pid");
        let text = fs::read_to_string(file).expect("a server that runs");
        let id = text.lines().next().and_then(|id| id.parse().ok());
        id.expect("its id in the first line")
    }

    fn data(&self) -> PathBuf {
        self.place.join("data")
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
        guarded.and_folder(&self.place);
        let command = guarded.command();
        place::as_nobody(command);
        command.arg(place::program("postgres"));
        command.arg("-D").arg(self.data());
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

/// A new folder for the user that servers run as.
fn folder_in(parent: &Path) -> PathBuf {
    let folder = tempfile::Builder::new()
        .prefix("cofferdam-pg-")
        .tempdir_in(parent)
        .expect("a folder for PostgreSQL")
        .keep();
    place::give_away(&folder);
    folder
}

impl Drop for Postgres {
    fn drop(&mut self) {
        drop(self.guard.take());
        // Emptied, but the user that the server ran as may not remove it from a folder of ours.
        let _ = fs::remove_dir(&self.place);
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
