//! Threads that stand back behind those that serve: a run that computes for long or grows large goes on
//! here, as does one of a tenant that uses much while there are others; and a large instance is taken
//! down here.
//!
//! Invariants: whatever guest code, the kernel or a copy does in one piece for such an instance, it holds
//! up no thread that serves; tenants are polled in turn; a run is polled by one thread at a time, and only
//! while whoever waits for it does.

use super::engine::Running;
use super::imports::Guest;
use super::meter::CpuMeter;
use super::queue::{FairQueue, Full, Permit, Share};
use crate::limits::{BACKGROUND_IDLE, LARGE_INSTANCE_BYTES};
use futures_util::task::AtomicWaker;
use std::cell::Cell;
use std::future::Future;
use std::io;
use std::mem;
use std::panic::resume_unwind;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker, ready};
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::oneshot;
use tokio::task::{JoinError, JoinHandle};
use wasmtime::Store;

/// By how much they stand back behind the threads that serve.
const NICENESS: i32 = 10;

thread_local! {
    /// True on the threads of the background.
    static HERE: Cell<bool> = const { Cell::new(false) };
}

/// An instance and its permit. They go in this order: a permit that is free has its slots.
pub(super) struct Live {
    pub(super) store: Store<Guest>,
    pub(super) _running: Running,
}

/// The threads. They end with the last clone.
#[derive(Clone)]
pub(super) struct Background {
    threads: Arc<Threads>,
    turns: FairQueue,
}

/// A runtime of which nothing but its threads for work that blocks is used. A thread without work ends:
/// what others free of a thread's memory goes back to the system with it at the latest.
struct Threads(Option<Runtime>);

impl Drop for Threads {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

impl Background {
    /// # Errors
    /// The system's.
    pub(super) fn start(threads: usize) -> io::Result<Self> {
        let runtime = Builder::new_current_thread()
            .max_blocking_threads(threads)
            .thread_keep_alive(BACKGROUND_IDLE)
            .thread_name("background")
            .on_thread_start(|| {
                HERE.set(true);
                // Of this thread alone. A system that refuses it shares its cores evenly.
                #[cfg(target_os = "linux")]
                let _ = rustix::process::setpriority_process(None, NICENESS);
            })
            .build()?;
        Ok(Self {
            threads: Arc::new(Threads(Some(runtime))),
            turns: FairQueue::new(threads),
        })
    }

    /// Takes down an instance, and gives its permit back.
    pub(super) fn take_down(&self, live: Live) {
        if live.store.data().memory.grown() > LARGE_INSTANCE_BYTES {
            self.drop_there(live);
        }
    }

    fn drop_there(&self, what: impl Send + 'static) {
        // Nobody waits for its end.
        drop(self.spawn(move || drop(what)));
    }

    /// Has it done there. Timers and connections stay those of the server.
    fn spawn<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Option<JoinHandle<T>> {
        let server = Handle::try_current();
        let threads = self.threads.0.as_ref()?;
        Some(threads.spawn_blocking(move || {
            let _server = server.as_ref().map(Handle::enter);
            work()
        }))
    }
}

type Boxed<T> = Pin<Box<dyn Future<Output = T> + Send>>;
type Waiting = Pin<Box<dyn Future<Output = Result<Permit, Full>> + Send>>;
/// A run that comes back, and what it came to.
type Polled<T> = (Boxed<T>, Poll<T>);

/// A run that is polled where it is awaited until its meter says that it is heavy, and by the background
/// from then on. One that is awaited in the background already goes on in the turn of whoever awaits it.
/// Dropping it drops the instance; if the background polls it, that is when it has done so.
pub struct Movable<T: 'static> {
    stage: Stage<T>,
    tenant: Arc<str>,
    meter: Arc<CpuMeter>,
    background: Background,
    /// Made when it is first sent away.
    wakes: Option<Arc<Wakes>>,
}

enum Stage<T: 'static> {
    /// Nobody polls it.
    Idle(Boxed<T>),
    /// It waits for its tenant's turn.
    Waits(Waiting, Boxed<T>),
    /// The background polls it.
    Away(JoinHandle<Polled<T>>),
    /// It is over, which nobody was told yet.
    Done(T),
    Over,
}

/// Whom a run in the background wakes, and that it did since it was last sent there.
struct Wakes {
    woken: AtomicBool,
    task: AtomicWaker,
}

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.woken.store(true, Ordering::Release);
        self.task.wake();
    }
}

