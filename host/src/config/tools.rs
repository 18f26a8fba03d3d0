//! `[[tools]]`: where components are, what their calls start with, and what their tasks are given.

use super::check::Place;
use super::{ConfigError, raw};
use crate::limits::{ATTEMPTS, RunLimits, TaskDefaults};
use crate::settings::Settings;

/// Least memory: one page.
pub(super) const PAGE: u64 = 65_536;
/// Least size of a result or a journal, as for the settings.
const LEAST_BYTES: u64 = 1_024;

impl Place<'_> {
    pub(super) fn prefix(&self, index: usize, prefix: &str) -> Result<(), ConfigError> {
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
        if prefix.len() > 64 || !prefix.bytes().all(fits) {
            let key = format!("tools[{index}].prefix");
            return self.bad(&key, "must be at most 64 of A-Z a-z 0-9 _ - .");
        }
        Ok(())
    }

    /// What the calls of a source start with: its own limits in place of the settings.
    pub(super) fn limits(
        &self,
        index: usize,
        raw: &raw::Limits,
        settings: &Settings,
    ) -> Result<RunLimits, ConfigError> {
        let sandbox = &settings.sandbox;
        let server = RunLimits::new(sandbox, &settings.tasks);
        let key = |name: &str| format!("tools[{index}].limits.{name}");
        let millis = |name: &str, own: Option<u64>, server: u64| {
            self.number(&key(name), own.unwrap_or(server), 1..=u64::MAX)
        };
        let bytes = |name: &str, own: Option<u64>, server: usize, range| {
            self.bytes(&key(name), own.unwrap_or(server as u64), range)
        };
        // Instances are made in slots that have room for the server's own settings.
        let memory = PAGE..=sandbox.memory_bytes as u64;
        let elements = 0..=sandbox.table_elements as u64;
        Ok(RunLimits {
            memory_bytes: bytes(
                "memory-bytes",
                raw.memory_bytes,
                server.memory_bytes,
                memory,
            )?,
            table_elements: bytes(
                "table-elements",
                raw.table_elements,
                server.table_elements,
                elements,
            )?,
            cpu_ms: millis("cpu-ms", raw.cpu_ms, server.cpu_ms)?,
            wall_ms: millis("wall-ms", raw.wall_ms, server.wall_ms)?,
            task_wall_ms: millis("task-wall-ms", raw.task_wall_ms, server.task_wall_ms)?,
            result_bytes: bytes(
                "result-bytes",
                raw.result_bytes,
                server.result_bytes,
                LEAST_BYTES..=u64::MAX,
            )?,
            journal_bytes: bytes(
                "journal-bytes",
                raw.journal_bytes,
                server.journal_bytes,
                LEAST_BYTES..=u64::MAX,
            )?,
        })
    }

    /// What the tasks of a source are given: its own options in place of the settings.
    pub(super) fn tasks(
        &self,
        index: usize,
        raw: &raw::TaskOptions,
        settings: &Settings,
    ) -> Result<TaskDefaults, ConfigError> {
        // What a client must be able to read as an exact number.
        const LARGEST: u64 = (1 << 53) - 1;
        let server = TaskDefaults::new(&settings.tasks);
        let number = |name: &str, own: Option<u64>, server: u64, range| {
            let key = format!("tools[{index}].tasks.{name}");
            self.number(&key, own.unwrap_or(server), range)
        };
        let attempts = number(
            "max-attempts",
            raw.max_attempts,
            server.max_attempts.into(),
            1..=ATTEMPTS.into(),
        )?;
        Ok(TaskDefaults {
            ttl_ms: number("ttl-ms", raw.ttl_ms, server.ttl_ms, 1..=LARGEST)?,
            poll_interval_ms: number(
                "poll-interval-ms",
                raw.poll_interval_ms,
                server.poll_interval_ms,
                1..=LARGEST,
            )?,
            detach_after_ms: raw.detach_after_ms,
            max_attempts: u32::try_from(attempts).unwrap_or(ATTEMPTS),
        })
    }
}
