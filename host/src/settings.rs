//! From what the operator typed to checked settings, in one step.
//!
//! Invariant: a `Settings` value is complete and in range; an unknown key or a bad value never
//! gets past this module, and its error names the key.

use crate::limits::{SandboxLimits, ServerLimits, TaskLimits};
use serde::{Deserialize, Serialize};
use toml::{Table, Value};

/// Checked settings of a server.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Settings {
    /// The HTTP side.
    pub server: ServerLimits,
    /// One call's sandbox.
    pub sandbox: SandboxLimits,
    /// Tasks.
    pub tasks: TaskLimits,
}

/// Why settings were refused.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// The text is not `KEY=VALUE`.
    #[error("--set {0}: expected KEY=VALUE, for example tasks.ttl-ms=60000")]
    NotAnAssignment(String),
    /// An unknown key or a value of the wrong type.
    #[error("--set {assignment}: {reason}")]
    Unknown {
        /// What the operator typed.
        assignment: String,
        /// Which key, and what it takes.
        reason: String,
    },
    /// A value out of range.
    #[error("{key}: must be {rule}, got {got}")]
    OutOfRange {
        /// The setting.
        key: &'static str,
        /// What it must be.
        rule: String,
        /// What it was.
        got: u64,
    },
}

impl Settings {
    /// Defaults, changed by `KEY=VALUE` assignments. A value is read as TOML; what is not TOML is a
    /// string.
    ///
    /// # Errors
    /// An assignment without `=`, an unknown key, a value of the wrong type or out of range.
    pub fn from_assignments(assignments: &[String]) -> Result<Self, SettingsError> {
        Self::default().with_assignments(assignments)
    }

    /// These, changed by assignments, and checked.
    ///
    /// # Errors
    /// As [`Settings::from_assignments`].
    pub fn with_assignments(self, assignments: &[String]) -> Result<Self, SettingsError> {
        let mut table = Table::try_from(&self).map_err(|error| SettingsError::Unknown {
            assignment: String::new(),
            reason: error.to_string(),
        })?;
        let read = |table: Table, assignment: &str| {
            Value::Table(table)
                .try_into()
                .map_err(|error: toml::de::Error| {
                    let reason = error.message().to_owned();
                    SettingsError::Unknown {
                        assignment: assignment.to_owned(),
                        reason,
                    }
                })
        };
        for assignment in assignments {
            let (key, value) = assignment
                .split_once('=')
                .filter(|(key, _)| !key.trim().is_empty())
                .ok_or_else(|| SettingsError::NotAnAssignment(assignment.clone()))?;
            let path: Vec<&str> = key.trim().splitn(3, '.').collect();
            let value = parse(value.trim());
            // Alone first, so that an error names the one assignment that is wrong.
            let mut alone = Table::new();
            insert(&mut alone, &path, value.clone());
            let _: Self = read(alone, assignment)?;
            insert(&mut table, &path, value);
        }
        let settings: Self = read(table, "")?;
        settings.check()?;
        Ok(settings)
    }

