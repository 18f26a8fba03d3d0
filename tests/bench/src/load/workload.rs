//! What a client does over and over, and how it knows that the server did it right.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use memchr::memmem::find;

use super::connection::Connection;
use super::message::{Call, first_number, get_task};
use crate::stored;

/// Between a poll that found a task working and the next one: this long, then twice as long, ...
const FIRST_PAUSE: Duration = Duration::from_millis(1);
const LAST_PAUSE: Duration = Duration::from_millis(16);

/// One kind of operation.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Workload {
    /// A call of `echo`, answered with its text.
    Call,
    /// A call of `finish`, which becomes a task, and `tasks/get` until that is completed.
    ///
    /// The client asks at once, then after pauses that grow: asking without a pause would measure
    /// how fast the server can say `working`. How many requests a task took is reported.
    Task,
    /// `tasks/get` of one of so many stored tasks (`stored`), another one each time.
    Get(u32),
}

/// One client on one connection.
pub(super) struct Client {
    connection: Connection,
    echo: Call,
    finish: Call,
    number: u64,
}

impl Client {
    pub(super) async fn connect(address: SocketAddr, number: usize) -> Result<Self> {
        Ok(Self {
            connection: Connection::open(address).await?,
            echo: Call::echo(),
            finish: Call::finish(),
            number: first_number(number),
        })
    }

    /// Does it once. Returns how many requests it took.
    pub(super) async fn perform(&mut self, workload: Workload) -> Result<u64> {
        self.number += 1;
        match workload {
            Workload::Call => self.call().await,
            Workload::Task => self.task().await,
            Workload::Get(stored) => self.get(stored).await,
        }
    }

    async fn call(&mut self) -> Result<u64> {
        let number = self.number;
        let answer = self.connection.exchange(self.echo.numbered(number)).await?;
        expect(answer, &format!(r#""id":{number}"#))?;
        expect(answer, &format!("#{number}.\""))?;
        Ok(1)
    }

    async fn task(&mut self) -> Result<u64> {
        let number = self.number;
        let answer = self
            .connection
            .exchange(self.finish.numbered(number))
            .await?;
        expect(answer, &format!(r#""id":{number}"#))?;
        expect(answer, r#""resultType":"task""#)?;
        let task = member(answer, r#""taskId":""#)?.to_owned();
        let text = format!("#{number}.\"");
        let polls = until(&mut self.connection, &task, number, "completed", &text).await?;
        Ok(1 + polls)
    }

    async fn get(&mut self, stored: u32) -> Result<u64> {
        let number = self.number;
        let which = one_of(stored, number);
        let id = stored::id(which).to_wire();
        let answer = self.connection.exchange(&get_task(&id, number)).await?;
        expect(answer, &format!(r#""id":{number}"#))?;
        expect(answer, &id)?;
        expect(answer, stored::seen(which))?;
        Ok(1)
    }
}

/// Asks for a task that works until it is of this status; then the answer must hold this text.
/// Returns how many requests it took.
pub(crate) async fn until(
    connection: &mut Connection,
    task: &str,
    number: u64,
    status: &str,
    text: &str,
) -> Result<u64> {
    let get = get_task(task, number);
    let mut requests = 0;
    let mut pause = FIRST_PAUSE;
    loop {
        requests += 1;
        let answer = connection.exchange(&get).await?;
        expect(answer, task)?;
        match member(answer, r#""status":""#)? {
            found if found == status => {
                expect(answer, text)?;
                return Ok(requests);
            }
            "working" => {
                tokio::time::sleep(pause).await;
                pause = (pause * 2).min(LAST_PAUSE);
            }
            other => bail!("the task is {other}: {}", String::from_utf8_lossy(answer)),
        }
    }
}

/// Numbers in a row give ones that lie far apart: no page is read twice because it was just read.
fn one_of(stored: u32, number: u64) -> u64 {
    let mixed = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
    mixed % u64::from(stored)
}

/// An answer must hold this text.
pub(crate) fn expect(answer: &[u8], text: &str) -> Result<()> {
    let found = find(answer, text.as_bytes()).is_some();
    ensure!(found, "no {text} in {}", String::from_utf8_lossy(answer));
    Ok(())
}

/// The text between `before` and the next quotation mark.
pub(crate) fn member<'a>(answer: &'a [u8], before: &str) -> Result<&'a str> {
    let answer = std::str::from_utf8(answer)?;
    let value = answer
        .split_once(before)
        .and_then(|(_, rest)| rest.split_once('"'));
    let (value, _) = value.with_context(|| format!("no {before} in {answer}"))?;
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::one_of;
    use std::collections::HashSet;

    #[test]
    fn all_that_is_stored_is_asked_for() {
        let asked: HashSet<_> = (0..2_000).map(|number| one_of(100, number)).collect();
        assert_eq!(asked.len(), 100);
        assert!(asked.iter().all(|&which| which < 100));
    }
}
