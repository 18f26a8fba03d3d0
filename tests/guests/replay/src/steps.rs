//! Steps, which are done once however often the handler is run.

use crate::chance::draw;
use crate::{Plan, ask};
use cofferdam_guest::prelude::*;
use serde_json::{Value, json};
use std::time::{SystemTime, UNIX_EPOCH};

/// What a step found.
#[derive(Deserialize, Serialize)]
struct Found {
    step: u8,
    drawn: String,
    /// When it was found, in nanoseconds since 1970.
    at: u128,
}

impl Found {
    fn now(step: u8) -> Result<Self> {
        Ok(Self {
            step,
            drawn: draw::<8>()?,
            at: SystemTime::now().duration_since(UNIX_EPOCH)?.as_nanos(),
        })
    }
}

/// Five steps, of which the fourth has a step in it; asks after the third.
#[tool(task = "optional")]
pub(crate) fn steps(call: &Call, Args(plan): Args<Plan>) -> Result<String> {
    plan.begin(call)?;
    let mut found = Vec::new();
    for step in 1..=3 {
        found.push(call.step(&format!("step {step}"), || Found::now(step))?);
    }
    let answer = ask(call, "go")?;
    let (fourth, inner) = call.step("step 4", || {
        let inner = call.step("within step 4", || Found::now(4))?;
        Ok((Found::now(4)?, inner))
    })?;
    found.extend([inner, fourth]);
    found.push(call.step("step 5", || Found::now(5))?);

    let told: Vec<Value> = (found.iter().enumerate())
        .map(|(n, now)| {
            // Sources go on where a step is skipped: nothing comes twice, and no clock goes back.
            let fresh =
                (found[..n].iter()).all(|before| before.drawn != now.drawn && before.at <= now.at);
            if plan.raw {
                json!({ "step": now.step, "fresh": fresh, "drawn": now.drawn })
            } else {
                json!({ "step": now.step, "fresh": fresh })
            }
        })
        .collect();
    Ok(json!({ "steps": told, "answer": answer }).to_string())
}
