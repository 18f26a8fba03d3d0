//! A server as a child process: what it costs is read from the kernel, apart from what the load
//! costs. It is killed when dropped.

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result};

/// A server that listens.
pub(crate) struct Server {
    child: Child,
    pub(crate) address: SocketAddr,
}

impl Server {
    /// Starts it, and waits for the line `listening on http://ADDRESS/mcp`.
    pub(crate) fn start(mut command: Command) -> Result<Self> {
        let child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot run {}", command.get_program().display()))?;
        let mut server = Self {
            child,
            address: ([0, 0, 0, 0], 0).into(),
        };
        let stdout = server.child.stdout.take().context("stdout is piped")?;
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line)?;
        server.address = line
            .strip_prefix("listening on http://")
            .and_then(|rest| rest.split_once("/mcp")?.0.parse().ok())
            .with_context(|| {
                format!(
                    "{} does not listen: {line:?}",
                    command.get_program().display()
                )
            })?;
        Ok(server)
    }

    /// The CPU time it has used so far, to ten milliseconds.
    pub(crate) fn cpu(&self) -> Result<Duration> {
        let text = fs::read_to_string(format!("/proc/{}/stat", self.child.id()))?;
        // The second field, a name in brackets, may hold anything.
        let (_, fields) = text
            .rsplit_once(") ")
            .context("/proc/PID/stat has a name")?;
        let fields: Vec<&str> = fields.split(' ').collect();
        let [user, system] =
            [11, 12].map(|index| fields.get(index).and_then(|it| it.parse::<u64>().ok()));
        let ticks = user.zip(system).map(|(user, system)| user + system);
        let ticks = ticks.context("/proc/PID/stat has two times")?;
        Ok(Duration::from_secs(ticks) / u32::try_from(rustix::param::clock_ticks_per_second())?)
    }

    /// Its memory in RAM now, in bytes.
    pub(crate) fn resident(&self) -> Result<u64> {
        let text = fs::read_to_string(format!("/proc/{}/statm", self.child.id()))?;
        let pages = text.split(' ').nth(1).and_then(|it| it.parse::<u64>().ok());
        let pages = pages.context("/proc/PID/statm has a second number")?;
        Ok(pages * rustix::param::page_size() as u64)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // An error says that it is gone already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
