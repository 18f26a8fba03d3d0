//! The client's commands, as people and scripts run them: the real program against the real server, its
//! prompts through a real pseudo-terminal.

#![allow(
    clippy::expect_used,
    reason = "a test that meets the unexpected should fail, saying so"
)]

mod answers;
mod arguments;
mod connection;
mod help;
mod hostile;
mod interrupts;
mod offers;
mod other_server;
mod output;
mod prompts;
mod tasks;
mod terminal;
mod watching;

use cofferdam_tests::{Ended, Program, Server};
use serde_json::Value;

/// Runs a command to its end.
async fn run(arguments: &[&str]) -> Ended {
    Program::start(arguments, "").ended().await
}

/// Calls a tool of a server.
async fn call(server: &Server, tool: &str, more: &[&str]) -> Ended {
    let url = server.url();
    let arguments = [&["call", &url, tool], more].concat();
    run(&arguments).await
}

/// What a command should end with.
trait Ends {
    /// With this exit code; gives standard output.
    fn with(&self, code: i32) -> &str;
    /// With this exit code and nothing on standard output; gives standard error.
    fn failing(&self, code: i32) -> &str;
    /// The one document on standard output.
    fn json(&self) -> Value;
}

impl Ends for Ended {
    fn with(&self, code: i32) -> &str {
        assert_eq!(self.code, code, "{self:?}");
        &self.stdout
    }

    fn failing(&self, code: i32) -> &str {
        assert_eq!(self.code, code, "{self:?}");
        assert!(self.stdout.is_empty(), "{self:?}");
        &self.stderr
    }

    fn json(&self) -> Value {
        let parsed = serde_json::from_str(&self.stdout);
        parsed.unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

/// The id of a task that a call is left as.
async fn detached(server: &Server, tool: &str, more: &[&str]) -> String {
    let ended = call(server, tool, &[&["--detach"], more].concat()).await;
    let id = ended.with(0).trim_end().to_owned();
    assert!(
        ended
            .stderr
            .contains(&format!("cofferdam task watch {} {id}", server.url())),
        "{ended:?}"
    );
    id
}
