//! The server's standard error, kept line by line while it runs.

use std::io::{BufRead, BufReader, Read};
use std::sync::Arc;
use std::thread;

use tokio::sync::watch;

use crate::patient;

/// Everything the server has logged so far. Clones share it.
#[derive(Clone)]
pub struct Log {
    text: Arc<watch::Sender<String>>,
}

impl Log {
    /// Reads `stream` on a thread until it ends.
    pub(crate) fn of(stream: impl Read + Send + 'static) -> Self {
        let text = Arc::new(watch::Sender::new(String::new()));
        let writer = Arc::clone(&text);
        thread::spawn(move || {
            let mut lines = BufReader::new(stream);
            let mut line = Vec::new();
            while matches!(lines.read_until(b'\n', &mut line), Ok(read) if read > 0) {
                writer.send_modify(|text| text.push_str(&String::from_utf8_lossy(&line)));
                line.clear();
            }
        });
        Self { text }
    }

    /// The text so far.
    pub fn text(&self) -> String {
        self.text.borrow().clone()
    }

    /// Waits until a line holds all of `parts`, and returns it.
    ///
    /// # Panics
    /// If none comes in time.
    pub async fn line(&self, parts: &[&str]) -> String {
        let mut changes = self.text.subscribe();
        let find = |text: &String| {
            text.lines()
                .find(|line| parts.iter().all(|part| line.contains(part)))
                .map(str::to_owned)
        };
        patient(&format!("a log line with {parts:?}"), async {
            loop {
                let found = find(&changes.borrow_and_update());
                if let Some(line) = found {
                    return line;
                }
                changes.changed().await.expect("the sender lives in self");
            }
        })
        .await
    }
}
