//! What the disk can do: one appender that makes each record durable. Durable servers are bound by
//! it, and it differs by orders of magnitude between machines and between minutes.

use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Result;

const RECORD: [u8; 4096] = [b'x'; 4096];

/// Records a second that `write` and `fdatasync` make durable, one by one.
pub(crate) fn syncs_per_second(folder: &Path, time: Duration) -> Result<f64> {
    let mut file = tempfile::tempfile_in(folder)?;
    let start = Instant::now();
    let mut records = 0_u32;
    while start.elapsed() < time {
        file.write_all(&RECORD)?;
        file.sync_data()?;
        records += 1;
    }
    Ok(f64::from(records) / start.elapsed().as_secs_f64())
}
