//! A tool with an image of 1 MiB in its memory, as an engine of a language has it: a call reads some
//! of its pages and writes others.
//!
//! Invariant: a call is answered only if it finds the whole image as it was made, so an instance that
//! another call has used is told from a fresh one.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use cofferdam_guest::prelude::*;

cofferdam_guest::export!(echo);

/// Pages as the server's machine has them, of 4 KiB.
const PAGES: usize = 256;
const WORDS: usize = 512;
const READ: usize = 64;
const WRITTEN: usize = 16;

/// Every word tells its place, counted from 1: none is zero, so all of it lies in the component.
static IMAGE: [AtomicU64; PAGES * WORDS] = {
    let mut image = [const { AtomicU64::new(0) }; PAGES * WORDS];
    let mut word = 0;
    while word < image.len() {
        image[word] = AtomicU64::new(word as u64 + 1);
        word += 1;
    }
    image
};

/// Answers with its text, after reading 64 pages and writing 16.
#[tool(read_only)]
fn echo(text: String) -> Result<String> {
    let read = |page: usize| (page * WORDS, IMAGE[page * WORDS].load(Relaxed));
    let write = |page: usize| (page * WORDS, IMAGE[page * WORDS].swap(0, Relaxed));
    let read = (0..PAGES).step_by(PAGES / READ).map(read);
    // Pages that are not read.
    let written = (1..PAGES).step_by(PAGES / WRITTEN).map(write);
    for (word, found) in read.chain(written) {
        if found != word as u64 + 1 {
            return Err(Error::tool("another call was here"));
        }
    }
    Ok(text)
}
