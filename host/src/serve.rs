//! `cofferdam serve` and `cofferdam stdio`: a server that runs until it is told to stop.
//!
//! Invariant: everything that can be refused is refused before the endpoint is bound, with an
//! error that says what to do.

use crate::admin::AdminServer;
use crate::builder::{ReadyServer, ServerBuilder};
use crate::catalog::Look;
use crate::config::Config;
use crate::rehearse::Death;
use crate::runtime::Compiler;
use crate::server::Server;
use crate::transport::{HttpTransport, StdioTransport};
use anyhow::{Context as _, Result, bail};
use std::io::Write as _;
use std::sync::Arc;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Serves over HTTP until SIGTERM or SIGINT, with components that are compiled where `compiler` says.
///
/// # Errors
/// Anything that keeps the server from starting.
pub async fn serve(config: Config, compiler: Compiler, rehearse: Option<Death>) -> Result<()> {
    let (listen, allow_anonymous) = (config.listen.clone(), config.allow_anonymous);
    let Prepared {
        ready,
        signals,
        admin,
    } = Prepared::new(config, compiler, rehearse).await?;
    let server = Arc::clone(ready.server());
    let transport = HttpTransport::bind(&listen).await?;
    if !transport.is_loopback() && !server.auth().is_some() {
        if !allow_anonymous {
            bail!(
                "{listen} can be reached from elsewhere, and callers are not authenticated: listen \
                 on a loopback address, configure [auth], or use --allow-anonymous"
            );
        }
        tracing::warn!(
            "anyone who reaches {} can call every tool: callers are not authenticated",
            transport.url()
        );
    }
    resume(&ready).await?;
    let (url, serving) = (transport.url(), serving(&server));
    let mut announcement = format!("listening on {url} ({serving})\n");
    if let Some(admin) = &admin {
        let url = admin.url();
        announcement += &format!("admin on {url}\nconsole on {url}/console\n");
    }
    let admin = admin.map(|admin| admin.serve(Arc::clone(&server)));
    let admin = admin.transpose()?;
    // At once: who reads the first line may read no other.
    std::io::stdout()
        .write_all(announcement.as_bytes())
        .context("cannot write to standard output")?;
    // A rehearsed server dies at a write of the sweep, too: whoever started it must know it by then.
    let running = ready.start();
    signals.follow(&server);
    transport.serve(server).await;
    drop(admin);
    running.stop().await;
    Ok(())
}

/// Serves one client on standard input and output, until it closes its end, or SIGTERM or SIGINT.
///
/// # Errors
/// Anything that keeps the server from starting.
pub async fn stdio(config: Config, compiler: Compiler) -> Result<()> {
    if config.auth.is_some() {
        bail!(
            "[auth] is for servers that clients connect to: on standard input there is one client, \
             whoever starts the server; remove [auth], or use cofferdam serve"
        );
    }
    let Prepared {
        ready,
        signals,
        admin,
    } = Prepared::new(config, compiler, None).await?;
    let server = Arc::clone(ready.server());
    resume(&ready).await?;
    // Standard output is the client's.
    tracing::info!("serving on standard input ({})", serving(&server));
    if let Some(admin) = &admin {
        tracing::info!("admin on {}", admin.url());
    }
    let admin = admin.map(|admin| admin.serve(Arc::clone(&server)));
    let admin = admin.transpose()?;
    let running = ready.start();
    signals.follow(&server);
    let served = StdioTransport::serve(server).await;
    drop(admin);
    running.stop().await;
    served.context("cannot serve on standard input")
}

/// A server that waits for its transport.
struct Prepared {
    ready: ReadyServer,
    signals: Signals,
    /// Bound, and not served yet.
    admin: Option<AdminServer>,
}

impl Prepared {
    async fn new(mut config: Config, compiler: Compiler, rehearse: Option<Death>) -> Result<Self> {
        let admin = config.admin.take();
        let builder = ServerBuilder::new(config).compiler(compiler);
        let ready = builder.rehearse(rehearse).build().await?;
        let signals = Signals::watch()?;
        let admin = match admin {
            Some(options) => Some(AdminServer::bind(options).await?),
            None => None,
        };
        Ok(Self {
            ready,
            signals,
            admin,
        })
    }
}

async fn resume(ready: &ReadyServer) -> Result<()> {
    let resumed = ready.resume().await;
    let resumed = resumed.context("cannot look for unfinished tasks")?;
    if resumed > 0 {
        tracing::info!("{resumed} unfinished tasks go on");
    }
    Ok(())
}

fn serving(server: &Server) -> String {
    let now = server.catalog().now();
    let number = |of: usize, what: &str| match of {
        1 => format!("1 {what}"),
        more => format!("{more} {what}s"),
    };
    let offers = [
        (now.tools().count(), "tool"),
        (now.prompts().count(), "prompt"),
        (
            now.resources().count() + now.templates().count(),
            "resource",
        ),
    ];
    let mut told: Vec<_> = offers.into_iter().filter(|(of, _)| *of > 0).collect();
    if told.is_empty() {
        told.push((0, "tool"));
    }
    let told: Vec<_> = told
        .into_iter()
        .map(|(of, what)| number(of, what))
        .collect();
    let components = number(now.components().len(), "component");
    let components = format!("{} from {components}", told.join(", "));
    let shelves = now.shelves();
    if shelves.is_empty() {
        return components;
    }
    let files = shelves.iter().map(|shelf| shelf.len()).sum();
    let (files, folders) = (number(files, "file"), number(shelves.len(), "folder"));
    let files = format!("{files} from {folders}");
    match now.components().is_empty() {
        true => files,
        false => format!("{components}, {files}"),
    }
}

/// The signals that a server listens to. Watched before anyone can know that it runs, so that none is
/// lost.
struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hangup: Signal,
    ask: Signal,
}

impl Signals {
    fn watch() -> Result<Self> {
        let watch =
            |kind, name: &str| signal(kind).with_context(|| format!("cannot watch for {name}"));
        Ok(Self {
            terminate: watch(SignalKind::terminate(), "SIGTERM")?,
            interrupt: watch(SignalKind::interrupt(), "SIGINT")?,
            hangup: watch(SignalKind::hangup(), "SIGHUP")?,
            ask: watch(SignalKind::user_defined1(), "SIGUSR1")?,
        })
    }

    fn follow(mut self, server: &Arc<Server>) {
        tokio::spawn(reload(Arc::clone(server), self.hangup));
        let watched = Arc::clone(server);
        tokio::spawn(async move {
            while self.ask.recv().await.is_some() {
                tracing::info!(
                    instances = watched.instances(),
                    tasks = watched.tasks().map_or(0, |tasks| tasks.running()),
                    "running now"
                );
            }
        });
        let stopping = server.stopping().clone();
        tokio::spawn(async move {
            tokio::select! {
                _ = self.terminate.recv() => {}
                _ = self.interrupt.recv() => {}
            }
            tracing::info!("stopping");
            stopping.cancel();
        });
    }
}

/// Looks at everything whenever SIGHUP asks for it: at files first, as registries may be slow.
async fn reload(server: Arc<Server>, mut hangup: Signal) {
    while hangup.recv().await.is_some() {
        server.reload(Look::Files).await;
        server.reload(Look::Everything).await;
        let serving = server.catalog().now().components().len();
        tracing::info!("reloaded: {serving} components serve");
    }
}
