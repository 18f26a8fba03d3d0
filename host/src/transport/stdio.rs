//! One client on standard input and output (MCP 2026-07-28, "stdio"): one message a line.
//!
//! Invariants: messages begin in the order in which they came, so that a cancellation finds what it
//! cancels; standard output carries nothing but messages; a client that does not read holds up its own
//! work and nothing else, and one that closes its end ends the server.

use crate::call::Events;
use crate::protocol::{Code, RpcError, failure};
use crate::server::{Answering, Pipe, Response, Server, SessionStream, Via};
use crate::tenants::Caller;
use bytes::Bytes;
use std::future::poll_fn;
use std::io::{self, BufRead, BufReader, BufWriter, Read as _, Write};
use std::sync::Arc;
use std::task::Poll;
use std::thread;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};
use tokio_util::task::TaskTracker;

/// Lines that wait to be read or written, at most.
const LINES: usize = 64;

/// What came in.
#[derive(Debug, PartialEq, Eq)]
enum Line {
    Message(Bytes),
    /// Longer than a message may be; it was passed over.
    TooLong,
}

/// Standard input and output.
pub struct StdioTransport;

impl StdioTransport {
    /// Serves until the client closes its end or the server stops; then gives what runs the grace of a
    /// cancelled call.
    ///
    /// # Errors
    /// A thread cannot be started.
    pub async fn serve(server: Arc<Server>) -> io::Result<()> {
        // Without tokens there is one caller, who is never refused.
        let Ok(caller) = server.caller(&Default::default()).await else {
            return Ok(());
        };
        let most = server.settings().server.max_body_bytes;
        let (sender, mut lines) = mpsc::channel(LINES);
        // A thread of its own: nothing waits for it when the server stops.
        thread::Builder::new()
            .name("stdin".to_owned())
            .spawn(move || read(BufReader::new(io::stdin()), most, &sender))?;
        let (out, messages) = mpsc::channel(LINES);
        let (written, all_written) = oneshot::channel();
        thread::Builder::new()
            .name("stdout".to_owned())
            .spawn(move || {
                if let Err(error) = write(BufWriter::new(io::stdout()), messages) {
                    tracing::info!(%error, "standard output is closed");
                }
                let _ = written.send(());
            })?;

        let client = Client {
            server: Arc::clone(&server),
            caller,
            pipe: Arc::default(),
            out,
            work: TaskTracker::new(),
        };
        let stopping = server.stopping().clone();
        let mut follows = false;
        loop {
            let line = tokio::select! {
                () = stopping.cancelled() => break,
                () = client.out.closed() => break,
                line = lines.recv() => line,
            };
            let Some(line) = line else { break };
            client.take(line).await;
            if client.pipe.is_legacy() && !std::mem::replace(&mut follows, true) {
                client.follow_changes();
            }
        }
        // Streams end; calls go on.
        stopping.cancel();
        let Client { work, out, .. } = client;
        work.close();
        let settings = server.settings();
        let grace = Duration::from_millis(settings.tasks.grace_ms);
        let _ = tokio::time::timeout(grace, work.wait()).await;
        drop(out);
        let drain = Duration::from_millis(settings.server.drain_ms);
        let _ = tokio::time::timeout(drain, all_written).await;
        Ok(())
    }
}

/// The client, and what is done for it.
struct Client {
    server: Arc<Server>,
    caller: Caller,
    pipe: Arc<Pipe>,
    out: mpsc::Sender<Bytes>,
    work: TaskTracker,
}

impl Client {
    /// Begins with a message, and goes on by itself unless that was all.
    async fn take(&self, line: Line) {
        let message = match line {
            Line::Message(message) => message,
            Line::TooLong => {
                let reason = "The message is larger than server.max-body-bytes";
                let error = RpcError::new(Code::InvalidRequest, reason);
                let _ = self.out.send(failure(None, &error)).await;
                return;
            }
        };
        let events = Arc::new(Events::new(true));
        let via = Via::Stdio(Arc::clone(&self.pipe));
        let server = Arc::clone(&self.server);
        let mut work = server.handle(self.caller.clone(), via, message, Arc::clone(&events));
        match poll_fn(|context| Poll::Ready(work.as_mut().poll(context))).await {
            Poll::Ready(response) => {
                if let Some(body) = response.body {
                    let _ = self.out.send(body).await;
                }
            }
            Poll::Pending => {
                self.work.spawn(answer(work, events, self.out.clone()));
            }
        }
    }

