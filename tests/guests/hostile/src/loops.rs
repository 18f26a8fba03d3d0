//! Tools that never come to an end by themselves.

use crate::begin;
use cofferdam_guest::prelude::*;
use std::hint::black_box;
use wasip2::clocks::monotonic_clock::{subscribe_duration, subscribe_instant};
use wasip2::io::poll::poll;

/// Computes for ever, and looks up for nothing.
#[tool(task = "optional")]
pub fn spin(call: &Call) -> Result<String> {
    begin(call)?;
    log::info("begun");
    let mut sum = 0_u64;
    loop {
        sum = black_box(sum.wrapping_add(1));
    }
}

/// Sleeps again and again, also when each sleep says that the call is over.
#[tool(task = "optional")]
pub fn deaf(call: &Call, ms: u64) -> Result<String> {
    begin(call)?;
    log::info("begun");
    loop {
        let _ = call.sleep(Duration::from_millis(ms));
    }
}

/// How to wait for a time that does not come.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Never {
    /// Block on the last instant of the monotonic clock.
    Instant,
    /// Block on its longest duration.
    Duration,
    /// Poll both.
    Poll,
    /// Sleep by the verb, as long as it can.
    Sleep,
}

/// Waits in the host for as long as there are numbers for it.
#[tool(task = "optional")]
pub fn doze(call: &Call, how: Never) -> Result<String> {
    begin(call)?;
    log::info("begun");
    match how {
        Never::Instant => subscribe_instant(u64::MAX).block(),
        Never::Duration => subscribe_duration(u64::MAX).block(),
        Never::Poll => {
            let (instant, duration) = (subscribe_instant(u64::MAX), subscribe_duration(u64::MAX));
            poll(&[&instant, &duration]);
        }
        Never::Sleep => call.sleep(Duration::from_millis(u64::MAX))?,
    }
    Ok("the end of time".to_owned())
}
