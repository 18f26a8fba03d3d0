//! Where things lie on this machine. What needs a compiler or a package that may not be had here may
//! be missing; then whoever needs it is not measured.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;
use clap::Args;
use serde_json::json;

/// Programs, components and a folder.
#[derive(Args)]
pub(crate) struct Place {
    /// The server under test
    #[arg(long)]
    pub(crate) host: PathBuf,
    /// Components whose tools are called: the one that most is measured with
    #[arg(long)]
    pub(crate) probe: PathBuf,
    /// ... one that sleeps by WASI
    #[arg(long)]
    pub(crate) probe_wasi: PathBuf,
    /// ... one that speaks HTTP
    #[arg(long)]
    pub(crate) outbound: PathBuf,
    /// ... one with a large image of memory
    #[arg(long)]
    pub(crate) image: PathBuf,
    /// ... one in JavaScript on QuickJS
    #[arg(long)]
    pub(crate) echo_js: Option<PathBuf>,
    /// ... one in JavaScript on StarlingMonkey
    #[arg(long)]
    pub(crate) echo_js_web: Option<PathBuf>,
    /// ... and one in Python
    #[arg(long)]
    pub(crate) echo_python: Option<PathBuf>,
    /// The folder of the npm packages that peers/typescript pins
    #[arg(long)]
    pub(crate) typescript: Option<PathBuf>,
    /// A Python with the packages that peers/python pins
    #[arg(long)]
    pub(crate) python: Option<PathBuf>,
    /// Where data folders of the servers go; their disk counts
    #[arg(long)]
    pub(crate) data: PathBuf,
}

impl Place {
    /// The command that runs the host with the component `probe`.
    pub(crate) fn serve(&self, store: &str, data: &Path) -> Command {
        let mut command = self.host(store, data);
        command.arg(&self.probe);
        command
    }

    /// The command that runs the host with a component that may have these grants, in TOML.
    pub(crate) fn grant(
        &self,
        store: &str,
        data: &Path,
        component: &Path,
        grants: &str,
    ) -> Result<Command> {
        let config = data.join("cofferdam.toml");
        let path = json!(fs::canonicalize(component)?);
        fs::write(&config, format!("[[tools]]\npath = {path}\n{grants}"))?;
        let mut command = self.host(store, data);
        command.arg("--config").arg(config);
        Ok(command)
    }

    /// The command that runs the host, without components.
    pub(crate) fn host(&self, store: &str, data: &Path) -> Command {
        let mut command = Command::new(&self.host);
        command
            .arg("serve")
            .args(["--listen", "127.0.0.1:0", "--admin", "off"])
            .args(["--store", store, "--data"])
            .arg(data);
        // No task is swept while it is measured, so their number must not be the limit.
        command.args(["--set", "tasks.max=10000000"]);
        command.env("RUST_LOG", "warn");
        command
    }
}
