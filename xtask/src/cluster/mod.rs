//! Several nodes on one PostgreSQL, behind nginx, to try out what they do together.
//!
//! All that is started ends with the command. The nodes' folders are in `target/cluster`, emptied at
//! each start; the database is as short-lived as the command.

mod node;

use std::ffi::OsString;
use std::fs::{self, File};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::Args;
use cofferdam_nginx::Nginx;
use cofferdam_postgres::Postgres;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::checkout::Checkout;
use crate::process::say;
use crate::{demo, guests, servers};
use node::{Addresses, Node};

/// For a shell: how to send requests.
const SHELL: &str = include_str!("mcp.sh");

#[derive(Args)]
pub(crate) struct Options {
    /// How many nodes
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..=16))]
    nodes: u16,
    /// The port of nginx
    #[arg(long, value_name = "N", default_value_t = 8080)]
    port: u16,
    /// Build the nodes as released
    #[arg(long)]
    release: bool,
    /// Build no nodes: run this program
    #[arg(long, value_name = "FILE", conflicts_with = "release")]
    server: Option<PathBuf>,
    /// What to serve, as for `cofferdam serve`; the examples, if left out
    #[arg(value_name = "PATH")]
    tools: Vec<PathBuf>,
}

/// What runs. It ends in this order.
struct Cluster {
    nginx: Nginx,
    nodes: Vec<(Node, Addresses)>,
    store: String,
    _postgres: Postgres,
}

/// Runs until it is told to stop.
pub(crate) fn run(checkout: &Checkout, options: &Options) -> Result<()> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, options.port))
        .with_context(|| format!("port {} is taken; name another with --port", options.port))?;
    for server in [servers::POSTGRES, servers::NGINX] {
        server.install(checkout)?;
    }
    let binary = match &options.server {
        Some(file) => file.clone(),
        None => demo::build_server(checkout, options.release)?,
    };
    let mut tools = options.tools.clone();
    if tools.is_empty() {
        guests::build(checkout, &demo::EXAMPLES)?;
        tools.extend(demo::EXAMPLES.map(|name| guests::file(checkout, name)));
    }

    let lock = File::create(checkout.target.join("cluster.lock"))?;
    lock.try_lock().context("another cluster runs")?;
    let folder = checkout.target.join("cluster");
    if folder.exists() {
        fs::remove_dir_all(&folder).with_context(|| folder.display().to_string())?;
    }
    fs::create_dir_all(&folder)?;
    fs::write(folder.join("mcp.sh"), SHELL)?;

    let mut signals = Signals::new([SIGINT, SIGTERM])?;
    let mut cluster = Cluster::start(&binary, &tools, &folder, options)?;
    cluster.show();
    if options.tools.is_empty() {
        cluster.show_what_to_try(&folder);
    }
    println!("\nCtrl-C ends it all.");
    signals.forever().next();
    say!("stopping");
    for (node, _) in &mut cluster.nodes {
        node.stop();
    }
    drop(cluster);
    Ok(())
}

impl Cluster {
    fn start(binary: &Path, tools: &[PathBuf], folder: &Path, options: &Options) -> Result<Self> {
        say!(
            "starting PostgreSQL, nginx and {} of the server",
            options.nodes
        );
        let postgres = Postgres::start();
        let store = postgres.database();
        // What is the same for all nodes.
        let mut same: Vec<OsString> = tools.iter().map(OsString::from).collect();
        same.extend(["--store".into(), store.clone().into()]);
        let nodes = (1..=options.nodes).map(|number| Node::start(binary, number, folder, &same));
        let nodes: Vec<Node> = nodes.collect::<Result<_>>()?;
        let nodes = nodes.into_iter().map(|mut node| {
            let addresses = node.listens()?;
            Ok((node, addresses))
        });
        let nodes: Vec<_> = nodes.collect::<Result<_>>()?;
        let upstreams = nodes.iter().map(|(_, node)| node.socket());
        let upstreams: Vec<SocketAddr> = upstreams.collect::<Result<_>>()?;
        let nginx = Nginx::start_on(options.port, &upstreams);
        Ok(Self {
            nginx,
            nodes,
            store,
            _postgres: postgres,
        })
    }

    fn url(&self) -> String {
        format!("{}/mcp", self.nginx.url())
    }

    fn show(&self) {
        println!("nginx   {}  pid {}", self.url(), self.nginx.pid());
        for (number, (node, Addresses { url, admin })) in self.nodes.iter().enumerate() {
            let (pid, log) = (node.pid(), node.log().display());
            println!(
                "node {}  {url}  admin {admin}  pid {pid}  log {log}",
                number + 1
            );
        }
        println!("psql '{}'", self.store);
    }

    /// A task that outlives the node that began it.
    fn show_what_to_try(&self, folder: &Path) {
        let shell = folder.join("mcp.sh");
        let (shell, all) = (shell.display(), self.url());
        let Some((first, Addresses { url, .. })) = self.nodes.first() else {
            return;
        };
        let pid = first.pid();
        println!(
            r#"
In another terminal:
  . {shell}
  # Node 1 begins a task, which asks what to draw.
  TASK=$(mcp {url} tools/call render '"name":"render"' | grep -o '"taskId":"[^"]*' | cut -d '"' -f 4)
  # Node 1 dies.
  kill -9 {pid}
  # Another node takes the answer, and draws when node 1's lease has ended (tasks.lease-ms).
  mcp {all} tasks/update $TASK '"taskId":"'$TASK'","inputResponses":{{"picture":{{
    "action":"accept","content":{{"scene":"julia","size":256,"palette":"fire"}}}}}}'
  mcp {all} tasks/get $TASK '"taskId":"'$TASK'"' | cut -c -300"#
        );
    }
}
