//! The load: some connections, each of which sends its next request when it has its answer.
//!
//! One thread carries them all, at a raised priority where the system allows that, so that a
//! server which takes every core cannot starve its own measurement.

pub(crate) mod connection;
pub(crate) mod message;
pub(crate) mod workload;

use std::cell::{Cell, RefCell};
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use hdrhistogram::Histogram;
use rustix::time::{ClockId, clock_gettime};
use tokio::task::{JoinSet, LocalSet};

use crate::process::Server;
use workload::Client;
pub(crate) use workload::Workload;

/// How long a server may take for its last answers.
pub(crate) const GRACE: Duration = Duration::from_secs(20);

/// Runs clients on a thread of their own, at the raised priority.
pub(crate) fn apart<T: Send, F: Future<Output = Result<T>>>(
    clients: impl FnOnce() -> F + Send,
) -> Result<T> {
    std::thread::scope(|scope| {
        let load = scope.spawn(|| {
            // Refused without the right to do so; then the ratios are a little noisier.
            let _ = rustix::process::setpriority_process(None, -15);
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()?;
            LocalSet::new().block_on(&runtime, clients())
        });
        load.join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// How long something took that was done again and again.
pub(crate) struct Times {
    pub(crate) number: u64,
    pub(crate) p50: Duration,
    pub(crate) p99: Duration,
    pub(crate) longest: Duration,
}

impl Times {
    /// Of times in microseconds.
    pub(crate) fn of(times: &Histogram<u64>) -> Self {
        Self {
            number: times.len(),
            p50: Duration::from_micros(times.value_at_quantile(0.5)),
            p99: Duration::from_micros(times.value_at_quantile(0.99)),
            longest: Duration::from_micros(times.max()),
        }
    }
}

/// How much of it.
#[derive(Clone, Copy)]
pub(crate) struct Load {
    pub(crate) workload: Workload,
    pub(crate) connections: usize,
    pub(crate) warm_up: Duration,
    pub(crate) time: Duration,
}

/// What servers did under a load, after the warm-up.
pub(crate) struct Outcome {
    /// Operations (calls, or whole tasks) a second.
    pub(crate) rate: f64,
    /// HTTP requests per operation.
    pub(crate) requests: f64,
    /// From an operation's first byte sent to its last one received.
    pub(crate) p50: Duration,
    pub(crate) p99: Duration,
    /// The servers' CPU time per operation.
    pub(crate) cpu: Duration,
    /// The servers' memory in RAM at the end, in bytes.
    pub(crate) resident: u64,
    /// Operations in all, the warm-up's and the last ones among them.
    pub(crate) all: u64,
    /// How busy the load's own thread was, from 0 to 1. Near 1, the server was not the limit.
    pub(crate) load: f64,
}

impl Load {
    /// Puts it on servers, which take turns in being given a connection. An answer that is not right
    /// ends the measurement.
    pub(crate) fn put_on(self, servers: &[Server]) -> Result<Outcome> {
        apart(|| self.measure(servers))
    }

    async fn measure(self, servers: &[Server]) -> Result<Outcome> {
        let tally = Rc::new(Tally::new()?);
        let mut clients = JoinSet::new();
        for (number, server) in (0..self.connections).zip(servers.iter().cycle()) {
            clients.spawn_local(drive(
                server.address,
                self.workload,
                number,
                Rc::clone(&tally),
            ));
        }
        let measured = async {
            tokio::time::sleep(self.warm_up).await;
            tally.phase.set(Phase::Counted);
            let (start, before) = (Instant::now(), Spent::until_now(servers)?);
            tokio::time::sleep(self.time).await;
            let (elapsed, after) = (start.elapsed(), Spent::until_now(servers)?);
            tally.phase.set(Phase::Over);
            let residents = servers.iter().map(Server::resident);
            anyhow::Ok((elapsed, after.since(before), residents.sum::<Result<_>>()?))
        };
        let failure = async {
            // A client that ends while the load is on has failed.
            while let Some(ended) = clients.join_next().await {
                ended.context("a client")??;
            }
            anyhow::bail!("the clients ended by themselves")
        };
        let (elapsed, spent, resident) = tokio::select! {
            measured = measured => measured?,
            failure = failure => return failure,
        };
        let rest = async {
            while let Some(ended) = clients.join_next().await {
                ended.context("a client")??;
            }
            anyhow::Ok(())
        };
        let rest = tokio::time::timeout(GRACE, rest).await;
        rest.context("the server did not answer its last requests")??;
        tally.outcome(elapsed, spent, resident)
    }
}

/// CPU time.
#[derive(Clone, Copy)]
struct Spent {
    load: Duration,
    servers: Duration,
}

impl Spent {
    fn until_now(servers: &[Server]) -> Result<Self> {
        Ok(Self {
            load: thread_cpu()?,
            servers: servers.iter().map(Server::cpu).sum::<Result<_>>()?,
        })
    }

    fn since(self, before: Self) -> Self {
        Self {
            load: self.load.saturating_sub(before.load),
            servers: self.servers.saturating_sub(before.servers),
        }
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Phase {
    WarmUp,
    Counted,
    Over,
}

/// What all connections add to.
struct Tally {
    phase: Cell<Phase>,
    all: Cell<u64>,
    requests: Cell<u64>,
    /// Operations by their time in microseconds.
    times: RefCell<Histogram<u64>>,
}

impl Tally {
    fn new() -> Result<Self> {
        Ok(Self {
            phase: Cell::new(Phase::WarmUp),
            all: Cell::new(0),
            requests: Cell::new(0),
            times: RefCell::new(Histogram::new(3)?),
        })
    }

    fn add(&self, time: Duration, requests: u64) -> Result<()> {
        self.all.set(self.all.get() + 1);
        if self.phase.get() == Phase::Counted {
            self.requests.set(self.requests.get() + requests);
            let time = u64::try_from(time.as_micros())?;
            self.times.borrow_mut().record(time)?;
        }
        Ok(())
    }

    fn outcome(&self, elapsed: Duration, spent: Spent, resident: u64) -> Result<Outcome> {
        let times = self.times.borrow();
        let done = times.len();
        anyhow::ensure!(done > 0, "the server finished nothing within {elapsed:?}");
        let at = |quantile| Duration::from_micros(times.value_at_quantile(quantile));
        Ok(Outcome {
            rate: done as f64 / elapsed.as_secs_f64(),
            requests: self.requests.get() as f64 / done as f64,
            p50: at(0.5),
            p99: at(0.99),
            cpu: spent.servers.div_f64(done as f64),
            resident,
            all: self.all.get(),
            load: spent.load.as_secs_f64() / elapsed.as_secs_f64(),
        })
    }
}

/// The CPU time of the calling thread.
fn thread_cpu() -> Result<Duration> {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Ok(Duration::new(
        time.tv_sec.try_into()?,
        time.tv_nsec.try_into()?,
    ))
}

/// One connection, until the load is over.
async fn drive(
    address: SocketAddr,
    workload: Workload,
    number: usize,
    tally: Rc<Tally>,
) -> Result<()> {
    let mut client = Client::connect(address, number).await?;
    while tally.phase.get() != Phase::Over {
        let start = Instant::now();
        let requests = client.perform(workload).await?;
        tally.add(start.elapsed(), requests)?;
    }
    Ok(())
}
