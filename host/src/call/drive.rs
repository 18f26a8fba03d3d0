//! Lets a call's instance run, within its time.
//!
//! Invariant: the instance runs inside the request's own future until the request is answered, so
//! that a short call costs no task switch; what is heavy is polled by the background, but only while
//! the driver waits for it. If the answer comes early (the call became a task) or
//! the client goes away, the rest of the run moves, as it is, to a task of its own; it never
//! outlives its wall time, the grace of a cancelled call, or the server's stop.

use super::session::{Outcome, Reply, Session};
use crate::metrics::Metrics;
use crate::protocol::RpcError;
use crate::runtime::{Call, GuestLog, Movable, Place, RunError, Runtime, Verbs};
use crate::task::{Millis, now};
use crate::telemetry::Telemetry;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::time::{Instant, Sleep, sleep, sleep_until};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

type Instance = Movable<Result<Outcome, RunError>>;

/// What lets calls run.
#[derive(Clone)]
pub struct Driver {
    /// The sandbox.
    pub runtime: Arc<Runtime>,
    /// Time a cancelled handler gets to return.
    pub grace: Duration,
    /// Counts the runs that go on without a request.
    pub tracker: TaskTracker,
    /// Set when the server stops: runs of tasks are dropped, and go on after the next start.
    pub stopping: CancellationToken,
    /// What counts calls.
    pub metrics: Arc<Metrics>,
    /// What traces them.
    pub telemetry: Telemetry,
}

impl Driver {
    /// Runs a call and gives the reply to its request. Dropping the future means that the client
    /// went away: the handler is told and gets its grace.
    pub async fn run(&self, session: Arc<Session>, mut reply: oneshot::Receiver<Reply>) -> Reply {
        let started = Instant::now();
        let mut run = Run {
            instance: Some(self.instance(&session, false)),
            session: Arc::clone(&session),
            started,
            driver: self,
        };
        let wall = sleep_until(started + wall_of(&session));
        let detach = session
            .options
            .target
            .detach_after()
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
                    if session.as_task().is_some() {
                        self.end_task(&session, returned);
                        break;
                    }
                    session.end(returned).await;
                }
                () = fires(detach.as_mut()) => {
                    detach.set(None);
                    if let Some(instance) = &mut run.instance {
                        instance.rest().await;
                    }
                    session.detach().await;
                }
                () = &mut wall => {
                    if let Some(mut instance) = run.instance.take() {
                        instance.stop().await;
                    }
                    session.end(Err(wall_over(&session))).await;
                }
            }
        }
        reply.await.unwrap_or_else(|_| {
            Reply::Outcome(Err(RpcError::internal("The call ended without an answer")))
        })
    }

    /// Ends a run that became a task just now, whether or not its client is still there.
    fn end_task(&self, session: &Arc<Session>, returned: Result<Outcome, RunError>) {
        let session = Arc::clone(session);
        self.tracker.spawn(async move {
            session.end(returned).await;
            if let Some((tasks, id)) = session.as_task() {
                tasks.run_over(id).await;
            }
        });
    }

    /// Runs a task that was claimed.
    pub async fn run_task(&self, session: Arc<Session>) {
        let instance = self.instance(&session, true);
        self.alone(session, instance, Instant::now()).await;
    }

    fn instance(&self, session: &Arc<Session>, patient: bool) -> Instance {
        let (runtime, session) = (Arc::clone(&self.runtime), Arc::clone(session));
        let telemetry = self.telemetry.clone();
        let tenant = Arc::clone(&session.options.tenant);
        let counters = session.options.counters.clone();
        let meter = self.runtime.meter(tenant.accounts(), counters);
        let metered = Arc::clone(&meter);
        let run = async move {
            let options = &session.options;
            let fence = session.fence();
            let trace = options.trace.as_ref();
            let target = &options.target;
            let name = target.label();
            let mut span = telemetry.attempt(trace, name, fence.attempt, fence.lease);
            let journal = Arc::clone(&session.journal);
            let log = GuestLog::new(Arc::clone(name), Arc::clone(&journal));
            let call = Call {
                what: target.invocation(&options.arguments),
                features: options.features,
                limits: options.setup.limits,
                journal,
                grants: Arc::clone(&target.component().grants),
                place: Place {
                    tenant: Arc::clone(&options.tenant.name),
                    share: options.tenant.limits.share,
                    accounts: options.tenant.accounts().clone(),
                    patient,
                },
                meter: metered,
                refusals: Arc::clone(&options.metrics),
                host_calls: telemetry.host_calls(&span),
            };
            let verbs: Arc<dyn Verbs> = Arc::clone(&session) as _;
            let program = &target.component().program;
            let returned = runtime.call(program, call, verbs, log).await;
            match &returned {
                Ok(_) => {}
                // It waits, and goes on in another run.
                Err(RunError::Parked | RunError::Asked) => span.set("cofferdam.parked", true),
                Err(error) => span.fail(error.name()),
            }
            // In the run: of what is large, the background does this, too.
            returned.and_then(|returned| session.settle(returned))
        };
        self.runtime.movable(&tenant.name, meter, run)
    }

    /// A run without a request: of a task, or of a call whose client went away.
    async fn alone(&self, session: Arc<Session>, mut instance: Instance, started: Instant) {
        let deadline = sleep(left(&session).unwrap_or(Duration::MAX));
        let wall = sleep_until(started + wall_of(&session));
        let grace = sleep(Duration::MAX);
        tokio::pin!(deadline, wall, grace);
        let is_task = session.as_task().is_some();
        let mut cancelled = false;
        loop {
            tokio::select! {
                biased;
                returned = &mut instance => {
                    session.end(returned).await;
                    break;
                }
                () = self.stopping.cancelled() => break,
                () = session.signals.lost.cancelled() => break,
                () = session.signals.cancel.cancelled(), if !cancelled => {
                    cancelled = true;
                    grace.as_mut().reset(Instant::now() + self.grace);
                }
                () = &mut grace, if cancelled => {
                    tracing::info!(tool = &**session.options.target.label(), "dropped a run that went on after its call was over");
                    break;
                }
                () = &mut deadline, if is_task && !cancelled => {
                    if let Some((tasks, id)) = session.as_task()
                        && let Err(error) = tasks.expire(id).await
                    {
                        tracing::error!(%error, "could not end a task whose time is over");
                    }
                    deadline.set(sleep(Duration::from_secs(1)));
                }
                () = &mut wall, if !is_task => {
                    instance.stop().await;
                    session.end(Err(wall_over(&session))).await;
                    break;
                }
            }
        }
        instance.stop().await;
        if let Some((tasks, id)) = session.as_task() {
            tasks.run_over(id).await;
        }
    }
}

