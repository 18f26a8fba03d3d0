//! Lets a call's instance run, within its time.
//!
//! Invariant: the instance runs inside the request's own future until the request is answered, so
//! that a short call costs no task switch. If the answer comes early (the call became a task) or
//! the client goes away, the rest of the run moves, as it is, to a task of its own; it is never
//! started anew, and never outlives its wall time or the grace of a cancelled call.

use super::session::{Reply, Session};
use crate::protocol::RpcError;
use crate::runtime::{Call, GuestLog, Returned, RunError, Runtime, Verbs};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::time::{Instant, Sleep, sleep, sleep_until};
use tokio_util::task::TaskTracker;

type Instance = Pin<Box<dyn Future<Output = Result<Returned, RunError>> + Send>>;

/// How long runs may take.
#[derive(Clone, Copy, Debug)]
pub struct RunTimes {
    /// An inline call.
    pub wall: Duration,
    /// One attempt of a task.
    pub task_wall: Duration,
    /// A cancelled handler.
    pub grace: Duration,
}

/// Runs a call and gives the reply to its request. Dropping the future means that the client went
/// away: the handler is told and gets its grace.
pub async fn run(
    runtime: Arc<Runtime>,
    session: Arc<Session>,
    mut reply: oneshot::Receiver<Reply>,
    times: RunTimes,
    tracker: TaskTracker,
) -> Reply {
    let started = Instant::now();
    let mut run = Run {
        instance: Some(instance(runtime, Arc::clone(&session))),
        session: Arc::clone(&session),
        started,
        times,
        tracker,
    };
    let wall = sleep_until(started + times.wall);
    let detach = session
        .options
        .tool
        .detach_after
        .map(|after| sleep_until(started + after));
    tokio::pin!(wall, detach);
    while let Some(instance) = &mut run.instance {
        tokio::select! {
            biased;
            early = &mut reply => {
                if let Ok(early) = early {
                    run.go_on_alone();
                    return early;
                }
            }
            returned = instance => {
                run.instance = None;
                session.end(returned).await;
            }
            () = fires(detach.as_mut()) => {
                detach.set(None);
                session.detach().await;
            }
            () = &mut wall => {
                run.instance = None;
                session.end(Err(wall_over(times.wall, "limit sandbox.wall-ms"))).await;
            }
        }
    }
    reply.await.unwrap_or_else(|_| {
        Reply::Outcome(Err(RpcError::internal("The call ended without an answer")))
    })
}

fn instance(runtime: Arc<Runtime>, session: Arc<Session>) -> Instance {
    Box::pin(async move {
        let options = &session.options;
        let call = Call {
            name: options.tool.name.to_string(),
            arguments: options.arguments.get().to_owned(),
            features: options.features,
        };
        let log = GuestLog::new(Arc::clone(&options.tool.name));
        let verbs: Arc<dyn Verbs> = Arc::clone(&session) as _;
        runtime
            .call(&options.tool.component.program, call, verbs, log)
            .await
    })
}

/// Waits for a timer that may not be there.
async fn fires(timer: Pin<&mut Option<Sleep>>) {
    match timer.as_pin_mut() {
        Some(timer) => timer.await,
        None => std::future::pending().await,
    }
}

fn wall_over(limit: Duration, name: &'static str) -> RunError {
    RunError::Wall(u64::try_from(limit.as_millis()).unwrap_or(u64::MAX), name)
}

/// An instance that runs.
struct Run {
    /// `None` once it is over, or moved on.
    instance: Option<Instance>,
    session: Arc<Session>,
    started: Instant,
    times: RunTimes,
    tracker: TaskTracker,
}

impl Run {
    /// Moves the rest of the run to a task of its own.
    fn go_on_alone(&mut self) {
        if let Some(instance) = self.instance.take() {
            let rest = Detached {
                session: Arc::clone(&self.session),
                started: self.started,
                times: self.times,
            };
            self.tracker.spawn(rest.run(instance));
        }
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        if self.instance.is_some() && tokio::runtime::Handle::try_current().is_ok() {
            self.session.cancel.cancel();
            self.go_on_alone();
        }
    }
}

/// A run whose request is over.
struct Detached {
    session: Arc<Session>,
    started: Instant,
    times: RunTimes,
}

impl Detached {
    async fn run(self, mut instance: Instance) {
        let session = &self.session;
        let (limit, name) = match session.task() {
            Some(_) => (self.times.task_wall, "limit sandbox.task-wall-ms"),
            None => (self.times.wall, "limit sandbox.wall-ms"),
        };
        let wall = sleep_until(self.started + limit);
        let expiry = self.until_expiry();
        let grace = sleep(Duration::MAX);
        tokio::pin!(wall, expiry, grace);
        let mut cancelled = false;
        loop {
            tokio::select! {
                biased;
                returned = &mut instance => {
                    session.end(returned).await;
                    break;
                }
                () = session.cancel.cancelled(), if !cancelled => {
                    cancelled = true;
                    grace.as_mut().reset(Instant::now() + self.times.grace);
                }
                () = &mut grace, if cancelled => {
                    tracing::info!(tool = &*session.options.tool.name, "dropped a run that went on after its call was over");
                    break;
                }
                () = &mut expiry, if !cancelled => {
                    if let (Some(tasks), Some(id)) = (session.tasks(), session.task())
                        && let Err(error) = tasks.expire(id).await
                    {
                        tracing::error!(%error, "could not fail a task whose ttl is over");
                    }
                    expiry.set(sleep(Duration::from_secs(1)));
                }
                () = &mut wall => {
                    session.end(Err(wall_over(limit, name))).await;
                    break;
                }
            }
        }
        drop(instance);
        if let (Some(tasks), Some(id)) = (session.tasks(), session.task()) {
            tasks.run_over(id);
        }
    }

    /// Sleeps until the task's ttl is over; for ever without one.
    fn until_expiry(&self) -> Sleep {
        match self.session.deadline() {
            Some(deadline) => {
                let left = deadline.saturating_sub(crate::task::now());
                sleep(Duration::from_millis(u64::try_from(left).unwrap_or(0)))
            }
            None => sleep(Duration::MAX),
        }
    }
}
