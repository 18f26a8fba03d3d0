//! Memory that this instance never wrote to: it must be as empty as on the first day.
//!
//! The one place of the component with `unsafe`: it reads and writes addresses that Rust knows nothing
//! of, of which none belongs to an object.
#![cfg_attr(target_arch = "wasm32", allow(unsafe_code))]

use std::hint::black_box;

const PAGE: usize = 65_536;
/// Pages that are taken for a look.
const PAGES: usize = 64;
/// Where the stack is only when a call goes deep: it is the first MiB, and grows down.
const DEEP: std::ops::Range<usize> = 240 << 10..300 << 10;

/// Looks at new pages and at the depth of the stack, and writes there what the next instance should not
/// find. Gives what was there before, and whether a second look finds what was written.
pub fn look_and_leave() -> (Vec<&'static str>, bool) {
    let Some(heap) = grow() else {
        return (vec!["no memory to look at"], false);
    };
    let places = [("the heap", heap), ("the stack", DEEP)];
    let found = |place: &(&'static str, std::ops::Range<usize>)| written(place.1.clone());
    let before = places.iter().filter(|place| found(place));
    let before = before.map(|(name, _)| *name).collect();
    fill(places[0].1.clone());
    dig();
    (before, places.iter().all(found))
}

/// Calls itself until all of `DEEP` is written to.
fn dig() -> u8 {
    let frame = black_box([0xab_u8; 1_024]);
    let here = frame.as_ptr() as usize;
    let below = if here > DEEP.start { dig() } else { 0 };
    black_box(frame)[here % 1_024] ^ below
}

#[cfg(target_arch = "wasm32")]
fn grow() -> Option<std::ops::Range<usize>> {
    let first = core::arch::wasm32::memory_grow::<0>(PAGES);
    let first = first.checked_mul(PAGE)?;
    Some(first..first + PAGES * PAGE)
}

#[cfg(target_arch = "wasm32")]
fn written(place: std::ops::Range<usize>) -> bool {
    // SAFETY: the addresses are inside the memory, and nobody writes there meanwhile.
    place
        .map(|address| unsafe { (address as *const u8).read_volatile() })
        .any(|byte| byte != 0)
}

#[cfg(target_arch = "wasm32")]
fn fill(place: std::ops::Range<usize>) {
    for address in place {
        // SAFETY: the pages were taken by `grow`, and nothing else lies there.
        unsafe { (address as *mut u8).write_volatile(0xab) };
    }
}

#[cfg(not(target_arch = "wasm32"))]
fn grow() -> Option<std::ops::Range<usize>> {
    // Only a sandbox has memory that can be looked at.
    let _ = (PAGE, PAGES);
    None
}

#[cfg(not(target_arch = "wasm32"))]
fn written(_place: std::ops::Range<usize>) -> bool {
    false
}

#[cfg(not(target_arch = "wasm32"))]
fn fill(_place: std::ops::Range<usize>) {}
