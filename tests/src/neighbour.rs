//! A tenant that minds its own business: one thread, one connection that is kept, one small call after
//! the other. It notes how long each took, and each that was not answered as it should be.
//!
//! Invariant: it has a thread and a runtime of its own, so that what a test does slows it down only by
//! way of the server (and the machine).

use std::net::SocketAddr;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Instant;

use hdrhistogram::Histogram;
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::http::KeptAlive;
use crate::{Client, PATIENCE, patient};

/// Longest time that is told apart, microseconds.
const LONGEST: u64 = 2 * PATIENCE.as_micros() as u64;

/// What the neighbour saw in a while.
#[derive(Clone)]
pub(crate) struct Seen {
    /// Times of its calls, microseconds.
    pub(crate) times: Histogram<u64>,
    /// What was wrong with those that failed.
    pub(crate) failures: Vec<String>,
}

impl Seen {
    fn nothing() -> Self {
        Self {
            // A range that is fixed: what is longer than the patience is no answer.
            times: Histogram::new_with_max(LONGEST, 3).expect("three digits are allowed"),
            failures: Vec::new(),
        }
    }

    /// The time in which 99 of 100 calls were answered, milliseconds.
    pub(crate) fn p99(&self) -> f64 {
        self.times.value_at_quantile(0.99) as f64 / 1_000.0
    }
}

/// What it is told.
#[derive(Clone, Copy, PartialEq)]
enum Order {
    Call,
    Pause,
    Leave,
}

/// The thread. Dropping it ends it.
pub(crate) struct Neighbour {
    seen: watch::Receiver<Seen>,
    writer: Arc<watch::Sender<Seen>>,
    order: watch::Sender<Order>,
    /// True while it waits for another order.
    paused: watch::Receiver<bool>,
    thread: Option<JoinHandle<()>>,
}

impl Neighbour {
    /// Begins to call `echo`, which is this tool's name for `client`.
    pub(crate) fn calling(client: Client, echo: &'static str) -> Self {
        let (writer, seen) = watch::channel(Seen::nothing());
        let writer = Arc::new(writer);
        let (order, orders) = watch::channel(Order::Call);
        let (pausing, paused) = watch::channel(false);
        let calls = Calls {
            client,
            echo,
            seen: Arc::clone(&writer),
            orders,
            pausing,
        };
        let thread = thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build();
            runtime.expect("a runtime").block_on(calls.run());
        });
        Self {
            seen,
            writer,
            order,
            paused,
            thread: Some(thread),
        }
    }

    /// What it saw since it was last asked this.
    pub(crate) fn look(&self) -> Seen {
        self.writer.send_replace(Seen::nothing())
    }

    /// Waits until it has made at least so many calls since [`Neighbour::look`], or one has failed.
    pub(crate) async fn calls(&self, number: u64) {
        let mut seen = self.seen.clone();
        let enough = |seen: &Seen| seen.times.len() >= number || !seen.failures.is_empty();
        let waited = patient("calls of the neighbour", seen.wait_for(enough)).await;
        assert!(waited.is_ok(), "the neighbour's thread ended");
    }

    /// Lets it end the call it makes, and make no more.
    pub(crate) async fn pause(&self) {
        self.order.send_replace(Order::Pause);
        let mut paused = self.paused.clone();
        let waited = patient("the neighbour to rest", paused.wait_for(|paused| *paused)).await;
        assert!(waited.is_ok(), "the neighbour's thread ended");
    }

    /// Lets it call again.
    pub(crate) fn go_on(&self) {
        self.order.send_replace(Order::Call);
    }
}

impl Drop for Neighbour {
    fn drop(&mut self) {
        self.order.send_replace(Order::Leave);
        if let Some(thread) = self.thread.take() {
            // What it had to say, it has said; a test that fails already must not panic again.
            let _ = thread.join();
        }
    }
}

struct Calls {
    client: Client,
    echo: &'static str,
    seen: Arc<watch::Sender<Seen>>,
    orders: watch::Receiver<Order>,
    pausing: watch::Sender<bool>,
}

impl Calls {
    async fn run(mut self) {
        let address: SocketAddr = self.client.address;
        let mut connection = KeptAlive::open(address).await;
        let mut number = 0_u64;
        loop {
            if self.obey().await.is_break() {
                return;
            }
            number += 1;
            let started = Instant::now();
            let outcome = self.call(&mut connection, &number.to_string()).await;
            let took = u64::try_from(started.elapsed().as_micros()).unwrap_or(u64::MAX);
            let failed = outcome.is_err();
            self.seen.send_modify(|seen| {
                seen.times.saturating_record(took);
                seen.failures.extend(outcome.err());
            });
            if failed {
                // One failure is enough for the test; a dead server should not be asked for ever.
                self.pausing.send_replace(true);
                let _ = self.orders.wait_for(|order| *order == Order::Leave).await;
                return;
            }
        }
    }

    /// Waits while it may not call.
    async fn obey(&mut self) -> ControlFlow<()> {
        let order = *self.orders.borrow_and_update();
        match order {
            Order::Call => return ControlFlow::Continue(()),
            Order::Leave => return ControlFlow::Break(()),
            Order::Pause => {}
        }
        self.pausing.send_replace(true);
        let next = self.orders.wait_for(|order| *order != Order::Pause).await;
        let leave = next.map_or(true, |order| *order == Order::Leave);
        self.pausing.send_replace(false);
        if leave {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }

    async fn call(&self, connection: &mut KeptAlive, text: &str) -> Result<(), String> {
        let request = self.client.tool(self.echo, json!({"text": text})).http();
        let answer = tokio::time::timeout(PATIENCE, connection.send(request)).await;
        let (status, body) = answer
            .map_err(|_| format!("no answer within {PATIENCE:?}"))?
            .map_err(|error| format!("no answer: {error}"))?;
        let message: Value = serde_json::from_slice(&body)
            .map_err(|error| format!("status {status}, and no JSON: {error}"))?;
        if status == 200 && message["result"]["content"][0]["text"] == text {
            Ok(())
        } else {
            Err(format!(
                "{text} was answered with status {status}: {message}"
            ))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_call_is_seen_as_slow_as_it_was() {
        let mut seen = Seen::nothing();
        let longest = u64::try_from(PATIENCE.as_micros()).unwrap_or(u64::MAX);
        for (micros, wanted) in [(900, 0.9), (2_500, 2.5), (longest, 40_000.0)] {
            seen.times.reset();
            seen.times.saturating_record(micros);
            let told = seen.p99();
            assert!((told - wanted).abs() <= wanted / 500.0, "{told} ms");
        }
    }
}
