//! The server of the demonstration, as a child process. It is killed when dropped, and when the
//! demonstration wants to show what that does.

use std::env;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, ensure};

use crate::checkout::Checkout;
use crate::guests;

pub(crate) struct Server {
    command: Command,
    child: Child,
    announcement: String,
    url: String,
}

impl Server {
    /// Serves some guests; returns when it listens.
    pub(crate) fn start(checkout: &Checkout, guests: &[&str], port: u16) -> Result<Self> {
        let mut command = Command::new(checkout.target.join("debug/cofferdam"));
        command.arg("serve");
        command.args(guests.iter().map(|name| guests::file(checkout, name)));
        command.args(["--listen", &format!("127.0.0.1:{port}"), "--admin", "off"]);
        command.arg("--data").arg(checkout.target.join("demo"));
        if env::var_os("RUST_LOG").is_none() {
            // Its log would run into the conversation.
            command.env("RUST_LOG", "warn");
        }
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        let child = command.spawn().context("cannot run the server")?;
        // From here on, a failure kills it.
        let mut server = Self {
            command,
            child,
            announcement: String::new(),
            url: String::new(),
        };
        server.listens()?;
        Ok(server)
    }

    /// Kills it as a power cut would, and starts it again.
    pub(crate) fn kill_and_start_again(&mut self) -> Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        self.child = self.command.spawn().context("cannot run the server")?;
        self.listens()
    }

    /// Waits until it listens.
    fn listens(&mut self) -> Result<()> {
        let stdout = self.child.stdout.take().context("its output is piped")?;
        self.announcement.clear();
        BufReader::new(stdout).read_line(&mut self.announcement)?;
        self.announcement
            .truncate(self.announcement.trim_end().len());
        let mut words = self.announcement.split(' ');
        let url = words.find(|word| word.starts_with("http://"));
        self.url = url.context("the server did not come to listen")?.to_owned();
        Ok(())
    }

    /// The line that it announced itself with.
    pub(crate) fn announcement(&self) -> &str {
        &self.announcement
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Until it ends by itself.
    pub(crate) fn wait(&mut self) -> Result<()> {
        let status = self.child.wait()?;
        ensure!(status.success(), "the server ended with {status}");
        Ok(())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // An error says that it is gone already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
