//! One `subscriptions/listen`. It takes only a stream whose events each stand on one line of one chunk.

use std::net::SocketAddr;

use anyhow::{Context, Result, ensure};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

use crate::load::GRACE;
use crate::load::message::listen;
use crate::load::workload::expect;

/// What it says.
pub(crate) struct Stream {
    stream: BufReader<TcpStream>,
    line: Vec<u8>,
}

impl Stream {
    /// Listens to some tasks that wait; returns when the server has said of each that it does.
    pub(crate) async fn open(address: SocketAddr, tasks: &[&str], number: u64) -> Result<Self> {
        let mut stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        stream.write_all(&listen(tasks, number)).await?;
        let mut stream = Self {
            // Some events: ten thousand streams are open at once.
            stream: BufReader::with_capacity(2 * 1024, stream),
            line: Vec::new(),
        };
        stream.stream.read_until(b'\n', &mut stream.line).await?;
        expect(&stream.line, "HTTP/1.1 200 ")?;
        expect(
            stream.next().await?,
            "notifications/subscriptions/acknowledged",
        )?;
        for _ in tasks {
            expect(stream.next().await?, r#""status":"input_required""#)?;
        }
        Ok(stream)
    }

    /// The next message.
    pub(crate) async fn next(&mut self) -> Result<&[u8]> {
        const DATA: &[u8] = b"data: ";
        let message = async {
            loop {
                self.line.clear();
                let read = self.stream.read_until(b'\n', &mut self.line).await?;
                ensure!(read > 0, "the server closed the stream");
                if self.line.starts_with(DATA) {
                    return Ok(());
                }
            }
        };
        let message = tokio::time::timeout(GRACE, message).await;
        message.context("the stream says nothing")??;
        Ok(&self.line[DATA.len()..])
    }
}
