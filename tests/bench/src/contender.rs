//! Who is measured, and at what. The names are those of the report and of `--only`.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::load::Workload;
use crate::peers;
use crate::place::Place;

/// What every other figure is a ratio to: an HTTP server that parses the same message and answers.
pub(crate) const FLOOR: &str = "hyper";
/// The same tool, native, in the official Rust SDK.
pub(crate) const SDK: &str = "rmcp";
/// Who is compared with whom beside these two.
pub(crate) const PAIRS: [(&str, &str); 5] = [
    ("inline", "typescript"),
    ("inline", "python"),
    ("inline_js", "typescript"),
    ("inline_js_web", "typescript"),
    ("inline_python", "python"),
];

/// One server under one kind of load.
pub(crate) struct Contender {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    pub(crate) workload: Workload,
    /// So slow that it is measured at the first number of connections only, to bound the time, and is
    /// warmed up for longer: some compile what they find themselves running.
    pub(crate) is_slow: bool,
    server: Server,
}

enum Server {
    /// This program, as one of its peers.
    Peer(&'static str),
    /// An official SDK in another language.
    TypeScript,
    Python,
    /// The host, with this store and the component `probe`.
    Host(&'static str),
    /// The host, with nothing to store, and another component with these grants.
    Guest(fn(&Place) -> Option<&PathBuf>, &'static str),
}

impl Contender {
    const fn new(name: &'static str, about: &'static str, server: Server) -> Self {
        Self {
            name,
            about,
            workload: Workload::Call,
            is_slow: false,
            server,
        }
    }

    const fn tasks(mut self) -> Self {
        self.workload = Workload::Task;
        self
    }

    const fn slow(mut self) -> Self {
        self.is_slow = true;
        self
    }
}

/// All of them; each round measures in this order.
pub(crate) const ALL: [Contender; 11] = [
    Contender::new(
        FLOOR,
        "bare hyper, typed parse of the same call, fixed answer around its text",
        Server::Peer("hyper"),
    ),
    Contender::new(
        SDK,
        "rmcp, native tool, stateless, JSON answers",
        Server::Peer("rmcp"),
    ),
    Contender::new(
        "inline",
        "a call in a fresh sandboxed instance",
        Server::Host("memory:"),
    ),
    Contender::new(
        "inline_image",
        "the same, with an image of 1 MiB, of which 64 pages are read and 16 written",
        Server::Guest(|place| Some(&place.image), ""),
    ),
    Contender::new(
        "inline_js",
        "the same, in JavaScript on QuickJS",
        Server::Guest(|place| place.echo_js.as_ref(), ""),
    ),
    Contender::new(
        "inline_js_web",
        "the same, in JavaScript on StarlingMonkey",
        Server::Guest(
            |place| place.echo_js_web.as_ref(),
            // It imports `wasi:http`, and reaches nothing.
            "[tools.grants.http]\nhosts = []\n",
        ),
    )
    .slow(),
    Contender::new(
        "inline_python",
        "the same, in Python",
        Server::Guest(|place| place.echo_python.as_ref(), ""),
    )
    .slow(),
    Contender::new(
        "typescript",
        "the TypeScript SDK on Node.js, native tool, stateless, JSON answers, one process",
        Server::TypeScript,
    )
    .slow(),
    Contender::new(
        "python",
        "the Python SDK on uvicorn, native tool, stateless, JSON answers, one process",
        Server::Python,
    )
    .slow(),
    Contender::new(
        "task_memory",
        "a task from call to `completed`, store in memory",
        Server::Host("memory:"),
    )
    .tasks(),
    Contender::new(
        "task_sqlite",
        "a task from call to `completed`, durable in SQLite",
        Server::Host("sqlite"),
    )
    .tasks(),
];

impl Contender {
    /// Is what it needs on this machine?
    pub(crate) fn is_here(&self, place: &Place) -> bool {
        match self.server {
            Server::Peer(_) | Server::Host(_) => true,
            Server::TypeScript => place.typescript.is_some(),
            Server::Python => place.python.is_some(),
            Server::Guest(component, _) => component(place).is_some(),
        }
    }

    /// The command that serves it; `empty` is a folder for its data.
    pub(crate) fn command(&self, place: &Place, empty: &Path) -> Result<Command> {
        let missing = || format!("nothing to run {} with", self.name);
        match self.server {
            Server::Peer(name) => {
                let mut command = Command::new(env::current_exe()?);
                command.args(["serve", name]);
                Ok(command)
            }
            Server::TypeScript => {
                let packages = place.typescript.as_deref().with_context(missing)?;
                Ok(peers::typescript(packages))
            }
            Server::Python => {
                let python = place.python.as_deref().with_context(missing)?;
                Ok(peers::python(python))
            }
            Server::Host(store) => Ok(place.serve(store, empty)),
            Server::Guest(component, grants) => {
                let component = component(place).with_context(missing)?;
                // Compiling takes seconds and is not what is measured, so the next one finds its code.
                let data = place.data.join(self.name);
                fs::create_dir_all(&data)?;
                place.grant("memory:", &data, component, grants)
            }
        }
    }
}