impl<T: Send + 'static> Movable<T> {
    pub(super) fn new(
        background: &Background,
        tenant: &Arc<str>,
        meter: Arc<CpuMeter>,
        run: impl Future<Output = T> + Send + 'static,
    ) -> Self {
        Self {
            stage: Stage::Idle(Box::pin(run)),
            tenant: Arc::clone(tenant),
            meter,
            background: background.clone(),
            wakes: None,
        }
    }

    /// Once this is over, nothing of it happens until it is polled again.
    pub async fn rest(&mut self) {
        if let Stage::Away(back) = &mut self.stage {
            self.stage = returned(back.await);
        }
    }

    /// Drops the instance. Once this is over, nothing of it happens any more.
    pub async fn stop(&mut self) {
        self.rest().await;
        match mem::replace(&mut self.stage, Stage::Over) {
            Stage::Idle(run) | Stage::Waits(_, run) if self.meter.is_heavy() => {
                let (dropped, gone) = oneshot::channel::<()>();
                self.background.drop_there((run, dropped));
                // It tells nothing but its end.
                let _ = gone.await;
            }
            other => drop(other),
        }
    }

    fn wait_for_turn(&self) -> Waiting {
        let (turns, tenant) = (self.background.turns.clone(), Arc::clone(&self.tenant));
        let whole = Share {
            running: usize::MAX,
            waiting: usize::MAX,
        };
        Box::pin(async move { turns.acquire(&tenant, whole, true).await })
    }

    fn send_away(&self, turn: Option<Permit>, mut run: Boxed<T>, wakes: &Arc<Wakes>) -> Stage<T> {
        let waker = Waker::from(Arc::clone(wakes));
        let polled = self.background.spawn(move || {
            let _turn = turn;
            let output = run.as_mut().poll(&mut Context::from_waker(&waker));
            (run, output)
        });
        polled.map_or(Stage::Over, Stage::Away)
    }

    /// One step. Pending once there is nothing to do but to wait.
    fn step(&mut self, context: &mut Context<'_>, wakes: &Arc<Wakes>) -> Poll<Stage<T>> {
        Poll::Ready(match mem::replace(&mut self.stage, Stage::Over) {
            Stage::Idle(run) if wakes.woken.swap(false, Ordering::Acquire) => {
                Stage::Waits(self.wait_for_turn(), run)
            }
            Stage::Waits(mut turn, run) => match turn.as_mut().poll(context) {
                // Without a turn it would still be right: it may wait for as long as it takes.
                Poll::Ready(turn) => self.send_away(turn.ok(), run, wakes),
                Poll::Pending => {
                    self.stage = Stage::Waits(turn, run);
                    return Poll::Pending;
                }
            },
            Stage::Away(mut back) => match Pin::new(&mut back).poll(context) {
                Poll::Ready(polled) => returned(polled),
                Poll::Pending => {
                    self.stage = Stage::Away(back);
                    return Poll::Pending;
                }
            },
            Stage::Done(output) => Stage::Done(output),
            stage => {
                self.stage = stage;
                return Poll::Pending;
            }
        })
    }
}

fn returned<T>(polled: Result<Polled<T>, JoinError>) -> Stage<T> {
    match polled {
        Ok((run, Poll::Pending)) => Stage::Idle(run),
        Ok((_, Poll::Ready(output))) => Stage::Done(output),
        Err(error) => match error.try_into_panic() {
            Ok(panic) => resume_unwind(panic),
            // The threads are there for as long as this is.
            Err(_) => Stage::Over,
        },
    }
}

impl<T: 'static> Drop for Movable<T> {
    fn drop(&mut self) {
        if let Stage::Idle(run) | Stage::Waits(_, run) = mem::replace(&mut self.stage, Stage::Over)
            && self.meter.is_heavy()
        {
            self.background.drop_there(run);
        }
    }
}

// What it came to is never pinned.
impl<T: 'static> Unpin for Movable<T> {}

