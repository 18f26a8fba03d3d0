//! What must be the same when the handler is run again: random numbers, clocks, steps.

use crate::Phase;
use crate::questions::values;
use cofferdam_guest::prelude::*;
use serde_json::json;
use std::time::{Instant, SystemTime};

/// Draws random numbers before a question and after it
#[tool(task = "optional")]
pub(crate) fn random(call: &Call, #[serde(default)] phase: Phase) -> Result<String> {
    phase.begin(call)?;
    let draw = || -> Result<[u8; 16]> {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes)?;
        Ok(bytes)
    };
    let drawn = draw()?;
    call.record("drawn", &drawn)?;
    let [go] = values(call, ["go"])?;
    assert_ne!(draw()?, drawn, "random numbers came twice");
    let same = call.recall("drawn").as_deref() == Some(&drawn);
    Ok(json!({"same": same, "answer": go}).to_string())
}

/// Reads the clocks before a question and after it
#[tool(task = "optional")]
pub(crate) fn clock(call: &Call, #[serde(default)] phase: Phase) -> Result<String> {
    phase.begin(call)?;
    let before = (SystemTime::now(), Instant::now());
    let read = format!("{before:?}");
    call.record("read", read.as_bytes())?;
    let [go] = values(call, ["go"])?;
    let after = (SystemTime::now(), Instant::now());
    let same = call.recall("read").as_deref() == Some(read.as_bytes());
    let ordered = after.0 >= before.0 && after.1 >= before.1;
    Ok(json!({"same": same, "ordered": ordered, "answer": go}).to_string())
}

/// Takes five steps, each once, and asks a question after the third
#[tool(task = "optional")]
pub(crate) fn steps(call: &Call, #[serde(default)] phase: Phase) -> Result<String> {
    phase.begin(call)?;
    let mut steps = Vec::new();
    let mut answer = None;
    for n in 0..5 {
        steps.push(call.step(&format!("checksum {n}"), || Ok(checksum(n)))?);
        if n == 2 {
            let [go] = values(call, ["go"])?;
            answer = Some(go);
        }
    }
    Ok(json!({"steps": steps, "answer": answer}).to_string())
}

/// FNV-1a, 32 bits, of a thousand bytes that depend on `seed`.
fn checksum(seed: u32) -> String {
    let bytes = (0..1000).map(|n| (seed + n) & 0xff);
    let hash = bytes.fold(0x811c_9dc5_u32, |hash, byte| {
        (hash ^ byte).wrapping_mul(0x0100_0193)
    });
    format!("{hash:08x}")
}
