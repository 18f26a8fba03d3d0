//! What goes wrong in guests, and what costs a host.

use cofferdam_guest::log;
use cofferdam_guest::prelude::*;
use std::hint::black_box;

pub fn trap() -> ! {
    #[cfg(target_arch = "wasm32")]
    core::arch::wasm32::unreachable();
    #[cfg(not(target_arch = "wasm32"))]
    std::process::abort()
}

pub fn spin() -> ! {
    loop {
        black_box(());
    }
}

#[allow(unconditional_recursion)]
pub fn overflow(depth: u64) -> u64 {
    let frame = black_box([depth; 64]);
    frame[0] + black_box(overflow(frame[1] + 1))
}

pub fn fill(bytes: usize) -> usize {
    black_box(vec![7_u8; bytes]).len()
}

/// Takes memory at once, and uses it.
#[tool]
pub fn allocate(bytes: usize) -> String {
    fill(bytes).to_string()
}

/// Takes memory, a MiB at a time, until it is refused, and says how many it got.
#[tool]
pub fn grow() -> String {
    let mut taken: Vec<Vec<u8>> = Vec::with_capacity(1 << 14);
    loop {
        let mut more = Vec::new();
        if more.try_reserve_exact(1 << 20).is_err() {
            return taken.len().to_string();
        }
        more.resize(1 << 20, 7);
        taken.push(black_box(more));
    }
}

/// Returns a text of so many bytes.
#[tool]
pub fn large(bytes: usize) -> String {
    "x".repeat(bytes)
}

/// Writes one log line of so many bytes.
#[tool(name = "large-log")]
pub fn large_log(bytes: usize) {
    log::error("x".repeat(bytes));
}
