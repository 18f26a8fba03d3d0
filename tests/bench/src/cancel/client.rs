//! One client: it makes a task, has a call wait for the task's place, and cancels the task.
//!
//! Invariant: clients cancel at the same moment, when all their tasks hold instances and all their
//! calls wait; and none makes its next task before all calls are answered.

use std::net::SocketAddr;
use std::pin::pin;
use std::rc::Rc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use tokio::sync::{Barrier, watch};
use tokio::time::{sleep, timeout};

use crate::load::GRACE as PATIENCE;
use crate::load::connection::Connection;
use crate::load::message::{Call, cancel_task, first_number};
use crate::load::workload::{expect, member, until};

/// For a guest to come to where it waits, and a call to its place in the queue. One that came later
/// would make the figures worse, not better.
const PAUSE: Duration = Duration::from_millis(5);

pub(super) struct Client {
    task: Connection,
    next: Connection,
    echo: Call,
    number: u64,
    all: Rc<Barrier>,
}

/// From a cancel's first byte sent.
pub(super) struct Cancelled {
    pub(super) acknowledged: Duration,
    pub(super) gone: Duration,
}

impl Client {
    pub(super) async fn connect(
        address: SocketAddr,
        number: usize,
        all: Rc<Barrier>,
    ) -> Result<Self> {
        Ok(Self {
            task: Connection::open(address).await?,
            next: Connection::open(address).await?,
            echo: Call::echo(),
            number: first_number(number),
            all,
        })
    }

    /// Does it once; before the cancel so many requests must have been `asked` of the silent server.
    pub(super) async fn cancel(
        &mut self,
        call: &mut Call,
        mut asked: watch::Receiver<usize>,
        expected: Option<usize>,
    ) -> Result<Cancelled> {
        self.number += 1;
        let number = self.number;
        let answer = timeout(PATIENCE, self.task.exchange(call.numbered(number)));
        let answer = answer.await.context("no task")??;
        expect(answer, r#""resultType":"task""#)?;
        let id = member(answer, r#""taskId":""#)?.to_owned();
        if let Some(expected) = expected {
            let asked = asked.wait_for(|asked| *asked >= expected);
            timeout(PATIENCE, asked).await.context("nobody asked")??;
        }
        self.all.wait().await;

        let next = timeout(PATIENCE, self.next.exchange(self.echo.numbered(number)));
        let mut next = pin!(next);
        let settled = async {
            sleep(PAUSE).await;
            self.all.wait().await;
        };
        tokio::select! {
            biased;
            _ = &mut next => bail!("a call was answered while tasks held all places"),
            () = settled => {}
        }

        let cancel = cancel_task(&id, number);
        let start = Instant::now();
        let acknowledged = async {
            let answer = self.task.exchange(&cancel).await?;
            expect(answer, r#""resultType":"complete""#)?;
            anyhow::Ok(start.elapsed())
        };
        let gone = async {
            let answer = next.await.context("the instance is not gone")??;
            expect(answer, &format!("#{number}.\""))?;
            anyhow::Ok(start.elapsed())
        };
        let (acknowledged, gone) = tokio::try_join!(acknowledged, gone)?;

        let status = r#""status":"cancelled""#;
        until(&mut self.task, &id, number, "cancelled", status).await?;
        self.all.wait().await;
        Ok(Cancelled { acknowledged, gone })
    }
}
