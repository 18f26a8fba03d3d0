//! Writers: each does one task after the other until the time is over.
//!
//! Invariant: a task counts for as much of it as lies within the time that is measured. On a slow disk
//! many writers end their tasks at once, and seldom: counting ends would measure chance.

use std::time::Instant;

use anyhow::{Context, Result, ensure};
use tokio::task::JoinSet;

use crate::load::Load;
use crate::load::message::first_number;

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
    let span = Span::of(load);
    let mut all = JoinSet::new();
    for writer in 0..writers {
        let task = task.clone();
        all.spawn(async move {
            let mut done = 0.0;
            let mut number = first_number(writer);
            loop {
                let start = Instant::now();
                task(number).await?;
                let end = Instant::now();
                done += span.share(start, end);
                if end >= span.end {
                    return anyhow::Ok((done, number));
                }
                number += 1;
            }
        });
    }
    let (mut sum, mut last) = (0.0, Vec::new());
    while let Some(ended) = all.join_next().await {
        let (done, number) = ended.context("a writer")??;
        sum += done;
        last.push(number);
    }
    let rate = span.rate(sum)?;
    Ok(Written { rate, last })
}

/// Tasks a second of one writer on this thread.
pub(super) fn alone(load: Load, mut task: impl FnMut(u64) -> Result<()>) -> Result<f64> {
    let span = Span::of(load);
    let mut done = 0.0;
    for number in first_number(0).. {
        let start = Instant::now();
        task(number)?;
        let end = Instant::now();
        done += span.share(start, end);
        if end >= span.end {
            break;
        }
    }
    span.rate(done)
}

/// The time that is measured.
#[derive(Clone, Copy)]
struct Span {
    start: Instant,
    end: Instant,
}

impl Span {
    /// It begins after the warm-up, which begins now.
    fn of(load: Load) -> Self {
        let start = Instant::now() + load.warm_up;
        Self {
            start,
            end: start + load.time,
        }
    }

    /// How much lies within it of something that took from `start` to `end`, from 0 to 1.
    fn share(self, start: Instant, end: Instant) -> f64 {
        let within = end.min(self.end);
        let within = within.saturating_duration_since(start.max(self.start));
        // What took no time at all is nothing.
        let whole = end.saturating_duration_since(start).as_secs_f64();
        within.as_secs_f64() / whole.max(f64::MIN_POSITIVE)
    }

    fn rate(self, done: f64) -> Result<f64> {
        ensure!(done > 0.0, "nothing was done");
        Ok(done / (self.end - self.start).as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::{Span, alone, drive};
    use crate::load::{Load, Workload};
    use std::time::{Duration, Instant};

    const LOAD: Load = Load {
        workload: Workload::Task,
        connections: 1,
        warm_up: Duration::from_millis(50),
        time: Duration::from_millis(200),
    };

    #[test]
    fn a_task_counts_for_what_lies_within_the_time() {
        let now = Instant::now();
        let at = |millis| now + Duration::from_millis(millis);
        let (start, end) = (at(100), at(200));
        let share = |from, to| Span { start, end }.share(at(from), at(to));
        assert_eq!(share(120, 140), 1.0);
        assert_eq!(share(50, 150), 0.5);
        assert_eq!(share(190, 210), 0.5);
        assert_eq!(share(0, 1_000), 0.1);
        assert_eq!(
            (share(10, 90), share(210, 220), share(150, 150)),
            (0.0, 0.0, 0.0)
        );
    }

    #[tokio::test]
    async fn writers_that_end_seldom_and_together_are_measured_all_the_same() {
        let slow = async |_| {
            tokio::time::sleep(Duration::from_millis(500)).await;
            Ok(())
        };
        let written = drive(LOAD, 10, move |number| Box::pin(slow(number)));
        let written = written.await.expect("all succeed");
        assert_eq!(written.last.len(), 10);
        assert!((15.0..=20.1).contains(&written.rate), "{}", written.rate);
        let quick = alone(LOAD, |_| {
            std::thread::sleep(Duration::from_millis(10));
            Ok(())
        });
        let quick = quick.expect("it succeeds");
        assert!((30.0..=100.0).contains(&quick), "{quick}");
        assert!(alone(LOAD, |_| anyhow::bail!("wrong")).is_err());
    }
}
