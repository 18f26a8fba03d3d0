//! The heap of a guest on `wasm32-unknown-unknown`.
//!
//! The default allocator of that target grows memory for its first byte, and a host has to change
//! page protections for every growth, and again to take it back: for a short call that costs more
//! than the call. So this one begins with a heap that is part of the memory an instance starts
//! with, and grows only when that is used up. The allocator is the same (dlmalloc).
//!
//! A component is single-threaded, and that is what makes the `unsafe` below sound.
#![allow(unsafe_code, reason = "a global allocator is unsafe by its nature")]

use core::alloc::{GlobalAlloc, Layout};
use core::arch::wasm32::memory_grow;
use core::cell::{Cell, UnsafeCell};
use dlmalloc::{Allocator, Dlmalloc};

/// Heap that an instance has from the start, bytes. It is zero pages: it costs address space until
/// it is written to.
const INITIAL: usize = 256 << 10;
/// A page of wasm memory, bytes.
const PAGE: usize = 64 << 10;

#[repr(C, align(16))]
struct Arena(UnsafeCell<[u8; INITIAL]>);

// SAFETY: there is one thread.
unsafe impl Sync for Arena {}

static ARENA: Arena = Arena(UnsafeCell::new([0; INITIAL]));

/// Gives out the arena once, then pages beyond the end of memory.
struct Pages {
    arena_given: Cell<bool>,
}

// SAFETY: each region is given out once, is writable and zero, and is never taken back.
unsafe impl Allocator for Pages {
    fn alloc(&self, size: usize) -> (*mut u8, usize, u32) {
        if size <= INITIAL && !self.arena_given.replace(true) {
            return (ARENA.0.get().cast(), INITIAL, 0);
        }
        let pages = size.div_ceil(PAGE);
        match memory_grow::<0>(pages) {
            usize::MAX => (core::ptr::null_mut(), 0, 0),
            first => ((first * PAGE) as *mut u8, pages * PAGE, 0),
        }
    }

    fn remap(&self, _: *mut u8, _: usize, _: usize, _: bool) -> *mut u8 {
        core::ptr::null_mut()
    }

    fn free_part(&self, _: *mut u8, _: usize, _: usize) -> bool {
        false
    }

    fn free(&self, _: *mut u8, _: usize) -> bool {
        false
    }

    fn can_release_part(&self, _: u32) -> bool {
        false
    }

    fn allocates_zeros(&self) -> bool {
        true
    }

    fn page_size(&self) -> usize {
        PAGE
    }
}

struct Heap(UnsafeCell<Dlmalloc<Pages>>);

// SAFETY: there is one thread.
unsafe impl Sync for Heap {}

#[global_allocator]
static HEAP: Heap = Heap(UnsafeCell::new(Dlmalloc::new_with_allocator(Pages {
    arena_given: Cell::new(false),
})));

// SAFETY: there is one thread, and dlmalloc never calls back, so the borrow is the only one.
unsafe impl GlobalAlloc for Heap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        unsafe { (*self.0.get()).malloc(layout.size(), layout.align()) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        unsafe { (*self.0.get()).calloc(layout.size(), layout.align()) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        unsafe { (*self.0.get()).free(pointer, layout.size(), layout.align()) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        unsafe { (*self.0.get()).realloc(pointer, layout.size(), layout.align(), size) }
    }
}