    /// Tells a client of an earlier revision when its tools change. Others listen.
    fn follow_changes(&self) {
        let Some(stream) = SessionStream::of(&self.pipe) else {
            return;
        };
        let (server, caller) = (Arc::clone(&self.server), self.caller.clone());
        let events = Arc::new(Events::new(true));
        let told = Arc::clone(&events);
        let work = Box::pin(async move {
            server.tell_changes(&caller, stream, &told).await;
            Response::default()
        });
        self.work.spawn(answer(work, events, self.out.clone()));
    }
}

/// Hands on what a request streams, and then its response. Ends when nobody takes it any more.
async fn answer(mut work: Answering, events: Arc<Events>, out: mpsc::Sender<Bytes>) {
    loop {
        let response = tokio::select! {
            biased;
            () = out.closed() => return,
            () = events.filled() => None,
            response = &mut work => Some(response),
        };
        // What came before the response goes before it.
        while let Some(message) = events.take() {
            if out.send(message).await.is_err() {
                return;
            }
        }
        if let Some(response) = response {
            if let Some(body) = response.body {
                let _ = out.send(body).await;
            }
            return;
        }
    }
}

/// Reads lines of at most so many bytes, until the end of the input or of whoever takes them.
fn read(mut input: impl BufRead, most: usize, lines: &mpsc::Sender<Line>) {
    loop {
        let mut line = Vec::new();
        let bounded = (&mut input)
            .take(most as u64 + 1)
            .read_until(b'\n', &mut line);
        let line = match bounded {
            Ok(0) => return,
            Ok(_) if line.len() > most && !line.ends_with(b"\n") => {
                if input.skip_until(b'\n').is_err() {
                    return;
                }
                Line::TooLong
            }
            Ok(_) => Line::Message(Bytes::from(line)),
            Err(error) => {
                tracing::warn!(%error, "standard input cannot be read");
                return;
            }
        };
        let is_empty = |line: &Bytes| line.trim_ascii().is_empty();
        if matches!(&line, Line::Message(line) if is_empty(line)) {
            continue;
        }
        if lines.blocking_send(line).is_err() {
            return;
        }
    }
}

/// Writes messages, one a line; what is there is flushed before more is waited for.
fn write(mut output: impl Write, mut messages: mpsc::Receiver<Bytes>) -> io::Result<()> {
    while let Some(mut message) = messages.blocking_recv() {
        loop {
            output.write_all(&message)?;
            output.write_all(b"\n")?;
            match messages.try_recv() {
                Ok(next) => message = next,
                Err(_) => break,
            }
        }
        output.flush()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_bounded_and_what_follows_a_long_one_is_read() {
        let (sender, mut lines) = mpsc::channel(10);
        let input: &[u8] = b"12345678\r\n\n \nlonger than that\n12345678\nlast";
        read(input, 9, &sender);
        drop(sender);
        let mut all = Vec::new();
        while let Some(line) = lines.blocking_recv() {
            all.push(line);
        }
        let message = |text: &'static str| Line::Message(Bytes::from_static(text.as_bytes()));
        assert_eq!(
            all,
            [
                message("12345678\r\n"),
                Line::TooLong,
                message("12345678\n"),
                message("last")
            ]
        );
    }

    #[test]
    fn every_message_is_one_line() {
        let (sender, messages) = mpsc::channel(10);
        for message in ["{}", "[]"] {
            sender.blocking_send(Bytes::from(message)).unwrap();
        }
        drop(sender);
        let mut output = Vec::new();
        write(&mut output, messages).unwrap();
        assert_eq!(output, b"{}\n[]\n");
    }
}
