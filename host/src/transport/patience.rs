//! A connection whose writes have a time.
//!
//! Invariant: while a write waits, the time for it runs, and every byte that the other end takes starts
//! it anew; while none waits, no time runs. So whoever does not read keeps no answer and no place.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

/// A stream that fails when the other end takes nothing for so long.
pub(crate) struct Patient<S> {
    stream: S,
    time: Duration,
    /// There while a write waits.
    waiting: Option<Pin<Box<Sleep>>>,
}

impl<S> Patient<S> {
    pub(crate) fn new(stream: S, time: Duration) -> Self {
        Self {
            stream,
            time,
            waiting: None,
        }
    }

    /// Looks at what a write came to.
    fn judge<T>(
        &mut self,
        written: Poll<io::Result<T>>,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.waiting = None;
            return written;
        }
        let time = self.time;
        let timer = self.waiting.get_or_insert_with(|| Box::pin(sleep(time)));
        ready!(timer.as_mut().poll(context));
        let reason = format!("the client took nothing of an answer for {time:?}");
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, reason)))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Patient<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Patient<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.judge(written, context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, pieces);
        self.judge(written, context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, duplex};

    #[tokio::test]
    async fn whoever_takes_nothing_is_given_up() {
        let (near, far) = duplex(16);
        let mut near = Patient::new(near, Duration::from_millis(20));
        near.write_all(&[0; 16]).await.unwrap();
        assert!(near.waiting.is_none(), "no time runs while nothing waits");
        let error = near.write_all(&[0; 1]).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert!(error.to_string().contains("20ms"), "{error}");
        drop(far);
    }

    // All of it takes longer than the time for one byte, and each byte a small part of it.
    #[tokio::test]
    async fn whoever_takes_a_little_has_all_the_time() {
        let (near, mut far) = duplex(16);
        let mut near = Patient::new(near, Duration::from_secs(3));
        let slow = tokio::spawn(async move {
            for _ in 0..10 {
                sleep(Duration::from_millis(400)).await;
                far.read_exact(&mut [0; 10]).await.unwrap();
            }
        });
        near.write_all(&[0; 100]).await.unwrap();
        slow.await.unwrap();
    }
}
