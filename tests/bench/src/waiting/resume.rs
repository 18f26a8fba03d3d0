//! Tasks that go on, one at a time.
//!
//! Invariant: a task counts once its end, with the answer it was given, stands on a stream that
//! listened to it before the answer was sent.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use hdrhistogram::Histogram;

use super::stream::Stream;
use crate::load::Times;
use crate::load::connection::Connection;
use crate::load::message::{answer_task, first_number};
use crate::load::workload::{expect, member};

/// How long after an answer's first byte was sent.
pub(crate) struct Resumed {
    /// Its task's first change was heard of.
    pub(crate) told: Times,
    /// Its task's end was.
    pub(crate) ended: Times,
}

/// Answers these tasks, each once the one before it has ended. One stream listens to them all, so
/// there may be a thousand.
pub(crate) async fn resume(address: SocketAddr, tasks: &[&str]) -> Result<Resumed> {
    let mut connection = Connection::open(address).await?;
    let first = first_number(0);
    let mut stream = Stream::open(address, tasks, first).await?;
    let (mut told, mut ended) = (Histogram::<u64>::new(3)?, Histogram::<u64>::new(3)?);
    for (number, task) in (first + 1..).zip(tasks) {
        let times = answer(&mut connection, &mut stream, task, number).await?;
        told.record(times.0.as_micros().try_into()?)?;
        ended.record(times.1.as_micros().try_into()?)?;
    }
    Ok(Resumed {
        told: Times::of(&told),
        ended: Times::of(&ended),
    })
}

/// Answers a task that a stream listens to. Returns how soon its first change was heard of, and its
/// end.
pub(crate) async fn answer(
    connection: &mut Connection,
    stream: &mut Stream,
    task: &str,
    number: u64,
) -> Result<(Duration, Duration)> {
    let request = answer_task(task, number);
    let start = Instant::now();
    let answer = connection.exchange(&request).await?;
    expect(answer, r#""resultType":"complete""#)?;
    let mut told = None;
    loop {
        let said = stream.next().await?;
        let time = start.elapsed();
        let told = *told.get_or_insert(time);
        expect(said, task)?;
        match member(said, r#""status":""#)? {
            "completed" => {
                expect(said, &format!("#{number}."))?;
                return Ok((told, time));
            }
            "working" => {}
            other => bail!("the task is {other}: {}", String::from_utf8_lossy(said)),
        }
    }
}
