//! From what the operator wrote, in `cofferdam.toml` and on the command line, to a checked
//! configuration, in one step.
//!
//! Invariant: a [`Config`] is complete, in range and consistent; an unknown key or a bad value never
//! gets past this folder, and its error names the file, the place and the key.

mod check;
mod raw;

pub use check::{Config, Source};

use crate::settings::SettingsError;
use std::path::PathBuf;

/// What was typed.
#[derive(Clone, Debug, Default)]
pub struct Arguments {
    /// `--config`.
    pub file: Option<PathBuf>,
    /// Components and folders of them, beside those of the file.
    pub paths: Vec<PathBuf>,
    /// `--listen`.
    pub listen: Option<String>,
    /// `--data`.
    pub data: Option<PathBuf>,
    /// `--store`.
    pub store: Option<String>,
    /// `--state-key`.
    pub state_key: Option<PathBuf>,
    /// `--set`.
    pub set: Vec<String>,
    /// `--allow-anonymous`.
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
    #[error("nothing to serve: name a component or a folder of them, or [[tools]] in --config")]
    NoTools,
}