    /// Looks at the ranges.
    ///
    /// # Errors
    /// [`SettingsError::OutOfRange`].
    pub fn check(&self) -> Result<(), SettingsError> {
        let (server, sandbox, tasks) = (&self.server, &self.sandbox, &self.tasks);
        let at_least = |least: u64| (least..=u64::MAX, format!("at least {least}"));
        let at_most = |most: u64| (0..=most, format!("at most {most}"));
        let ranges = [
            (
                "server.max-head-bytes",
                server.max_head_bytes as u64,
                at_least(8_192),
            ),
            (
                "server.max-body-bytes",
                server.max_body_bytes as u64,
                at_least(1_024),
            ),
            (
                "server.max-connections",
                server.max_connections as u64,
                at_least(1),
            ),
            (
                "server.max-json-depth",
                server.max_json_depth as u64,
                at_least(8),
            ),
            (
                "server.max-json-depth",
                server.max_json_depth as u64,
                at_most(120),
            ),
            (
                "server.max-json-values",
                server.max_json_values as u64,
                at_least(100),
            ),
            ("server.page-size", server.page_size as u64, at_least(1)),
            ("server.keep-alive-ms", server.keep_alive_ms, at_least(10)),
            (
                "server.registry-poll-ms",
                server.registry_poll_ms,
                at_least(1_000),
            ),
            (
                "sandbox.memory-bytes",
                sandbox.memory_bytes as u64,
                at_least(65_536),
            ),
            (
                "sandbox.memory-bytes",
                sandbox.memory_bytes as u64,
                at_most(1 << 32),
            ),
            ("sandbox.cpu-ms", sandbox.cpu_ms, at_least(1)),
            ("sandbox.wall-ms", sandbox.wall_ms, at_least(1)),
            ("sandbox.task-wall-ms", sandbox.task_wall_ms, at_least(1)),
            (
                "sandbox.result-bytes",
                sandbox.result_bytes as u64,
                at_least(1_024),
            ),
            (
                "sandbox.instances",
                u64::from(sandbox.instances),
                at_least(1),
            ),
            (
                "sandbox.compile-cpu-ms",
                sandbox.compile_cpu_ms,
                at_least(1),
            ),
            (
                "sandbox.compile-wall-ms",
                sandbox.compile_wall_ms,
                at_least(1),
            ),
            (
                "sandbox.compile-memory-bytes",
                sandbox.compile_memory_bytes,
                at_least(64 << 20),
            ),
            ("tasks.ttl-ms", tasks.ttl_ms, at_least(1)),
            (
                "tasks.poll-interval-ms",
                tasks.poll_interval_ms,
                at_least(1),
            ),
            ("tasks.get-wait-ms", tasks.get_wait_ms, at_most(30_000)),
            ("tasks.sweep-ms", tasks.sweep_ms, at_least(10)),
            (
                "tasks.journal-bytes",
                tasks.journal_bytes as u64,
                at_least(1_024),
            ),
            ("tasks.lease-ms", tasks.lease_ms, at_least(1_000)),
            ("tasks.answer-ms", tasks.answer_ms, at_least(1)),
            (
                "server.max-bodies-bytes",
                server.max_bodies_bytes as u64,
                (
                    server.max_body_bytes as u64..=u64::MAX,
                    "at least server.max-body-bytes".to_owned(),
                ),
            ),
        ];
        let wrong = ranges
            .into_iter()
            .find(|(_, got, (range, _))| !range.contains(got));
        match wrong {
            None => Ok(()),
            Some((key, got, (_, rule))) => Err(SettingsError::OutOfRange { key, rule, got }),
        }
    }
}

/// Settings names have two parts, but the third part of a per-tool setting may hold dots itself.
/// A value gives way to a group of the same name.
fn insert(table: &mut Table, path: &[&str], value: Value) {
    match path {
        [] => {}
        [last] => {
            table.insert((*last).to_owned(), value);
        }
        [first, rest @ ..] => {
            let mut group = match table.remove(*first) {
                Some(Value::Table(group)) => group,
                _ => Table::new(),
            };
            insert(&mut group, rest, value);
            table.insert((*first).to_owned(), Value::Table(group));
        }
    }
}

fn parse(value: &str) -> Value {
    toml::from_str::<Table>(&format!("value = {value}"))
        .ok()
        .and_then(|mut table| table.remove("value"))
        .unwrap_or_else(|| Value::String(value.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(assignments: &[&str]) -> Result<Settings, String> {
        let assignments: Vec<String> = assignments.iter().map(|&a| a.to_owned()).collect();
        Settings::from_assignments(&assignments).map_err(|error| error.to_string())
    }

    #[test]
    fn values_of_each_type() {
        let settings = settings(&[
            "tasks.max=7",
            "tasks.enabled=false",
            "server.allowed-origins=[\"https://a.example\"]",
            "tasks.detach-after-ms.my.tool=250",
        ])
        .unwrap();
        assert_eq!(settings.tasks.max, 7);
        assert!(!settings.tasks.enabled);
        assert_eq!(settings.server.allowed_origins, ["https://a.example"]);
        assert_eq!(settings.tasks.detach_after_ms["my.tool"], 250);
        assert_eq!(settings.tasks.ttl_ms, 600_000);
    }

    #[test]
    fn refusals_name_the_key() {
        for (assignment, named) in [
            ("tasks.maxx=7", "maxx"),
            ("nonsense.x=7", "nonsense"),
            ("tasks.max=many", "max"),
            ("tasks.max=-1", "max"),
            ("tasks.ttl-ms=0", "tasks.ttl-ms: must be at least 1, got 0"),
            ("tasks.get-wait-ms=30001", "at most 30000"),
            ("server.max-json-depth=121", "at most 120"),
            (
                "server.max-bodies-bytes=1",
                "at least server.max-body-bytes",
            ),
            ("server.max-head-bytes=1", "server.max-head-bytes"),
            ("tasks", "KEY=VALUE"),
            ("=3", "KEY=VALUE"),
        ] {
            let error = settings(&[assignment]).unwrap_err();
            assert!(error.contains(named), "{assignment}: {error}");
        }
        let error = settings(&["tasks.max=1", "tasks.max.x=1"]).unwrap_err();
        assert!(error.contains("--set tasks.max.x=1"), "{error}");
    }
}
