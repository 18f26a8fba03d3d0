//! From what the operator wrote, in `cofferdam.toml` and on the command line, to a checked
//! configuration, in one step.
//!
//! Invariant: a [`Config`] is complete, in range and consistent; an unknown key or a bad value never
//! gets past this folder, and its error names the file, the place and the key.

mod admin;
mod around;
mod auth;
mod check;
mod files;
mod grants;
mod raw;
mod stdio;
mod telemetry;
mod tenants;
mod tools;
mod webhooks;

pub use check::{Config, DataFolder, Location, STATE_KEY, Source, StateKeys};
pub use stdio::StdioArguments;

use crate::settings::SettingsError;
use clap::Args;
use std::path::PathBuf;

/// What was typed.
#[derive(Args, Clone, Debug, Default)]
pub struct Arguments {
    /// A .wasm component, a folder of them, or one in a registry (oci://HOST/REPOSITORY:TAG).
    #[arg(value_name = "PATH", required_unless_present = "config")]
    pub paths: Vec<PathBuf>,
    /// The configuration; what is said here goes over what it says.
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// The address to listen on. [default: 127.0.0.1:8080]
    #[arg(long)]
    pub listen: Option<String>,
    /// The address for the operator (/status, /metrics, /reload), or off. [default: 127.0.0.1:8081]
    #[arg(long, value_name = "ADDRESS|off")]
    pub admin: Option<String>,
    /// The folder for everything that must survive. [default: .cofferdam]
    #[arg(long)]
    pub data: Option<PathBuf>,
    /// Without `data`: the first folder in this one that no other process uses.
    #[arg(skip)]
    pub free_data: Option<PathBuf>,
    /// Where tasks are kept: sqlite (in the data folder), sqlite:PATH, memory: or the URL of a
    /// PostgreSQL database, postgres://USER:PASSWORD@HOST/DATABASE. [default: sqlite]
    #[arg(long)]
    pub store: Option<String>,
    /// The key that seals what clients keep between the requests of one call. Made if it is not
    /// there; servers that share it take each other's. [default: one in the database, if that is
    /// where tasks are kept, else request-state.key in the data folder]
    #[arg(long, value_name = "FILE")]
    pub state_key: Option<PathBuf>,
    /// A key that sealed it before, which opens it still. May be repeated.
    #[arg(long, value_name = "FILE")]
    pub old_state_key: Vec<PathBuf>,
    /// Change a setting, for example tasks.ttl-ms=60000. May be repeated.
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Listen on an address that others can reach without telling callers apart.
    #[arg(long)]
    pub allow_anonymous: bool,
}

/// Why a configuration was refused.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("cannot read {0}; name a file with --config")]
    Io(PathBuf, #[source] std::io::Error),
    /// It is no TOML, or has an unknown key, or a value of the wrong type.
    #[error("{file}: {reason}")]
    Malformed {
        /// The file.
        file: String,
        /// Where, and what.
        reason: String,
    },
    /// A value that does not fit.
    #[error("{place}: {reason}")]
    Value {
        /// The file and the key.
        place: String,
        /// What does not fit, and what would.
        reason: String,
    },
    /// A setting.
    #[error(transparent)]
    Setting(#[from] SettingsError),
    /// Nothing is served.
    #[error(
        "nothing to serve: name a component or a folder of them, or [[tools]] or [[files]] in --config"
    )]
    NoTools,
}
