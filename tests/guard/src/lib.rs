//! A server in a child process that ends with its owner, however the owner ends.
//!
//! A shell between the two waits for the end of its input, which only the owner's process holds; then
//! it ends the server and removes its folder. Both are out of the terminal's reach: Ctrl-C is the
//! owner's to answer.

#![allow(
    clippy::expect_used,
    reason = "a test that meets the unexpected should fail, saying so"
)]

mod programs;
#[cfg(test)]
mod tests;

use std::ffi::OsStr;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, ChildStderr, ChildStdout, Command, Stdio};

pub use programs::{Programs, children, tools};

/// Passes on signals, each a line of input. Its own complaints, of a server that is gone, are nobody's.
const SHELL: &str = r#"
end=$1 folder=$2 other=${GUARDED_FOLDER-}; shift 2
unset GUARDED_FOLDER
sh -c 'echo $$; exec "$@"' sh "$@" </dev/null & server=$!
exec >/dev/null 2>&1
while read -r word; do
    case $word in
    keep) folder= other= ;;
    *) kill -s "$word" $server ;;
    esac
done
kill -s "$end" $server
wait $server
[ -z "$folder" ] || rm -rf "$folder"
[ -z "$other" ] || rm -rf "$other"
"#;

/// What is to run under guard. Its arguments are the program and the program's arguments.
pub struct Guarded(Command);

impl Guarded {
    /// Something that is ended by this signal (`TERM`), and whose folder, if any, goes with it.
    #[must_use]
    pub fn new(end: &str, folder: Option<&Path>) -> Self {
        let mut command = Command::new("sh");
        command.args(["-c", SHELL, "sh", end]);
        command.arg(folder.map_or(OsStr::new(""), Path::as_os_str));
        command
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        Self(command)
    }

    /// One more folder goes with it.
    pub fn and_folder(&mut self, folder: &Path) {
        self.0.env("GUARDED_FOLDER", folder);
    }

    /// The command: for arguments, the environment, another user.
    pub fn command(&mut self) -> &mut Command {
        &mut self.0
    }

    /// Starts it. It may have ended already when this returns.
    ///
    /// # Errors
    /// There is no shell, or it cannot be run so.
    pub fn start(mut self) -> std::io::Result<Guard> {
        let mut shell = self.0.spawn()?;
        let stdout = shell.stdout.take().expect("stdout is piped");
        let mut guard = Guard {
            stderr: shell.stderr.take(),
            stdout: BufReader::new(stdout),
            shell,
            pid: 0,
        };
        let mut line = String::new();
        guard.stdout.read_line(&mut line)?;
        guard.pid = line.trim_end().parse().map_err(std::io::Error::other)?;
        Ok(guard)
    }
}

/// A running server. Dropping it ends the server, and returns when that is gone.
#[derive(Debug)]
pub struct Guard {
    shell: Child,
    pid: u32,
    stdout: BufReader<ChildStdout>,
    stderr: Option<ChildStderr>,
}

impl Guard {
    /// The server's process.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// What it prints.
    pub fn stdout(&mut self) -> &mut BufReader<ChildStdout> {
        &mut self.stdout
    }

    /// What it logs, unless that was sent elsewhere. It ends with the server.
    ///
    /// # Panics
    /// If it was taken already.
    pub fn take_stderr(&mut self) -> ChildStderr {
        self.stderr.take().expect("stderr is taken once")
    }

    /// Sends it a signal (`HUP`). Nothing happens if it is gone.
    pub fn signal(&mut self, name: &str) {
        self.say(name);
    }

    /// Leaves its folder where it is when it ends.
    pub fn keep_folder(&mut self) {
        self.say("keep");
    }

    fn say(&mut self, word: &str) {
        if let Some(input) = &mut self.shell.stdin {
            // An error says that the shell is gone, and the server with it.
            let _ = writeln!(input, "{word}");
        }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        drop(self.shell.stdin.take());
        let _ = self.shell.wait();
    }
}

/// A port of 127.0.0.1 that nobody listens on now.
///
/// # Panics
/// If there is none.
#[must_use]
pub fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    listener.local_addr().expect("its address").port()
}