impl<T: Send + 'static> Future for Movable<T> {
    type Output = T;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        let this = self.get_mut();
        let stays = |meter: &CpuMeter| HERE.get() || !meter.is_heavy();
        if let Stage::Idle(run) = &mut this.stage
            && stays(&this.meter)
        {
            match run.as_mut().poll(context) {
                Poll::Pending if !stays(&this.meter) => {}
                Poll::Pending => return Poll::Pending,
                Poll::Ready(output) => {
                    this.stage = Stage::Over;
                    return Poll::Ready(output);
                }
            }
        }
        let wakes = this.wakes.get_or_insert_with(|| {
            Arc::new(Wakes {
                woken: AtomicBool::new(true),
                task: AtomicWaker::new(),
            })
        });
        let wakes = Arc::clone(wakes);
        wakes.task.register(context.waker());
        loop {
            match ready!(this.step(context, &wakes)) {
                Stage::Done(output) => return Poll::Ready(output),
                stage => this.stage = stage,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicUsize;
    use std::thread;
    use tokio::task::yield_now;

    fn background() -> Background {
        Background::start(1).unwrap()
    }

    fn here() -> bool {
        thread::current().name() != Some("background")
    }

    #[tokio::test]
    async fn a_run_moves_when_it_is_heavy_and_not_before() {
        let meter = Arc::<CpuMeter>::default();
        let run = Movable::new(
            &background(),
            &Arc::default(),
            Arc::clone(&meter),
            async move {
                yield_now().await;
                assert!(here(), "it is light");
                meter.set_heavy();
                assert!(here(), "it has not waited since");
                for _ in 0..100 {
                    yield_now().await;
                    assert!(!here());
                }
                // A timer is the server's, wherever it is waited for.
                tokio::time::sleep(std::time::Duration::from_millis(5)).await;
                assert!(!here());
                "done"
            },
        );
        assert_eq!(run.await, "done");
    }

    #[tokio::test]
    async fn what_is_awaited_in_the_background_waits_for_no_turn_of_its_own() {
        let (background, meter) = (background(), Arc::<CpuMeter>::default());
        meter.set_heavy();
        let movable = |run: Boxed<()>| {
            let meter = Arc::clone(&meter);
            Movable::new(&background, &Arc::default(), meter, run)
        };
        let inner = movable(Box::pin(async {
            for _ in 0..100 {
                yield_now().await;
                assert!(!here());
            }
        }));
        movable(Box::pin(inner)).await;
    }

    /// Counts its polls, and waits for nothing between them.
    fn counting(background: &Background) -> (Movable<()>, Arc<AtomicUsize>) {
        let meter = Arc::<CpuMeter>::default();
        meter.set_heavy();
        let polls = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&polls);
        let run = Movable::new(background, &Arc::default(), meter, async move {
            loop {
                count.fetch_add(1, Ordering::SeqCst);
                yield_now().await;
            }
        });
        (run, polls)
    }

    #[tokio::test]
    async fn a_run_that_rests_does_nothing_until_it_is_polled() {
        let (mut run, polls) = counting(&background());
        for _ in 0..100 {
            let before = polls.load(Ordering::SeqCst);
            while polls.load(Ordering::SeqCst) == before {
                tokio::select! {
                    biased;
                    () = &mut run => unreachable!("it never ends"),
                    () = yield_now() => {}
                }
            }
            run.rest().await;
            let resting = polls.load(Ordering::SeqCst);
            for _ in 0..10 {
                yield_now().await;
            }
            assert_eq!(polls.load(Ordering::SeqCst), resting);
        }
    }

    /// Tells that it is gone.
    struct Gone(Option<oneshot::Sender<bool>>);

    impl Drop for Gone {
        fn drop(&mut self) {
            let sent = self.0.take().map(|gone| gone.send(here()));
            assert_eq!(sent, Some(Ok(())));
        }
    }

    #[tokio::test]
    async fn what_a_stopped_run_held_is_gone() {
        let (mut run, polls) = counting(&background());
        tokio::select! {
            biased;
            () = &mut run => unreachable!("it never ends"),
            () = yield_now() => {}
        }
        run.stop().await;
        assert_eq!(Arc::strong_count(&polls), 1);
    }

    #[tokio::test]
    async fn a_run_that_is_dropped_while_it_is_away_ends_there() {
        let meter = Arc::<CpuMeter>::default();
        meter.set_heavy();
        let (gone, told) = oneshot::channel();
        let (enter, entered) = oneshot::channel();
        let (leave, left) = std::sync::mpsc::channel::<()>();
        let gone = Gone(Some(gone));
        let mut run = Movable::new(&background(), &Arc::default(), meter, async move {
            let _gone = gone;
            let _ = enter.send(());
            let _ = left.recv();
            std::future::pending::<()>().await;
        });
        tokio::select! {
            () = &mut run => unreachable!("it never ends"),
            inside = entered => inside.unwrap(),
        }
        drop(run);
        leave.send(()).unwrap();
        assert!(!told.await.unwrap(), "it was dropped in the background");
    }

    #[tokio::test]
    async fn a_panic_in_the_background_ends_its_call_and_nothing_else() {
        let background = background();
        let meter = Arc::<CpuMeter>::default();
        meter.set_heavy();
        let broken = Movable::new(&background, &Arc::default(), Arc::clone(&meter), async {
            assert!(here(), "on purpose");
        });
        let ended = tokio::spawn(broken).await;
        assert!(ended.is_err_and(|error| error.is_panic()));
        let next = Movable::new(&background, &Arc::default(), meter, async { 7 });
        assert_eq!(next.await, 7);
    }
}
