//! `cofferdam serve`: from checked options to a server that runs until it is told to stop.
//!
//! Invariant: everything that can be refused is refused before the endpoint is bound, with an
//! error that says what to do.

use crate::admin::AdminServer;
use crate::call::Sealer;
use crate::catalog::{Archive, CatalogParts, LiveCatalog, Look, Watch};
use crate::config::{Config, STATE_KEY, StateKeys};
use crate::files;
use crate::journal::{Origin, Rehearsal};
use crate::limits::DATABASE_COUNT_PAUSE;
use crate::registry::Mirror;
use crate::runtime::{CompileCache, Compiler, Runtime};
use crate::server::{Parts, Server};
use crate::store::{self, Shared, Store, StoreOptions, lock_file};
use crate::task::{Janitor, NodeId};
use crate::transport::HttpTransport;
use anyhow::{Context as _, Result, bail};
use std::fmt;
use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::{Instant, MissedTickBehavior, interval_at};

/// Where a rehearsing server kills itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Death {
    /// Nowhere.
    Never,
    /// When its first run has taken so many journal entries.
    Entry(u32),
    /// At the so-many-th point of the store's writes: one before each commit, one after it.
    Write(u32),
}

impl Death {
    fn entry(self) -> Option<u32> {
        match self {
            Self::Entry(after) => Some(after),
            Self::Never | Self::Write(_) => None,
        }
    }

    fn write(self) -> Option<u32> {
        match self {
            Self::Write(point) => Some(point),
            Self::Never | Self::Entry(_) => None,
        }
    }
}

impl FromStr for Death {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let number = |text: &str| text.parse().map_err(|error| format!("{text}: {error}"));
        match text.split_once('=') {
            None if text == "never" => Ok(Self::Never),
            Some(("entry", after)) => Ok(Self::Entry(number(after)?)),
            Some(("write", point)) => Ok(Self::Write(number(point)?)),
            _ => Err("expected never, entry=N or write=N".to_owned()),
        }
    }
}

impl fmt::Display for Death {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Never => f.write_str("never"),
            Self::Entry(after) => write!(f, "entry={after}"),
            Self::Write(point) => write!(f, "write={point}"),
        }
    }
}

