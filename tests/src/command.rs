//! The program's commands, beside those that serve.

use std::io::Write as _;
use std::process::{Child, Command, Output, Stdio};
use std::thread;

use rustix::process::{Pid, Signal, kill_process};
use tokio::sync::oneshot;
use tokio::task::spawn_blocking;

use crate::{Log, files, patient};

/// Runs the program with these arguments and variables, and waits for its end.
///
/// # Panics
/// If it cannot be run, or does not end.
pub async fn cofferdam(arguments: &[&str], variables: &[(&str, &str)]) -> Output {
    let mut command = Command::new(files::binary());
    command.args(arguments).envs(variables.iter().copied());
    command.env("NO_COLOR", "1").stdin(Stdio::null());
    let what = format!("cofferdam {arguments:?} to end");
    let output = spawn_blocking(move || command.output());
    let output = patient(&what, output).await.expect("the waiting thread");
    output.expect("the program can be run")
}

/// A command that runs. Dropping it kills it.
pub struct Program {
    child: Child,
    stdout: oneshot::Receiver<String>,
    log: Log,
}

/// How a command ended.
#[derive(Debug)]
pub struct Ended {
    /// Its exit code.
    pub code: i32,
    /// What it wrote to standard output.
    pub stdout: String,
    /// What it wrote to standard error.
    pub stderr: String,
}

impl Program {
    /// Starts the program with these arguments, and with this on its standard input.
    ///
    /// # Panics
    /// If it cannot be run.
    pub fn start(arguments: &[&str], input: &str) -> Self {
        let mut child = Command::new(files::binary())
            .args(arguments)
            .env("NO_COLOR", "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program can be run");
        let log = Log::of(child.stderr.take().expect("stderr is piped"));
        let stdout = child.stdout.take().expect("stdout is piped");
        let mut stdin = child.stdin.take().expect("stdin is piped");
        let input = input.to_owned();
        // A program that reads nothing may be gone before.
        thread::spawn(move || stdin.write_all(input.as_bytes()));
        let (sender, receiver) = oneshot::channel();
        thread::spawn(move || {
            let text = std::io::read_to_string(stdout).unwrap_or_default();
            let _ = sender.send(text);
        });
        Self {
            child,
            stdout: receiver,
            log,
        }
    }

    /// What it writes to standard error.
    pub fn log(&self) -> &Log {
        &self.log
    }

    /// Ctrl-C.
    ///
    /// # Panics
    /// If it is gone.
    pub fn interrupt(&self) {
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        kill_process(pid.expect("a process id"), Signal::INT).expect("the program runs");
    }

    /// Waits for its end.
    ///
    /// # Panics
    /// If it does not end, or by a signal.
    pub async fn ended(mut self) -> Ended {
        let stdout = patient("the end of standard output", &mut self.stdout).await;
        let stderr = self.log.whole().await;
        let status = self.child.wait().expect("the child can be waited for");
        let code = status.code();
        Ended {
            code: code.unwrap_or_else(|| panic!("{status}: {stderr}")),
            stdout: stdout.expect("the reading thread"),
            stderr,
        }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // An error says that it is gone already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
