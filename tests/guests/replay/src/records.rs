//! Records, as handlers use them that go on from where they were.

use crate::{Plan, ask};
use cofferdam_guest::prelude::*;
use serde_json::json;

/// How far the rounds have come, and all that they have found. What a round reads reaches the next
/// only through this, since a run that recalls it has not made the rounds before.
#[derive(Default, Deserialize, Serialize)]
struct At {
    next: u8,
    total: u64,
    answer: Option<String>,
}

/// Ten rounds, each kept when it is done. The sixth one asks.
#[tool(task = "optional")]
pub(crate) fn records(call: &Call, Args(plan): Args<Plan>) -> Result<String> {
    plan.begin(call)?;
    let mut at: At = match call.recall("at") {
        Some(kept) => serde_json::from_slice(&kept)?,
        None => At::default(),
    };
    while at.next < 10 {
        let round = at.next;
        if round == 5 {
            at.answer = Some(ask(call, "go")?);
        }
        // Other bytes under the same key, and more of them, each time.
        call.record("note", &note(round))?;
        at.total += u64::from(round);
        at.next += 1;
        call.record("at", &serde_json::to_vec(&at)?)?;
    }
    if call.recall("note") != Some(note(9)) {
        bail!("the note is not that of the last round");
    }
    Ok(json!({ "rounds": at.total, "answer": at.answer }).to_string())
}

fn note(round: u8) -> Vec<u8> {
    vec![round; usize::from(round) + 1]
}

/// How often a handler is to fail.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Flaws {
    /// So many attempts trap.
    fails: u32,
    /// How many the task has; 3 if left out.
    #[schemars(range(min = 1, max = 100))]
    attempts: Option<u32>,
}

/// Becomes a task whose first attempts trap, and says which attempt did not.
#[tool(task = "optional")]
pub(crate) fn flaky(call: &Call, Args(flaws): Args<Flaws>) -> Result<String> {
    call.start_task(TaskOptions::new().max_attempts(flaws.attempts.unwrap_or(3)))?;
    let mut tries: u32 = match call.recall("tries") {
        Some(kept) => serde_json::from_slice(&kept)?,
        None => 0,
    };
    // The last one is counted once, even if it is lost after that and run again.
    if tries <= flaws.fails {
        tries += 1;
        call.record("tries", &serde_json::to_vec(&tries)?)?;
    }
    if tries <= flaws.fails {
        panic!("attempt {tries} of {} fails as told", flaws.fails);
    }
    Ok(json!({ "tries": tries }).to_string())
}
