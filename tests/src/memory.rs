//! The memory of a process, as the kernel counts it: what it holds now, and the most it held since the
//! peak was last forgotten.

use std::fs;

/// Bytes in a MiB.
const MIB: u64 = 1 << 20;

/// Resident memory of a process.
#[derive(Debug, Clone, Copy)]
pub struct Memory {
    /// Bytes now (`VmRSS`).
    pub now: u64,
    /// Most bytes since the peak was forgotten (`VmHWM`).
    pub peak: u64,
}

impl Memory {
    /// Of the process with this id.
    ///
    /// # Panics
    /// If there is no such process.
    pub fn of(pid: u32) -> Self {
        let path = format!("/proc/{pid}/status");
        let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
        let bytes = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name));
            let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
            kib.unwrap_or_else(|| panic!("no {name} in {path}: {text}")) << 10
        };
        Self {
            now: bytes("VmRSS:"),
            peak: bytes("VmHWM:"),
        }
    }

    /// Forgets the peak: it is what the process holds now.
    ///
    /// # Panics
    /// If the kernel does not let us.
    pub fn forget_peak(pid: u32) {
        let path = format!("/proc/{pid}/clear_refs");
        fs::write(&path, "5").unwrap_or_else(|error| panic!("{path}: {error}"));
    }
}

/// Whole MiB, rounded up.
pub(crate) fn mib(bytes: u64) -> u64 {
    bytes.div_ceil(MIB)
}
