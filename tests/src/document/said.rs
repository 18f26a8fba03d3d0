//! What a command prints, line by line, as it comes.
//!
//! Invariant: what is printed is always read, also when nobody waits for it, so that no command can block.

use std::fmt;
use std::fs::File;
use std::io::{BufRead as _, BufReader, Read};
use std::path::PathBuf;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Instant;

use super::Output;

/// What a command printed so far.
pub(super) struct Said {
    pub(super) lines: Vec<String>,
    more: Receiver<String>,
}

impl Said {
    pub(super) fn new(more: Receiver<String>) -> Self {
        let lines = Vec::new();
        Self { lines, more }
    }

    /// Takes what is there.
    pub(super) fn hear(&mut self) {
        self.lines.extend(self.more.try_iter());
    }

    /// Waits until it begins as is shown. False when it does not, or all was said, or the time is over.
    pub(super) fn begins_by(&mut self, deadline: Instant, shown: &Output) -> bool {
        while !shown.is_begun_by(&self.lines) {
            let time = deadline.saturating_duration_since(Instant::now());
            match self.more.recv_timeout(time) {
                Ok(line) => self.lines.push(line),
                Err(_) => return false,
            }
            if !shown.may_begin_with(&self.lines) {
                self.hear();
                return false;
            }
        }
        true
    }

    /// Waits until all is said. False if the time is over before.
    pub(super) fn whole_by(&mut self, deadline: Instant) -> bool {
        loop {
            let time = deadline.saturating_duration_since(Instant::now());
            match self.more.recv_timeout(time) {
                Ok(line) => self.lines.push(line),
                Err(end) => return end == RecvTimeoutError::Disconnected,
            }
        }
    }
}

impl fmt::Display for Said {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.lines
            .iter()
            .try_for_each(|line| writeln!(f, "  {line}"))
    }
}

/// The lines that are written into a named pipe.
pub(super) fn lines_of_pipe(path: PathBuf) -> Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        if let Ok(pipe) = File::open(path) {
            pass_on(pipe, &sender);
        }
    });
    receiver
}

/// The lines that can be read.
pub(super) fn lines(from: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || pass_on(from, &sender));
    receiver
}

fn pass_on(from: impl Read, to: &mpsc::Sender<String>) {
    let mut from = BufReader::new(from);
    let mut line = Vec::new();
    while from
        .read_until(b'\n', &mut line)
        .is_ok_and(|bytes| bytes > 0)
    {
        let text = String::from_utf8_lossy(&line);
        // Nobody hears it any more if this fails, but the command must not wait for a reader.
        let _ = to.send(text.trim_end().to_owned());
        line.clear();
    }
}
