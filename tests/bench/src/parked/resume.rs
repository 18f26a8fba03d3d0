//! Tasks that go on, one at a time.
//!
//! Invariant: a task counts once its end, with the answer it was given, stands on a stream that
//! listened to it before the answer was sent.

use std::net::SocketAddr;
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};
use hdrhistogram::Histogram;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

use crate::load::connection::Connection;
use crate::load::message::{answer_task, first_number, listen};
use crate::load::workload::{expect, member};
use crate::load::{GRACE, Times};

/// Answers these tasks, each once the one before it has ended. One stream listens to them all, so
/// there may be a thousand.
pub(super) async fn resume(address: SocketAddr, tasks: &[&str]) -> Result<Times> {
    let mut connection = Connection::open(address).await?;
    let first = first_number(0);
    let mut stream = Stream::open(address, &listen(tasks, first)).await?;
    // What it says first of each is that it waits.
    for _ in tasks {
        expect(stream.next().await?, r#""status":"input_required""#)?;
    }
    let mut times = Histogram::<u64>::new(3)?;
    for (number, task) in (first + 1..).zip(tasks) {
        let request = answer_task(task, number);
        let start = Instant::now();
        let answer = connection.exchange(&request).await?;
        expect(answer, r#""resultType":"complete""#)?;
        let end = loop {
            let said = stream.next().await?;
            expect(said, task)?;
            match member(said, r#""status":""#)? {
                "completed" => break said,
                "working" => {}
                other => bail!("the task is {other}: {}", String::from_utf8_lossy(said)),
            }
        };
        let time = start.elapsed();
        expect(end, &format!("#{number}."))?;
        times.record(time.as_micros().try_into()?)?;
    }
    Ok(Times::of(&times))
}

/// What one `subscriptions/listen` says. It takes only a stream whose events each stand on one line
/// of one chunk.
struct Stream {
    stream: BufReader<TcpStream>,
    line: Vec<u8>,
}

impl Stream {
    /// Listens; returns when the server has agreed to.
    async fn open(address: SocketAddr, request: &[u8]) -> Result<Self> {
        let mut stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        stream.write_all(request).await?;
        let mut stream = Self {
            stream: BufReader::with_capacity(64 * 1024, stream),
            line: Vec::new(),
        };
        stream.stream.read_until(b'\n', &mut stream.line).await?;
        expect(&stream.line, "HTTP/1.1 200 ")?;
        expect(
            stream.next().await?,
            "notifications/subscriptions/acknowledged",
        )?;
        Ok(stream)
    }

    /// The next message.
    async fn next(&mut self) -> Result<&[u8]> {
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
        message.context("a task did not go on")??;
        Ok(&self.line[DATA.len()..])
    }
}
