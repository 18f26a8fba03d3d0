//! A person at a terminal.

use cofferdam_tests::{PATIENCE, binary};
use rexpect::process::{Signal, WaitStatus};
use rexpect::session::{PtySession, spawn_command};
use std::process::Command;

/// Keys.
pub(crate) const ENTER: &str = "\r";
pub(crate) const DOWN: &str = "\x1b[B";
pub(crate) const ESCAPE: &str = "\x1b";
pub(crate) const SPACE: &str = " ";
pub(crate) const CONTROL_C: &str = "\x03";

/// A program that runs at a pseudo-terminal. Dropping it ends the program.
pub(crate) struct Terminal(PtySession);

impl Terminal {
    /// Starts the program.
    pub(crate) fn start(arguments: &[&str]) -> Self {
        let mut command = Command::new(binary());
        command
            .args(arguments)
            .env("NO_COLOR", "1")
            .env("TERM", "xterm");
        let patience = u64::try_from(PATIENCE.as_millis()).expect("milliseconds");
        Self(spawn_command(command, Some(patience)).expect("the program at a terminal"))
    }

    /// Waits until it shows this; gives what was shown before.
    pub(crate) fn sees(&mut self, text: &str) -> String {
        match self.0.exp_string(text) {
            Ok(before) => before,
            Err(error) => panic!("waited in vain for {text:?}: {error}"),
        }
    }

    /// Types keys.
    pub(crate) fn types(&mut self, keys: &str) {
        self.0
            .send(keys)
            .and_then(|_| self.0.flush())
            .expect("the program reads");
    }

    /// Types a line.
    pub(crate) fn answers(&mut self, text: &str) {
        self.types(text);
        self.types(ENTER);
    }

    /// A signal in place of the key: while a prompt reads keys, the terminal sends none.
    pub(crate) fn interrupt(&mut self) {
        let sent = self.0.process_mut().signal(Signal::SIGINT);
        sent.expect("the program runs");
    }

    /// Waits for the end; gives what was shown until then and the exit code.
    pub(crate) fn ends(mut self) -> (String, i32) {
        let shown = self.0.exp_eof().expect("the end");
        match self.0.process().wait() {
            Ok(WaitStatus::Exited(_, code)) => (shown, code),
            other => panic!("{other:?} after {shown}"),
        }
    }
}
