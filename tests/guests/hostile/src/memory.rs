//! Tools that take memory of their own without end.

use cofferdam_guest::prelude::*;
use std::hint::black_box;

/// Takes memory in steps of so many bytes, and uses it, until there is no more; then takes more.
#[tool]
pub fn swell(step: usize) -> String {
    let mut taken = Vec::new();
    loop {
        taken.push(black_box(vec![7_u8; step]));
    }
}

/// Which stack to use up.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Stack {
    /// The one in linear memory, where whatever has an address lies.
    Memory,
    /// The one that the host keeps for calls.
    Calls,
}

/// Calls itself so often.
#[tool]
pub fn recurse(stack: Stack, depth: u64) -> String {
    let end = match stack {
        Stack::Memory => wide(depth),
        Stack::Calls => narrow(depth),
    };
    end.to_string()
}

fn wide(depth: u64) -> u64 {
    let frame = black_box([depth; 64]);
    if depth == 0 {
        return frame[0];
    }
    black_box(wide(frame[1] - 1)) + frame[2]
}

#[inline(never)]
fn narrow(depth: u64) -> u64 {
    if depth == 0 {
        return 0;
    }
    narrow(depth - 1).rotate_left(5) ^ depth
}
