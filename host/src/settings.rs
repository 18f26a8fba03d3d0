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
        rule: &'static str,
        /// What it was.
        got: String,
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
        let at_least = |key, got: u64, least: u64, rule| {
            if got >= least {
                Ok(())
            } else {
                Err(SettingsError::OutOfRange {
                    key,
                    rule,
                    got: got.to_string(),
                })
            }
        };
        let (server, sandbox, tasks) = (&self.server, &self.sandbox, &self.tasks);
        at_least(
            "server.max-head-bytes",
            server.max_head_bytes as u64,
            8192,
            "at least 8192",
        )?;
        at_least(
            "server.max-body-bytes",
            server.max_body_bytes as u64,
            1024,
            "at least 1024",
        )?;
        at_least(
            "server.max-bodies-bytes",
            server.max_bodies_bytes as u64,
            server.max_body_bytes as u64,
            "at least server.max-body-bytes",
        )?;
        at_least(
            "server.max-connections",
            server.max_connections as u64,
            1,
            "at least 1",
        )?;
        at_least(
            "server.max-json-depth",
            server.max_json_depth as u64,
            8,
            "at least 8",
        )?;
        at_least(
            "server.max-json-values",
            server.max_json_values as u64,
            100,
            "at least 100",
        )?;
        at_least("server.page-size", server.page_size as u64, 1, "at least 1")?;
        at_least(
            "server.keep-alive-ms",
            server.keep_alive_ms,
            10,
            "at least 10",
        )?;
        at_least(
            "server.registry-poll-ms",
            server.registry_poll_ms,
            1_000,
            "at least 1000",
        )?;
        if server.max_json_depth > 120 {
            return Err(SettingsError::OutOfRange {
                key: "server.max-json-depth",
                rule: "at most 120",
                got: server.max_json_depth.to_string(),
            });
        }
        at_least(
            "sandbox.memory-bytes",
            sandbox.memory_bytes as u64,
            65536,
            "at least 65536",
        )?;
        if sandbox.memory_bytes as u64 > 1 << 32 {
            return Err(SettingsError::OutOfRange {
                key: "sandbox.memory-bytes",
                rule: "at most 4294967296",
                got: sandbox.memory_bytes.to_string(),
            });
        }
        at_least("sandbox.cpu-ms", sandbox.cpu_ms, 1, "at least 1")?;
        at_least("sandbox.wall-ms", sandbox.wall_ms, 1, "at least 1")?;
        at_least(
            "sandbox.task-wall-ms",
            sandbox.task_wall_ms,
            1,
            "at least 1",
        )?;
        at_least(
            "sandbox.result-bytes",
            sandbox.result_bytes as u64,
            1024,
            "at least 1024",
        )?;
        at_least(
            "sandbox.instances",
            u64::from(sandbox.instances),
            1,
            "at least 1",
        )?;
        at_least(
            "sandbox.compile-cpu-ms",
            sandbox.compile_cpu_ms,
            1,
            "at least 1",
        )?;
        at_least(
            "sandbox.compile-wall-ms",
            sandbox.compile_wall_ms,
            1,
            "at least 1",
        )?;
        at_least(
            "sandbox.compile-memory-bytes",
            sandbox.compile_memory_bytes,
            64 << 20,
            "at least 67108864",
        )?;
        at_least("tasks.ttl-ms", tasks.ttl_ms, 1, "at least 1")?;
        at_least(
            "tasks.poll-interval-ms",
            tasks.poll_interval_ms,
            1,
            "at least 1",
        )?;
        at_least("tasks.sweep-ms", tasks.sweep_ms, 10, "at least 10")?;
        at_least(
            "tasks.journal-bytes",
            tasks.journal_bytes as u64,
            1024,
            "at least 1024",
        )?;
        at_least("tasks.lease-ms", tasks.lease_ms, 1_000, "at least 1000")?;
        at_least("tasks.answer-ms", tasks.answer_ms, 1, "at least 1")?;
        Ok(())
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
            ("tasks.ttl-ms=0", "tasks.ttl-ms"),
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
