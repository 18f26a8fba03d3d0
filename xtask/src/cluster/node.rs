//! A server of the cluster. It ends with this process, however this ends.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::BufRead as _;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use cofferdam_guard::{Guard, Guarded};

/// A server that may not listen yet.
pub(super) struct Node {
    name: String,
    log: PathBuf,
    guard: Guard,
}

/// Where a server listens.
pub(super) struct Addresses {
    /// The endpoint for clients, with its path.
    pub(super) url: String,
    /// The base of the operator's.
    pub(super) admin: String,
}

impl Addresses {
    /// The address for clients.
    pub(super) fn socket(&self) -> Result<SocketAddr> {
        let address = self
            .url
            .strip_prefix("http://")
            .and_then(|rest| rest.strip_suffix("/mcp"));
        let address = address.and_then(|address| address.parse().ok());
        address.with_context(|| format!("no address in {}", self.url))
    }
}

impl Node {
    /// Starts one with a data folder and a log of its own in `folder`, on free ports.
    pub(super) fn start(
        binary: &Path,
        number: u16,
        folder: &Path,
        same: &[OsString],
    ) -> Result<Self> {
        let name = format!("node{number}");
        let log = folder.join(format!("{name}.log"));
        let mut guarded = Guarded::new("TERM", None);
        let command = guarded.command();
        command.arg(binary).arg("serve").args(same);
        command.args([
            "--listen",
            "127.0.0.1:0",
            "--admin",
            "127.0.0.1:0",
            "--data",
        ]);
        command.arg(folder.join(&name)).env("NO_COLOR", "1");
        let file = File::create(&log).with_context(|| log.display().to_string())?;
        command.stderr(file);
        let guard = guarded.start().context("cannot run the server")?;
        Ok(Self { name, log, guard })
    }

    /// Waits until it listens.
    pub(super) fn listens(&mut self) -> Result<Addresses> {
        let mut text = String::new();
        for _ in 0..2 {
            self.guard.stdout().read_line(&mut text)?;
        }
        let after = |words: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(words))?;
            line.split(' ').next().map(str::to_owned)
        };
        match (after("listening on "), after("admin on ")) {
            (Some(url), Some(admin)) => Ok(Addresses { url, admin }),
            _ => {
                let log = fs::read_to_string(&self.log)?;
                let last = log.lines().last().unwrap_or("it logged nothing");
                let (name, log) = (&self.name, self.log.display());
                bail!("{name} did not come to listen: {last}; see {log}")
            }
        }
    }

    /// Its process.
    pub(super) fn pid(&self) -> u32 {
        self.guard.pid()
    }

    /// Where it logs.
    pub(super) fn log(&self) -> &Path {
        &self.log
    }

    /// Has it stop, and does not wait for that.
    pub(super) fn stop(&mut self) {
        self.guard.signal("TERM");
    }
}
