//! Everything in one call.

use crate::chance::draw;
use crate::time::{Reading, nap};
use crate::{Plan, ask, ask_all, recalls};
use cofferdam_guest::prelude::*;
use serde_json::json;

/// Reads, draws, sleeps, records, asks, becomes a task if told to, does a step, asks two things at
/// once, and does it all again.
#[tool(task = "optional")]
pub(crate) fn mixed(call: &Call, Args(plan): Args<Plan>) -> Result<String> {
    log!(info, "mixed begins");
    let first = Reading::now();
    let drawn = draw::<16>()?;
    let mut slept = nap(call, 1)?;
    let kept = format!("{} {drawn}", first.text());
    call.record("kept", kept.as_bytes())?;
    call.progress(1, Some(4), "recorded")?;

    let a = ask(call, "a")?;
    plan.begin(call)?;
    call.progress(2, Some(4), "asked")?;
    let in_step: String = call.step("draw", || {
        log!(info, "a step is done");
        draw::<16>()
    })?;
    call.progress(3, Some(4), "stepped")?;
    let [b, c] = ask_all(call, ["b", "c"])?;
    slept &= nap(call, 1)?;

    let last = Reading::now();
    let drawn_last = draw::<16>()?;
    let same = recalls(call, "kept", &kept);
    let fresh = drawn != in_step && drawn != drawn_last && in_step != drawn_last;
    call.progress(4, Some(4), "compared")?;
    log!(info, "mixed ends"; same = same);
    Ok(plan.told(
        json!({
            "same": same,
            "fresh": fresh,
            "ordered": last.follows(first),
            "slept": slept,
            "answers": [a, b, c],
        }),
        "seen",
        json!([first.text(), drawn, in_step, last.text(), drawn_last]),
    ))
}
