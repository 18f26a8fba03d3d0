//! A kept-alive HTTP/1.1 connection that does as little as it can: it shares its machine with the
//! server it measures. It takes only what a JSON answer needs: a body with its length, or in one chunk.

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
    let start = end + 4;
    if let Some(length) = header(head, b"content-length:") {
        let length: usize = length.parse().context("a length that is no number")?;
        let body = start..start + length;
        return Ok((received.len() >= body.end).then_some(body));
    }
    let chunked = header(head, b"transfer-encoding:").is_some_and(|value| value == "chunked");
    ensure!(
        chunked,
        "an answer without length: {}",
        String::from_utf8_lossy(received)
    );
    chunk(received, start)
}

/// Where the only chunk lies, once it and the end are there.
fn chunk(received: &[u8], start: usize) -> Result<Option<Range<usize>>> {
    const END: &[u8] = b"\r\n0\r\n\r\n";
    let Some(line) = memmem::find(&received[start..], b"\r\n") else {
        return Ok(None);
    };
    let size = std::str::from_utf8(&received[start..start + line])?;
    let size = usize::from_str_radix(size, 16).context("a chunk without size")?;
    let body = start + line + 2..start + line + 2 + size;
    let after = received.get(body.end..).unwrap_or_default();
    ensure!(
        END.starts_with(after),
        "more than one chunk: {}",
        String::from_utf8_lossy(received)
    );
    Ok((after.len() == END.len()).then_some(body))
}

/// The value of a header, whose name is given in lower case with its colon.
fn header<'a>(head: &'a [u8], name: &[u8]) -> Option<&'a str> {
    let mut starts = memchr::memchr_iter(b'\n', head).map(|newline| &head[newline + 1..]);
    let line = starts.find(|line| {
        line.get(..name.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(name))
    })?;
    let line = line.split(|&byte| byte == b'\r').next()?;
    Some(std::str::from_utf8(&line[name.len()..]).ok()?.trim())
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
    fn a_body_in_one_chunk_is_found_once_its_end_is_there() {
        let whole = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n";
        for cut in 0..whole.len() {
            assert_eq!(body(&whole[..cut]).expect("a right answer"), None);
        }
        let range = body(whole).expect("a right answer").expect("all of it");
        assert_eq!(&whole[range], b"{}");
    }

    #[test]
    fn other_answers_are_refused() {
        for answer in [
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\n{\r\n1\r\n}\r\n0\r\n\r\n",
            "HTTP/1.1 400 Bad Request\r\ncontent-length: 2\r\n\r\n{}",
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n",
        ] {
            assert!(body(answer.as_bytes()).is_err(), "{answer}");
        }
    }
}
