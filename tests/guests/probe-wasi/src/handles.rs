//! Memory of the host that a guest can take through WASI.

use cofferdam_guest::prelude::*;
use wasip2::clocks::monotonic_clock::subscribe_duration;
use wasip2::random::random::get_random_bytes;

/// Opens so many timers at once, and keeps them all.
#[tool]
pub fn pollables(count: u32) -> String {
    let held: Vec<_> = (0..count)
        .map(|_| subscribe_duration(3_600_000_000_000))
        .collect();
    held.len().to_string()
}

/// Asks for so many random bytes at once.
#[tool]
pub fn random(bytes: u64) -> String {
    get_random_bytes(bytes).len().to_string()
}
