//! What the fuzz targets share: a server with three small tools, and a measure of memory.
//!
//! Invariant: an input is judged by itself. Whatever it changes belongs to a server that goes with it.

pub mod memory;
pub mod tools;
pub mod world;
