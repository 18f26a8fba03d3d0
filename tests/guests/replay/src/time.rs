//! Clocks and waits, by the standard library, by the verb, and by WASI itself.

use crate::{Plan, ask, recalls};
use cofferdam_guest::prelude::*;
use serde_json::json;
use std::thread;
use std::time::{Instant, SystemTime};
use wasip2::cli::stdout::get_stdout;
use wasip2::clocks::monotonic_clock::subscribe_duration;
use wasip2::io::poll as wasi;

/// Both clocks at one moment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reading {
    steady: Instant,
    wall: SystemTime,
}

impl Reading {
    pub(crate) fn now() -> Self {
        Self {
            steady: Instant::now(),
            wall: SystemTime::now(),
        }
    }

    /// Every digit of it.
    pub(crate) fn text(self) -> String {
        format!("{:?} {:?}", self.steady, self.wall)
    }

    /// Has no clock gone back since then?
    pub(crate) fn follows(self, earlier: Self) -> bool {
        self.steady >= earlier.steady && self.wall >= earlier.wall
    }
}

/// Reads the clocks, asks, and reads them again.
#[tool(task = "optional")]
pub(crate) fn clock(call: &Call, Args(plan): Args<Plan>) -> Result<String> {
    plan.begin(call)?;
    let first = Reading::now();
    let second = Reading::now();
    let before = format!("{} {}", first.text(), second.text());
    call.record("read", before.as_bytes())?;
    let answer = ask(call, "go")?;
    let same = recalls(call, "read", &before);
    let after = Reading::now();
    let ordered = second.follows(first) && after.follows(second);
    Ok(plan.told(
        json!({ "same": same, "ordered": ordered, "answer": answer }),
        "readings",
        json!([first.text(), second.text(), after.text()]),
    ))
}

/// Sleeps by the verb, before and after a question.
#[tool(task = "optional")]
pub(crate) fn sleep(call: &Call, Args(plan): Args<Plan>) -> Result<String> {
    plan.begin(call)?;
    let first = nap(call, 5)? && nap(call, 20)?;
    let answer = ask(call, "go")?;
    let slept = nap(call, 10)? && first;
    Ok(json!({ "answer": answer, "slept": slept }).to_string())
}

/// Sleeps. Has the clock moved as far?
pub(crate) fn nap(call: &Call, milliseconds: u64) -> Result<bool> {
    let duration = Duration::from_millis(milliseconds);
    let start = Instant::now();
    call.sleep(duration)?;
    Ok(start.elapsed() >= duration)
}

/// Sleeps by the standard library, and polls timers and standard output, before and after a question.
#[tool(task = "optional")]
pub(crate) fn poll(call: &Call, Args(plan): Args<Plan>) -> Result<String> {
    plan.begin(call)?;
    for _ in 0..2 {
        thread::sleep(Duration::from_millis(5));
    }
    let soon = subscribe_duration(1_000_000);
    let late = subscribe_duration(3_600_000_000_000);
    let out = get_stdout();
    let writable = out.subscribe();
    let ready = json!([
        wasi::poll(&[&late, &soon]),
        wasi::poll(&[&soon, &late, &writable]),
        [soon.ready(), late.ready()],
    ]);
    call.record("ready", ready.to_string().as_bytes())?;
    let answer = ask(call, "go")?;
    // What was opened before the question is still what it was.
    let same = recalls(call, "ready", &ready.to_string()) && wasi::poll(&[&late, &soon]) == [1];
    Ok(plan.told(json!({ "same": same, "answer": answer }), "ready", ready))
}