/// Waits for a timer that may not be there.
async fn fires(timer: Pin<&mut Option<Sleep>>) {
    match timer.as_pin_mut() {
        Some(timer) => timer.await,
        None => std::future::pending().await,
    }
}

/// Wall time of the call while it is inline.
fn wall_of(session: &Session) -> Duration {
    Duration::from_millis(session.options.setup.limits.wall_ms)
}

fn wall_over(session: &Session) -> RunError {
    let millis = session.options.setup.limits.wall_ms;
    RunError::Wall(millis, "limit sandbox.wall-ms")
}

/// Time until the task's ttl or its attempt's wall time is over.
fn left(session: &Session) -> Option<Duration> {
    let left: Millis = session.deadline()?.saturating_sub(now());
    Some(Duration::from_millis(u64::try_from(left).unwrap_or(0)))
}

/// An instance that runs inside a request.
struct Run<'a> {
    /// `None` once it is over, or moved on.
    instance: Option<Instance>,
    session: Arc<Session>,
    started: Instant,
    driver: &'a Driver,
}

impl Run<'_> {
    /// Moves the rest of the run to a task of its own.
    fn go_on_alone(&mut self) {
        if let Some(instance) = self.instance.take() {
            let (driver, session) = (self.driver.clone(), Arc::clone(&self.session));
            let started = self.started;
            self.driver
                .tracker
                .spawn(async move { driver.alone(session, instance, started).await });
        }
    }
}

impl Drop for Run<'_> {
    fn drop(&mut self) {
        if self.instance.is_some() && tokio::runtime::Handle::try_current().is_ok() {
            self.session.signals.cancel.cancel();
            self.go_on_alone();
        }
    }
}
