//! The server's standard error, kept line by line while it runs.

use std::io::{BufRead, BufReader, Read};
use std::thread;

use tokio::sync::watch;

use crate::patient;

/// Everything the server has logged so far.
pub struct Log {
    text: watch::Receiver<String>,
}

impl Log {
    /// Reads `stream` on a thread until it ends.
    pub(crate) fn of(stream: impl Read + Send + 'static) -> Self {
        let (writer, text) = watch::channel(String::new());
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

    /// Waits for the end of the stream, and returns all of it.
    pub(crate) async fn whole(&self) -> String {
        let mut text = self.text.clone();
        // The sender goes when the stream ends.
        patient("the end of the log", async {
            while text.changed().await.is_ok() {}
        })
        .await;
        self.text()
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
        self.nth_line(0, parts).await
    }

    /// How many lines hold all of `parts`.
    pub fn count(&self, parts: &[&str]) -> usize {
        holding(&self.text.borrow(), parts).count()
    }

    /// Waits until more than `before` lines hold all of `parts`, and returns the first of those.
    ///
    /// # Panics
    /// If there are not as many in time.
    pub async fn nth_line(&self, before: usize, parts: &[&str]) -> String {
        let mut changes = self.text.clone();
        let find = |text: &String| holding(text, parts).nth(before).map(str::to_owned);
        patient(&format!("a log line with {parts:?}"), async {
            loop {
                let found = find(&changes.borrow_and_update());
                if let Some(line) = found {
                    return line;
                }
                let more = changes.changed().await;
                assert!(
                    more.is_ok(),
                    "the log ended without {parts:?}: {}",
                    self.text()
                );
            }
        })
        .await
    }
}

fn holding<'a>(text: &'a str, parts: &[&str]) -> impl Iterator<Item = &'a str> {
    text.lines()
        .filter(|line| parts.iter().all(|part| line.contains(part)))
}