/// Serves until SIGTERM or SIGINT, with components that are compiled where `compiler` says.
///
/// # Errors
/// Anything that keeps the server from starting.
pub async fn serve(config: Config, compiler: Compiler, rehearse: Option<Death>) -> Result<()> {
    let Config {
        listen,
        data,
        store,
        keys,
        settings,
        sources,
        auth,
        admin,
        tenants,
        allow_anonymous,
    } = config;
    let lock = own(&data)?;
    let archive = Archive::open(&data.join("components"))?;
    let compiled = data.join("compiled");
    let cache = CompileCache::open(&compiled)
        .with_context(|| format!("cannot keep compiled components in {}", compiled.display()))?;
    let runtime = Runtime::new(settings.sandbox.clone(), compiler, Some(cache))?;
    let runtime = Arc::new(runtime);
    // Whatever happens to a file from now on is seen.
    let watch = if settings.server.watch {
        Watch::new(&sources)
            .inspect_err(|error| tracing::warn!("{error}"))
            .ok()
    } else {
        None
    };
    let store_options = StoreOptions {
        max_tasks: settings.tasks.max,
        retention: settings.tasks.retention(),
        count_pause: DATABASE_COUNT_PAUSE,
        die_at_write: rehearse.and_then(Death::write),
    };
    let store = match settings.tasks.enabled {
        true => Some(store::open(&store, &data, store_options).await?),
        false => None,
    };
    let shared = store.as_ref().and_then(|store| store.shared());
    let catalog = LiveCatalog::load(CatalogParts {
        sources,
        runtime: Arc::clone(&runtime),
        settings: settings.clone(),
        archive,
        mirror: Mirror::open(&data.join("registry"))?,
        keys: tenants.keys(),
        shared: shared.clone(),
    });
    let catalog = Arc::new(catalog.await?);
    let (tools, components) = {
        let now = catalog.now();
        (now.tools().count(), now.components().len())
    };
    let origin = match rehearse {
        None => Origin::Live,
        Some(death) => Origin::Rehearsed(Rehearsal::dying(death.entry())),
    };
    let sealer = sealer(&keys, shared.as_deref(), &data).await?;
    let node = NodeId::random();
    if let (Some(store), Some(_)) = (&store, &shared) {
        succeed(&**store, node, &data).await?;
    }
    let server = Server::new(Parts {
        settings,
        runtime,
        catalog,
        store,
        node,
        sealer,
        origin,
        auth,
        tenants,
    });

    // Watched before anyone can know that we run, so that no signal is lost.
    let mut terminate = signal(SignalKind::terminate()).context("cannot watch for SIGTERM")?;
    let mut interrupt = signal(SignalKind::interrupt()).context("cannot watch for SIGINT")?;
    let hangup = signal(SignalKind::hangup()).context("cannot watch for SIGHUP")?;
    let mut ask = signal(SignalKind::user_defined1()).context("cannot watch for SIGUSR1")?;
    let admin = match admin {
        Some(options) => Some(AdminServer::bind(options).await?),
        None => None,
    };
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
    let resumed = server
        .resume()
        .await
        .context("cannot look for unfinished tasks")?;
    if resumed > 0 {
        tracing::info!("{resumed} unfinished tasks go on");
    }
    let url = transport.url();
    let mut announcement =
        format!("listening on {url} ({tools} tools from {components} components)\n");
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
    // A rehearsed server dies at a write of theirs, too: whoever started it must know it by then.
    let _janitor = server
        .tasks()
        .map(|tasks| Janitor::start(Arc::clone(tasks)));
    tokio::spawn(follow_files(Arc::clone(&server), watch));
    tokio::spawn(follow_signals(Arc::clone(&server), hangup));
    if server.catalog().has_tags() {
        tokio::spawn(follow_tags(Arc::clone(&server)));
    }

    let watched = Arc::clone(&server);
    tokio::spawn(async move {
        while ask.recv().await.is_some() {
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
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        tracing::info!("stopping");
        stopping.cancel();
    });
    transport.serve(Arc::clone(&server)).await;
    drop(admin);
    server.drain().await;
    drop(lock);
    Ok(())
}

/// Serves what is there whenever files change, and removes what nothing needs any more, until the server
/// stops.
async fn follow_files(server: Arc<Server>, mut watch: Option<Watch>) {
    let period = Duration::from_millis(server.settings().tasks.sweep_ms);
    let mut sweeps = tokio::time::interval(period);
    sweeps.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let changed = async {
            match &mut watch {
                Some(watch) => watch.changed().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = server.stopping().cancelled() => return,
            () = changed => {
                server.reload(Look::Files).await;
            }
            _ = sweeps.tick() => server.prune().await,
        }
    }
}

/// Looks at everything whenever SIGHUP asks for it: at files first, as registries may be slow.
async fn follow_signals(server: Arc<Server>, mut hangup: Signal) {
    while hangup.recv().await.is_some() {
        server.reload(Look::Files).await;
        server.reload(Look::Everything).await;
        let serving = server.catalog().now().components().len();
        tracing::info!("reloaded: {serving} components serve");
    }
}

/// Asks every so often what tags stand for. When the server starts, that is known.
async fn follow_tags(server: Arc<Server>) {
    let period = Duration::from_millis(server.settings().server.registry_poll_ms);
    let mut polls = interval_at(Instant::now() + period, period);
    polls.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            () = server.stopping().cancelled() => return,
            _ = polls.tick() => {
                server.reload(Look::Everything).await;
            }
        }
    }
}

/// Seals with the key that was named; else with the one that nodes of the store have in common, or
/// with the data directory's own. What the nodes' key sealed is opened in any case.
async fn sealer(keys: &StateKeys, shared: Option<&dyn Shared>, data: &Path) -> Result<Sealer> {
    let unusable = |path: &Path| format!("cannot use the key file {}", path.display());
    let own = |path: &Path| files::key(path).with_context(|| unusable(path));
    let common = match shared {
        Some(shared) => Some(shared.key().await?),
        None => None,
    };
    let mut sealer = match (&keys.now, common) {
        (Some(path), Some(common)) => Sealer::new(own(path)?).and_old(common),
        (Some(path), None) => Sealer::new(own(path)?),
        (None, Some(common)) => Sealer::new(common),
        (None, None) => Sealer::new(own(&data.join(STATE_KEY))?),
    };
    for path in &keys.old {
        sealer = sealer.and_old(files::known_key(path).with_context(|| unusable(path))?);
    }
    Ok(sealer)
}

/// Takes over from the node that used the data directory before, which is gone: what it held is free at
/// once.
async fn succeed(store: &dyn Store, node: NodeId, data: &Path) -> Result<()> {
    const NAME: &str = "node";
    if let Ok(bytes) = std::fs::read(data.join(NAME))
        && let Ok(before) = bytes.try_into()
    {
        store.retire(NodeId::from_bytes(before)).await?;
    }
    files::write(data, NAME, node.as_bytes())
        .with_context(|| format!("cannot write to the data directory {}", data.display()))
}

/// Makes the data directory this process's own. Only its user can read what is in it.
fn own(data: &Path) -> Result<File> {
    let hint = || {
        format!(
            "cannot use the data directory {}; choose another with --data",
            data.display()
        )
    };
    files::make_folder(data).with_context(hint)?;
    lock_file(&data.join("lock")).with_context(hint)
}
