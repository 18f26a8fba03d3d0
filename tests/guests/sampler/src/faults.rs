//! What goes wrong in guests.

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

pub fn overflow(depth: u64) -> u64 {
    let frame = black_box([depth; 64]);
    frame[0] + black_box(overflow(frame[1] + 1))
}

fn filled(bytes: usize) -> Vec<u8> {
    black_box(vec![7; bytes])
}

/// Takes memory, and uses it.
#[tool]
pub fn allocate(bytes: usize) -> String {
    filled(bytes).len().to_string()
}

/// Returns a text of so many bytes.
#[tool]
pub fn large(bytes: usize) -> String {
    "x".repeat(bytes)
}
