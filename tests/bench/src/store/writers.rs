//! Writers: each does one task after the other until the time is over.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Instant;

use anyhow::{Context, Result};
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::load::Load;
use crate::load::message::first_number;

const WARM_UP: u8 = 0;
const COUNTED: u8 = 1;
const OVER: u8 = 2;

/// What they did.
pub(super) struct Written {
    /// Tasks a second, after the warm-up.
    pub(super) rate: f64,
    /// The number of the last task of each.
    pub(super) last: Vec<u64>,
}

/// Has so many writers do tasks at once. Each task has a number of its own.
pub(super) async fn drive<F>(
    load: Load,
    writers: usize,
    task: impl Fn(u64) -> F + Clone + Send + 'static,
) -> Result<Written>
where
    F: Future<Output = Result<()>> + Send,
{
    let phase = Arc::new(AtomicU8::new(WARM_UP));
    let mut all = JoinSet::new();
    for writer in 0..writers {
        let (phase, task) = (Arc::clone(&phase), task.clone());
        all.spawn(async move {
            let mut counted = 0_u32;
            let mut number = first_number(writer);
            loop {
                task(number).await?;
                match phase.load(Ordering::Relaxed) {
                    WARM_UP => {}
                    COUNTED => counted += 1,
                    _ => return anyhow::Ok((counted, number)),
                }
                number += 1;
            }
        });
    }
    sleep(load.warm_up).await;
    phase.store(COUNTED, Ordering::Relaxed);
    let start = Instant::now();
    sleep(load.time).await;
    phase.store(OVER, Ordering::Relaxed);
    let elapsed = start.elapsed();

    let (mut counted, mut last) = (0, Vec::new());
    while let Some(ended) = all.join_next().await {
        let (done, number) = ended.context("a writer")??;
        counted += done;
        last.push(number);
    }
    Ok(Written {
        rate: f64::from(counted) / elapsed.as_secs_f64(),
        last,
    })
}

/// Tasks a second of one writer on this thread.
pub(super) fn alone(load: Load, mut task: impl FnMut(u64) -> Result<()>) -> Result<f64> {
    let mut numbers = first_number(0)..;
    let mut until = |time| {
        let (start, mut done) = (Instant::now(), 0_u32);
        while start.elapsed() < time {
            task(numbers.next().context("a number")?)?;
            done += 1;
        }
        anyhow::Ok(f64::from(done) / start.elapsed().as_secs_f64())
    };
    until(load.warm_up)?;
    until(load.time)
}
