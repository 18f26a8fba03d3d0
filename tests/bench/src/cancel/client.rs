//! One client: it makes a task, has a call wait for the task's place, and cancels the task.
//!
//! Invariant: clients cancel at the same moment, when all their tasks hold instances and all their
//! calls wait. A call that was answered keeps the place it was given until all are, so that none is
//! answered with a place that another one had before.

use std::cell::Cell;
use std::net::SocketAddr;
use std::pin::pin;
use std::rc::Rc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use tokio::sync::{Barrier, watch};
use tokio::time::{sleep, timeout};

use super::subject::Subject;
use crate::load::GRACE as PATIENCE;
use crate::load::connection::Connection;
use crate::load::message::{Call, cancel_task, first_number};
use crate::load::workload::{expect, member, until};

/// For a guest to come to where it waits, and a call to its place in the queue. One that came later
/// would make the figures worse, not better.
const PAUSE: Duration = Duration::from_millis(5);
const COMPLETE: &str = r#""resultType":"complete""#;

pub(super) struct Client {
    task: Connection,
    next: Connection,
    holder: Call,
    number: u64,
    all: Rc<Together>,
}

/// What the clients share.
pub(super) struct Together {
    all: Barrier,
    /// When the present cancels began.
    start: Cell<Instant>,
}

impl Together {
    pub(super) fn new(clients: usize) -> Self {
        Self {
            all: Barrier::new(clients),
            start: Cell::new(Instant::now()),
        }
    }

    /// Waits until all wait here.
    async fn meet(&self) {
        if self.all.wait().await.is_leader() {
            // The leader came last, and goes on before the others do.
            self.start.set(Instant::now());
        }
    }
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
        all: Rc<Together>,
    ) -> Result<Self> {
        Ok(Self {
            task: Connection::open(address).await?,
            next: Connection::open(address).await?,
            holder: Subject::Sleep.call(address),
            number: first_number(number),
            all,
        })
    }

    /// The time of a call that has its place at once.
    pub(super) async fn free(&mut self) -> Result<Duration> {
        self.number += 1;
        let start = Instant::now();
        let answer = self.next.exchange(self.holder.numbered(self.number));
        let answer = timeout(PATIENCE, answer).await.context("no task")??;
        let time = start.elapsed();
        let id = member(answer, r#""taskId":""#)?.to_owned();
        let cancel = cancel_task(&id, self.number);
        expect(self.next.exchange(&cancel).await?, COMPLETE)?;
        // Its place is free when another call has had one.
        let mut echo = Call::echo();
        self.next.exchange(echo.numbered(self.number)).await?;
        Ok(time)
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
        self.all.meet().await;

        let (acknowledged, (gone, holder)) = {
            let next = timeout(PATIENCE, self.next.exchange(self.holder.numbered(number)));
            let mut next = pin!(next);
            let settled = async {
                sleep(PAUSE).await;
                self.all.meet().await;
            };
            tokio::select! {
                // Once they met, the others cancel.
                biased;
                () = settled => {}
                _ = &mut next => bail!("a call was answered while tasks held all places"),
            }

            let cancel = cancel_task(&id, number);
            let start = self.all.start.get();
            let acknowledged = async {
                let answer = self.task.exchange(&cancel).await?;
                expect(answer, COMPLETE)?;
                anyhow::Ok(start.elapsed())
            };
            let gone = async {
                let answer = next.await.context("the instance is not gone")??;
                let time = start.elapsed();
                let holder = member(answer, r#""taskId":""#)?.to_owned();
                anyhow::Ok((time, holder))
            };
            tokio::try_join!(acknowledged, gone)?
        };

        let status = r#""status":"cancelled""#;
        until(&mut self.task, &id, number, "cancelled", status).await?;
        self.all.meet().await;
        let cancel = cancel_task(&holder, number);
        expect(self.next.exchange(&cancel).await?, COMPLETE)?;
        Ok(Cancelled { acknowledged, gone })
    }
}
