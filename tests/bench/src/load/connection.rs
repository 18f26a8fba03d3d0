//! A kept-alive HTTP/1.1 connection that does as little as it can: it shares its machine with the
//! server it measures. It takes only what a JSON answer needs.

use std::net::SocketAddr;
use std::ops::Range;

use anyhow::{Context, Result, bail, ensure};
use bytes::BytesMut;
use memchr::memmem;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// One connection, with one request under way.
pub(crate) struct Connection {
    stream: TcpStream,
    received: BytesMut,
}

impl Connection {
    pub(crate) async fn open(address: SocketAddr) -> Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Self {
            stream,
            received: BytesMut::with_capacity(16 * 1024),
        })
    }

    /// Sends a request; returns the body of its answer, which must be a 200.
    pub(crate) async fn exchange(&mut self, request: &[u8]) -> Result<&[u8]> {
        self.received.clear();
        self.stream.write_all(request).await?;
        let body = loop {
            let read = self.stream.read_buf(&mut self.received).await?;
            ensure!(read > 0, "the server closed the connection");
            if let Some(body) = body(&self.received)? {
                break body;
            }
        };
        Ok(&self.received[body])
    }
}

/// Where the body lies, once it is all there.
fn body(received: &[u8]) -> Result<Option<Range<usize>>> {
    let Some(end) = memmem::find(received, b"\r\n\r\n") else {
        return Ok(None);
    };
    let head = &received[..end];
    if !head.starts_with(b"HTTP/1.1 200 ") {
        bail!("not a 200: {}", String::from_utf8_lossy(received));
    }
    let length = length(head).with_context(|| {
        format!(
            "an answer without length: {}",
            String::from_utf8_lossy(received)
        )
    })?;
    let body = end + 4..end + 4 + length;
    Ok((received.len() >= body.end).then_some(body))
}

fn length(head: &[u8]) -> Option<usize> {
    const NAME: &[u8] = b"content-length:";
    let mut starts = memchr::memchr_iter(b'\n', head).map(|newline| &head[newline + 1..]);
    let line = starts.find(|line| {
        line.get(..NAME.len())
            .is_some_and(|name| name.eq_ignore_ascii_case(NAME))
    })?;
    let line = line.split(|&byte| byte == b'\r').next()?;
    std::str::from_utf8(&line[NAME.len()..])
        .ok()?
        .trim()
        .parse()
        .ok()
}

#[cfg(test)]
mod tests {
    use super::body;

    #[test]
    fn a_body_is_found_once_it_is_whole() {
        let whole = b"HTTP/1.1 200 OK\r\nA: b\r\nContent-Length: 2\r\nC: d\r\n\r\n{}";
        for cut in 0..whole.len() {
            assert_eq!(body(&whole[..cut]).expect("a right answer"), None);
        }
        let range = body(whole).expect("a right answer").expect("all of it");
        assert_eq!(&whole[range], b"{}");
    }

    #[test]
    fn other_answers_are_refused() {
        for answer in [
            "HTTP/1.1 400 Bad Request\r\ncontent-length: 2\r\n\r\n{}",
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n",
        ] {
            assert!(body(answer.as_bytes()).is_err(), "{answer}");
        }
    }
}
