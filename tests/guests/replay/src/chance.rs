//! Random numbers, as the operating system gives them and as the standard library hides them.

use crate::{Plan, ask, recalls};
use cofferdam_guest::prelude::*;
use serde_json::json;
use std::collections::HashMap;
use std::fmt::Write;
use std::hash::{BuildHasher, RandomState};

/// So many random bytes, in hexadecimal digits.
pub(crate) fn draw<const BYTES: usize>() -> Result<String> {
    let mut bytes = [0; BYTES];
    getrandom::fill(&mut bytes)?;
    let mut digits = String::with_capacity(2 * BYTES);
    for byte in bytes {
        write!(digits, "{byte:02x}")?;
    }
    Ok(digits)
}

/// What the seed of a new hash map makes of nothing.
fn seed() -> String {
    format!("{:016x}", RandomState::new().hash_one(()))
}

/// Draws bytes and a hash seed, asks, and draws again.
#[tool(task = "optional")]
pub(crate) fn random(call: &Call, Args(plan): Args<Plan>) -> Result<String> {
    plan.begin(call)?;
    let before = [seed(), draw::<16>()?];
    call.record("drawn", before.concat().as_bytes())?;
    let answer = ask(call, "go")?;
    let after = [seed(), draw::<16>()?];
    // The source goes on; it does not begin again.
    let goes_on = before[0] != after[0] && before[1] != after[1];
    let same = recalls(call, "drawn", &before.concat()) && goes_on;
    Ok(plan.told(
        json!({ "same": same, "answer": answer }),
        "bytes",
        json!([before, after]),
    ))
}

/// Walks through a hash map, asks, and walks through another one with the same keys and seed.
#[tool(task = "optional")]
pub(crate) fn hash_map(call: &Call, Args(plan): Args<Plan>) -> Result<String> {
    plan.begin(call)?;
    let state = RandomState::new();
    let order = walk(state.clone());
    call.record("order", order.join(" ").as_bytes())?;
    let answer = ask(call, "go")?;
    let same = recalls(call, "order", &walk(state).join(" "));
    Ok(plan.told(
        json!({ "same": same, "answer": answer }),
        "order",
        json!(order),
    ))
}

/// Fifty keys, in the order in which a hash map with this seed has them.
fn walk(state: RandomState) -> Vec<String> {
    let mut map = HashMap::with_hasher(state);
    for n in 0..50 {
        map.insert(format!("key-{n}"), n);
    }
    map.into_keys().collect()
}
