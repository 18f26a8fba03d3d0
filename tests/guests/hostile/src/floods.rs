//! Very many small things.

use crate::begin;
use cofferdam_guest::InputError;
use cofferdam_guest::bindings::cofferdam::tool::{log, task};
use cofferdam_guest::prelude::*;
use wasip2::clocks::monotonic_clock::{now, subscribe_duration};
use wasip2::io::poll::poll;
use wasip2::random::random::get_random_bytes;

/// Writes so many log lines.
#[tool(task = "optional")]
pub fn log_lines(call: &Call, lines: u32) -> Result<String> {
    begin(call)?;
    for n in 0..lines {
        log::write(log::Level::Info, &format!("flood line {n}"), None);
    }
    Ok("written".to_owned())
}

/// Reports progress so often, each time a little more, with messages of so many bytes.
#[tool(task = "optional")]
pub fn reports(call: &Call, number: u32, bytes: usize) -> Result<String> {
    begin(call)?;
    let text = "x".repeat(bytes);
    for n in 1..=number {
        if task::progress(n.into(), None, Some(&text)).is_err() {
            return Ok(format!("over at {n}"));
        }
    }
    Ok("reported".to_owned())
}

/// Asks under so many keys at once.
#[tool(task = "optional")]
pub fn ask_at_once(call: &Call, keys: u32) -> Result<String> {
    begin(call)?;
    let question = || InputRequest::visit("?", "https://example.com");
    let asked = call.ask((0..keys).map(|n| (n.to_string(), question())));
    Ok(match asked {
        Ok(_) => "answered".to_owned(),
        Err(InputError::Invalid(reason)) => format!("invalid: {reason}"),
        Err(other) => other.to_string(),
    })
}

/// Asks so often, one time after the other, whatever comes of it; says how many questions were
/// answered, and what came of the last.
#[tool(task = "optional")]
pub fn ask_in_a_row(
    call: &Call,
    times: u32,
    /// Questions at a time.
    at_once: u32,
    /// Under the same keys each time, which are good once.
    same: Option<bool>,
) -> Result<String> {
    begin(call)?;
    let (mut answered, mut last) = (0_u32, String::new());
    for n in 0..times {
        let first = if same == Some(true) { 0 } else { n * at_once };
        let questions = (first..first + at_once).map(|key| {
            let question = InputRequest::visit("?", "https://example.com");
            (key.to_string(), question)
        });
        last = match call.ask(questions) {
            Ok(_) => {
                answered += at_once;
                "answered".to_owned()
            }
            Err(InputError::Invalid(reason)) => format!("invalid: {reason}"),
            Err(InputError::DuplicateKeys(_)) => "duplicate-keys".to_owned(),
            Err(InputError::MissingFeatures(_)) => "missing-features".to_owned(),
            Err(other) => return Err(other.into()),
        };
    }
    Ok(format!("{answered} answered; the last: {last}"))
}

/// Takes so many random bytes so often.
#[tool(task = "optional")]
pub fn random(call: &Call, bytes: u64, times: u64) -> Result<String> {
    begin(call)?;
    let mut sum = 0_u64;
    for _ in 0..times {
        let taken = get_random_bytes(bytes);
        sum = sum.wrapping_add(taken.iter().map(|byte| u64::from(*byte)).sum());
    }
    Ok(sum.to_string())
}

/// Reads the clock so often, letting some time pass between.
#[tool(task = "optional")]
pub fn clocks(call: &Call, times: u32) -> Result<String> {
    begin(call)?;
    let mut readings = 0_u32;
    let mut last = now();
    while readings < times {
        let next = now();
        if next > last {
            last = next;
            readings += 1;
        }
    }
    Ok(readings.to_string())
}

/// Opens so many timers, and keeps them all.
#[tool(task = "optional")]
pub fn hold(call: &Call, count: u32) -> Result<String> {
    begin(call)?;
    let held: Vec<_> = (0..count)
        .map(|_| subscribe_duration(3_600_000_000_000))
        .collect();
    Ok(held.len().to_string())
}

/// Polls one timer under so many names at once, again and again.
#[tool(task = "optional")]
pub fn poll_many(call: &Call, count: usize, times: u32) -> Result<String> {
    begin(call)?;
    let ready = subscribe_duration(0);
    let all = vec![&ready; count];
    let found: usize = (0..times).map(|_| poll(&all).len()).sum();
    Ok(found.to_string())
}

/// Recalls so many keys of the greatest length, that nothing was recorded under.
#[tool(task = "optional")]
pub fn recall_many(call: &Call, keys: u32) -> Result<String> {
    begin(call)?;
    let found = (0..keys).filter(|n| call.recall(&format!("{n:0256}")).is_some());
    Ok(found.count().to_string())
}
