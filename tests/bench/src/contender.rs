//! Who is measured, and at what. The names are those of the report and of `--only`.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;
use clap::Args;

use crate::load::Workload;

/// What every other figure is a ratio to: an HTTP server that parses the same message and answers.
pub(crate) const FLOOR: &str = "hyper";
/// The same tool, native, in the official Rust SDK.
pub(crate) const SDK: &str = "rmcp";

/// One server under one kind of load.
pub(crate) struct Contender {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    pub(crate) workload: Workload,
    server: Server,
}

enum Server {
    /// This program, as one of its peers.
    Peer(&'static str),
    /// The host, with this store.
    Host(&'static str),
}

/// Where things lie on this machine.
#[derive(Args)]
pub(crate) struct Place {
    /// The server under test
    #[arg(long)]
    pub(crate) host: PathBuf,
    /// Components whose tools are called: the one that most is measured with
    #[arg(long)]
    pub(crate) probe: PathBuf,
    /// ... one with WASI
    #[arg(long)]
    pub(crate) probe_wasi: PathBuf,
    /// ... one that speaks HTTP
    #[arg(long)]
    pub(crate) outbound: PathBuf,
    /// ... one in JavaScript on QuickJS
    #[arg(long)]
    pub(crate) js: PathBuf,
    /// ... one in JavaScript on StarlingMonkey
    #[arg(long)]
    pub(crate) js_web: PathBuf,
    /// ... and one in Python
    #[arg(long)]
    pub(crate) python: PathBuf,
    /// Where data folders of the servers go; their disk counts
    #[arg(long)]
    pub(crate) data: PathBuf,
}

/// All of them; each round measures in this order.
pub(crate) const ALL: [Contender; 5] = [
    Contender {
        name: FLOOR,
        about: "bare hyper, typed parse of the same call, fixed answer around its text",
        workload: Workload::Call,
        server: Server::Peer("hyper"),
    },
    Contender {
        name: SDK,
        about: "rmcp, native tool, stateless, JSON answers",
        workload: Workload::Call,
        server: Server::Peer("rmcp"),
    },
    Contender {
        name: "inline",
        about: "a call in a fresh sandboxed instance",
        workload: Workload::Call,
        server: Server::Host("memory:"),
    },
    Contender {
        name: "task_memory",
        about: "a task from call to `completed`, store in memory",
        workload: Workload::Task,
        server: Server::Host("memory:"),
    },
    Contender {
        name: "task_sqlite",
        about: "a task from call to `completed`, durable in SQLite",
        workload: Workload::Task,
        server: Server::Host("sqlite"),
    },
];

impl Contender {
    /// The command that serves it; `data` is an empty folder.
    pub(crate) fn command(&self, place: &Place, data: &Path) -> Result<Command> {
        match self.server {
            Server::Peer(name) => {
                let mut command = Command::new(env::current_exe()?);
                command.args(["serve", name]);
                Ok(command)
            }
            Server::Host(store) => Ok(place.serve(store, data)),
        }
    }
}

impl Place {
    /// The command that runs the host with the component `probe`.
    pub(crate) fn serve(&self, store: &str, data: &Path) -> Command {
        let mut command = self.host(store, data);
        command.arg(&self.probe);
        command
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
