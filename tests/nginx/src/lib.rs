//! An nginx of a test's own, in front of servers: a child process with a folder of its own, on a free
//! port of 127.0.0.1, with the configuration that operators are given.
//!
//! What `deploy/nginx` says of the upstream and of proxying is taken as it is. Only where nginx
//! listens, and the addresses of the nodes, are a test's. It ends with the test however the test ends,
//! and its folder goes with it.

#![allow(
    clippy::expect_used,
    reason = "a test that meets the unexpected should fail, saying so"
)]

mod files;
#[cfg(test)]
mod tests;

use std::io::{BufRead as _, BufReader, Read};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use cofferdam_guard::{Guard, Guarded, free_port};

pub use files::is_installed;

/// Longest start, and longest change of the nodes.
const PATIENCE: Duration = Duration::from_secs(60);

/// What it says when a port is taken.
const IN_USE: &str = "Address already in use";

/// A running nginx. Dropping it ends it.
pub struct Nginx {
    folder: PathBuf,
    address: SocketAddr,
    guard: Guard,
    log: Mutex<mpsc::Receiver<Line>>,
}

/// What nginx logs, as far as anybody waits for it.
#[derive(Debug, PartialEq)]
enum Line {
    /// A worker serves by the newest configuration.
    Works,
    /// A worker accepts no more: there is a newer configuration.
    Leaves,
    /// It cannot go on, or not by this configuration.
    Broken(String),
}

impl Nginx {
    /// One on a free port, which passes requests on to these addresses in turn. There must be one, but
    /// nobody needs to listen there.
    ///
    /// # Panics
    /// This and all else here panics if it cannot be done.
    #[must_use]
    pub fn start(upstreams: &[SocketAddr]) -> Self {
        let mut tries = 0;
        loop {
            // Somebody else may take the port before nginx does.
            match Self::try_start(free_port(), upstreams) {
                Ok(nginx) => return nginx,
                Err(text) if tries < 3 && text.contains(IN_USE) => tries += 1,
                Err(text) => panic!("nginx: {text}"),
            }
        }
    }

    /// The same on a port of the caller's choice.
    #[must_use]
    pub fn start_on(port: u16, upstreams: &[SocketAddr]) -> Self {
        Self::try_start(port, upstreams).unwrap_or_else(|text| panic!("nginx: {text}"))
    }

    fn try_start(port: u16, upstreams: &[SocketAddr]) -> Result<Self, String> {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let folder = tempfile::Builder::new()
            .prefix("cofferdam-nginx-")
            .tempdir()
            .expect("a folder for nginx")
            .keep();
        files::write(&folder, address, upstreams);
        // At once, whatever is under way.
        let mut guarded = Guarded::new("TERM", Some(&folder));
        files::run(guarded.command(), &folder);
        let mut guard = guarded.start().expect("a shell can be run");
        let log = Mutex::new(follow(guard.take_stderr()));
        let mut nginx = Self {
            folder,
            address,
            guard,
            log,
        };
        nginx.until(&Line::Works)?;
        Ok(nginx)
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The same as a URL, without a path.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Its main process.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.guard.pid()
    }

    /// Passes requests on to these addresses from now on. What is under way goes on where it is.
    pub fn set_upstreams(&mut self, upstreams: &[SocketAddr]) {
        files::write_nodes(&self.folder, upstreams);
        self.guard.signal("HUP");
        let done = self.until(&Line::Leaves);
        done.unwrap_or_else(|text| panic!("nginx: {text}"));
    }

    fn until(&mut self, wanted: &Line) -> Result<(), String> {
        let log = self.log.get_mut().expect("nobody panicked with it");
        loop {
            match log.recv_timeout(PATIENCE) {
                Ok(line) if line == *wanted => return Ok(()),
                Ok(Line::Broken(text)) => return Err(text),
                Ok(_) => {}
                Err(RecvTimeoutError::Timeout) => return Err("not ready in time".to_owned()),
                Err(RecvTimeoutError::Disconnected) => return Err("it ended".to_owned()),
            }
        }
    }
}

/// Reads what it logs, to the end.
fn follow(log: impl Read + Send + 'static) -> mpsc::Receiver<Line> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        for text in BufReader::new(log).lines().map_while(Result::ok) {
            let line = if text.contains("[emerg]") {
                Line::Broken(text)
            } else if text.contains("start worker process ") {
                Line::Works
            } else if text.contains("gracefully shutting down") {
                Line::Leaves
            } else {
                continue;
            };
            // Nobody may wait any more.
            let _ = sender.send(line);
        }
    });
    receiver
}
