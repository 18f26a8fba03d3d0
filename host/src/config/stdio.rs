//! What was typed for a server on standard input and output.
//!
//! Invariant: it starts wherever a client starts it, as often as clients do: each process has a data
//! folder of its own, and the next one finds what the last one left.

use super::Arguments;
use clap::Args;
use std::env;
use std::path::{Path, PathBuf};

/// What was typed.
#[derive(Args, Clone, Debug, Default)]
pub struct StdioArguments {
    /// A .wasm component, a folder of them, or one in a registry (oci://HOST/REPOSITORY:TAG).
    #[arg(value_name = "PATH", required_unless_present = "config")]
    pub paths: Vec<PathBuf>,
    /// The configuration; what is said here goes over what it says.
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// The address for the operator (/status, /metrics, /reload), or off. [default: off]
    #[arg(long, value_name = "ADDRESS|off")]
    pub admin: Option<String>,
    /// The folder for everything that must survive; one process at a time uses it. [default: the first
    /// free one of this user's for these tools, in $XDG_STATE_HOME/cofferdam/stdio]
    #[arg(long)]
    pub data: Option<PathBuf>,
    /// Where tasks are kept, as for serve. [default: sqlite]
    #[arg(long)]
    pub store: Option<String>,
    /// Change a setting, for example tasks.ttl-ms=60000. May be repeated.
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
}

impl From<StdioArguments> for Arguments {
    fn from(typed: StdioArguments) -> Self {
        let free_data = folder(&typed);
        Self {
            paths: typed.paths,
            config: typed.config,
            // The one of serve may run beside.
            admin: typed.admin.or_else(|| Some("off".to_owned())),
            data: typed.data,
            free_data: Some(free_data),
            store: typed.store,
            set: typed.set,
            ..Self::default()
        }
    }
}

/// Where processes for the same tools keep what must survive.
fn folder(typed: &StdioArguments) -> PathBuf {
    let mut tools = blake3::Hasher::new();
    for path in typed.paths.iter().chain(&typed.config) {
        // Named in another way, or from another folder, they are the same.
        let path = path.canonicalize().unwrap_or_else(|_| path.clone());
        tools.update(path.as_os_str().as_encoded_bytes());
        tools.update(&[0]);
    }
    let tools = &tools.finalize().to_hex()[..16];
    state_folder().join("cofferdam/stdio").join(tools)
}

/// The XDG base directory of a user's state, or a temporary one for who has no home.
fn state_folder() -> PathBuf {
    let named = |name| env::var_os(name).map(PathBuf::from);
    let absolute = |path: &PathBuf| path.is_absolute();
    let state = named("XDG_STATE_HOME").filter(absolute);
    let home = || {
        Some(
            named("HOME")
                .filter(absolute)?
                .join(Path::new(".local/state")),
        )
    };
    state.or_else(home).unwrap_or_else(env::temp_dir)
}
