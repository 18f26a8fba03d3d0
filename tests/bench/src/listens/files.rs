//! How many files may be open: each connection is one, here and in the server, which inherits the limit.

use anyhow::{Context, Result};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Files that are no connections.
const OTHERS: u64 = 200;

/// Raises the limit so far that there may be this many connections.
pub(super) fn allow(connections: usize) -> Result<()> {
    let wanted = connections as u64 + OTHERS;
    let now = getrlimit(Resource::Nofile);
    let is_enough = |limit: Option<u64>| limit.is_none_or(|limit| limit >= wanted);
    if is_enough(now.current) {
        return Ok(());
    }
    // More than the hard limit takes the right to raise that.
    let maximum = if is_enough(now.maximum) {
        now.maximum
    } else {
        Some(wanted)
    };
    let raised = Rlimit {
        current: Some(wanted),
        maximum,
    };
    setrlimit(Resource::Nofile, raised)
        .with_context(|| format!("{connections} connections need {wanted} open files (ulimit -n)"))
}
