//! What guests say: `log`, stdout and stderr become lines of the server's log.
//!
//! Invariant: the length and the rate of lines are bounded, and what was dropped is counted.

use crate::journal::Journal;
use crate::limits::{LOG_LINE_BYTES, LOG_LINES_PER_SECOND};
use crate::protocol::Level;
use bytes::Bytes;
use parking_lot::Mutex;
use std::borrow::Cow;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;
use tokio::io::AsyncWrite;
use wasmtime_wasi::cli::{IsTerminal, StdoutStream};
use wasmtime_wasi::p2::{OutputStream, Pollable, StreamError, StreamResult};

/// The log of one call. While its journal answers, lines are dropped: they were written before.
#[derive(Clone)]
pub struct GuestLog(Arc<Shared>);

struct Shared {
    tool: Arc<str>,
    journal: Arc<Mutex<Journal>>,
    rate: Mutex<Option<Rate>>,
}

struct Rate {
    second: Instant,
    lines: u32,
    dropped: u32,
}

impl GuestLog {
    /// A log under a tool's name.
    #[must_use]
    pub fn new(tool: Arc<str>, journal: Arc<Mutex<Journal>>) -> Self {
        Self(Arc::new(Shared {
            tool,
            journal,
            rate: Mutex::new(None),
        }))
    }

    /// Writes one line; false if it was dropped.
    pub fn line(&self, level: Level, source: &'static str, message: &str, fields: &str) -> bool {
        if self.0.journal.lock().is_replaying() || !self.admit() {
            return false;
        }
        let tool = &*self.0.tool;
        let (message, fields) = (one_line(cut(message)), one_line(cut(fields)));
        let fields = &*fields;
        match level {
            Level::Debug => tracing::debug!(target: "guest", tool, source, fields, "{message}"),
            Level::Info | Level::Notice => {
                tracing::info!(target: "guest", tool, source, fields, "{message}");
            }
            Level::Warning => tracing::warn!(target: "guest", tool, source, fields, "{message}"),
            _ => tracing::error!(target: "guest", tool, source, fields, "{message}"),
        }
        true
    }

    fn admit(&self) -> bool {
        let now = Instant::now();
        let mut rate = self.0.rate.lock();
        let rate = rate.get_or_insert(Rate {
            second: now,
            lines: 0,
            dropped: 0,
        });
        if now.duration_since(rate.second).as_secs() >= 1 {
            if rate.dropped > 0 {
                let (tool, dropped) = (&*self.0.tool, rate.dropped);
                tracing::warn!(target: "guest", tool, dropped, "log lines dropped: too many a second");
            }
            *rate = Rate {
                second: now,
                lines: 0,
                dropped: 0,
            };
        }
        if rate.lines >= LOG_LINES_PER_SECOND {
            rate.dropped += 1;
            return false;
        }
        rate.lines += 1;
        true
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        if let Some(rate) = self.rate.get_mut()
            && rate.dropped > 0
        {
            let (tool, dropped) = (&*self.tool, rate.dropped);
            tracing::warn!(target: "guest", tool, dropped, "log lines dropped: too many a second");
        }
    }
}

/// The start of a text that is too long for one line.
pub(super) fn cut(text: &str) -> &str {
    &text[..text.floor_char_boundary(LOG_LINE_BYTES)]
}

/// A text without what begins a new line, or what a terminal would obey: a guest's line is one line.
fn one_line(text: &str) -> Cow<'_, str> {
    let breaks = |c: char| (c.is_control() && c != '\t') || matches!(c, '\u{2028}' | '\u{2029}');
    if !text.contains(breaks) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if breaks(c) {
            escaped.extend(c.escape_default());
        } else {
            escaped.push(c);
        }
    }
    Cow::Owned(escaped)
}

/// Stdout or stderr of a guest, cut into lines.
#[derive(Clone)]
pub(super) struct Stdio {
    source: &'static str,
    log: GuestLog,
    line: Arc<Mutex<Vec<u8>>>,
}

impl Stdio {
    pub(super) fn new(source: &'static str, log: GuestLog) -> Self {
        Self {
            source,
            log,
            line: Arc::default(),
        }
    }

    fn take(&self, mut bytes: &[u8]) {
        let mut line = self.line.lock();
        while let Some(end) = memchr::memchr(b'\n', bytes) {
            self.keep(&mut line, &bytes[..end]);
            self.emit(&mut line);
            bytes = &bytes[end + 1..];
        }
        self.keep(&mut line, bytes);
    }

    fn keep(&self, line: &mut Vec<u8>, bytes: &[u8]) {
        let room = LOG_LINE_BYTES.saturating_sub(line.len());
        line.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }

    fn emit(&self, line: &mut Vec<u8>) {
        self.log.line(
            Level::Info,
            self.source,
            String::from_utf8_lossy(line).trim_end(),
            "",
        );
        line.clear();
    }
}

impl Drop for Stdio {
    fn drop(&mut self) {
        if Arc::strong_count(&self.line) == 1 {
            let mut line = std::mem::take(&mut *self.line.lock());
            if !line.is_empty() {
                self.emit(&mut line);
            }
        }
    }
}

impl IsTerminal for Stdio {
    fn is_terminal(&self) -> bool {
        false
    }
}

impl StdoutStream for Stdio {
    fn async_stream(&self) -> Box<dyn AsyncWrite + Send + Sync> {
        Box::new(self.clone())
    }

    fn p2_stream(&self) -> Box<dyn OutputStream> {
        Box::new(self.clone())
    }
}

impl AsyncWrite for Stdio {
    fn poll_write(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.take(bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

#[wasmtime_wasi::async_trait]
impl Pollable for Stdio {
    async fn ready(&mut self) {}
}

impl OutputStream for Stdio {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        self.take(&bytes);
        Ok(())
    }

    fn flush(&mut self) -> StreamResult<()> {
        Ok(())
    }

    fn check_write(&mut self) -> Result<usize, StreamError> {
        Ok(LOG_LINE_BYTES)
    }
}
