//! Calls one after the other, on so many threads at once, and what they cost.

use std::sync::atomic::{AtomicU8, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use rustix::time::{ClockId, clock_gettime};

use super::Calls;
use crate::load::Load;
use crate::load::message::first_number;
use crate::process::page_faults;

const WARM_UP: u8 = 0;
const COUNTED: u8 = 1;
const OVER: u8 = 2;

/// Makes calls, each of a number of its own.
pub(super) fn on_threads(
    threads: usize,
    load: Load,
    call: impl AsyncFn(u64) -> Result<()> + Copy + Send + Sync,
) -> Result<Calls> {
    let phase = AtomicU8::new(WARM_UP);
    thread::scope(|scope| {
        let phase = &phase;
        let spinning = (0..threads).map(first_number);
        let spinning = spinning.map(|first| scope.spawn(move || spin(first, phase, call)));
        let spinning: Vec<_> = spinning.collect();
        thread::sleep(load.warm_up);
        let (start, before) = (Instant::now(), Spent::until_now()?);
        phase.store(COUNTED, Ordering::Relaxed);
        thread::sleep(load.time);
        phase.store(OVER, Ordering::Relaxed);
        let (elapsed, after) = (start.elapsed(), Spent::until_now()?);

        let mut calls = 0;
        for thread in spinning {
            let ended = thread.join();
            calls += ended.unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        }
        ensure!(calls > 0, "no call ended within {elapsed:?}");
        Ok(Calls {
            rate: f64::from(calls) / elapsed.as_secs_f64(),
            cpu: after.cpu.saturating_sub(before.cpu) / calls,
            faults: after.faults.saturating_sub(before.faults) as f64 / f64::from(calls),
        })
    })
}

/// Calls until the time is over; gives how many were counted.
fn spin(first: u64, phase: &AtomicU8, call: impl AsyncFn(u64) -> Result<()>) -> Result<u32> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let mut counted = 0;
        for number in first.. {
            call(number).await?;
            match phase.load(Ordering::Relaxed) {
                WARM_UP => {}
                COUNTED => counted += 1,
                _ => break,
            }
        }
        Ok(counted)
    })
}

/// What this process has used so far.
struct Spent {
    cpu: Duration,
    faults: u64,
}

impl Spent {
    fn until_now() -> Result<Self> {
        let time = clock_gettime(ClockId::ProcessCPUTime);
        Ok(Self {
            cpu: Duration::new(time.tv_sec.try_into()?, time.tv_nsec.try_into()?),
            faults: page_faults().context("the page faults of this process")?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::on_threads;
    use crate::load::{Load, Workload};
    use std::collections::HashSet;
    use std::sync::Mutex;
    use std::time::Duration;

    #[test]
    fn calls_are_counted_on_all_threads_and_have_numbers_of_their_own() {
        let load = Load {
            workload: Workload::Call,
            connections: 1,
            warm_up: Duration::from_millis(20),
            time: Duration::from_millis(200),
        };
        let heard = Mutex::new(Vec::new());
        let numbers = &heard;
        let call = async move |number| {
            numbers.lock().expect("a list").push(number);
            std::thread::sleep(Duration::from_millis(5));
            Ok(())
        };
        let calls = on_threads(2, load, call).expect("calls");
        // At most 400 a second on both, and more than one could do.
        assert!((200.0..=440.0).contains(&calls.rate), "{}", calls.rate);
        assert!(calls.cpu < Duration::from_millis(5), "{:?}", calls.cpu);
        let numbers = heard.into_inner().expect("a list");
        let different: HashSet<_> = numbers.iter().collect();
        assert_eq!(different.len(), numbers.len());
        let failed = on_threads(1, load, async |_| anyhow::bail!("wrong"));
        assert!(failed.is_err());
    }
}
