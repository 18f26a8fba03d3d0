//! The server of the demonstration, as a child process. It is killed when dropped.

use std::env;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, ensure};

use crate::checkout::Checkout;
use crate::guests;

pub(crate) struct Server {
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
        command.args(["--listen", &format!("127.0.0.1:{port}")]);
        command.arg("--data").arg(checkout.target.join("demo"));
        if env::var_os("RUST_LOG").is_none() {
            // Its log would run into the conversation.
            command.env("RUST_LOG", "warn");
        }
        let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn();
        let child = child.context("cannot run the server")?;
        // From here on, a failure kills it.
        let mut server = Self {
            child,
            announcement: String::new(),
            url: String::new(),
        };
        let stdout = server.child.stdout.take().context("its output is piped")?;
        BufReader::new(stdout).read_line(&mut server.announcement)?;
        server
            .announcement
            .truncate(server.announcement.trim_end().len());
        let mut words = server.announcement.split(' ');
        let url = words.find(|word| word.starts_with("http://"));
        server.url = url.context("the server did not come to listen")?.to_owned();
        Ok(server)
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
