//! From a checked configuration to a server that runs.
//!
//! Invariants: everything that can be refused is refused before anything can be reached, with an
//! error that says what to do; nothing runs in the background before [`ReadyServer::start`].

mod folder;
mod follow;

use crate::catalog::{Archive, ArchiveError, CatalogError, CatalogParts, LiveCatalog, Watch};
use crate::config::Config;
use crate::journal::{Origin, Rehearsal};
use crate::limits::DATABASE_COUNT_PAUSE;
use crate::registry::{FetchError, Mirror};
use crate::rehearse::Death;
use crate::runtime::{CompileCache, Compiler, EngineError, Runtime};
use crate::server::{Parts, Server};
use crate::store::{self, LockError, Store, StoreError, StoreOptions};
use crate::task::{Janitor, NodeId};
use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

/// Why there is no server.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// The data directory cannot be made or written to.
    #[error("cannot use the data directory {0}; choose another with --data")]
    Folder(PathBuf, #[source] io::Error),
    /// Another process has it.
    #[error("cannot use the data directory {0}; choose another with --data")]
    Lock(PathBuf, #[source] LockError),
    /// The copies of components that tasks run.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// Compiled components.
    #[error("cannot keep compiled components in {0}")]
    Cache(PathBuf, #[source] io::Error),
    /// What was pulled from registries.
    #[error(transparent)]
    Mirror(#[from] FetchError),
    /// The sandbox.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The components.
    #[error(transparent)]
    Catalog(#[from] CatalogError),
    /// A key of `requestState`.
    #[error("cannot use the key file {0}")]
    Key(PathBuf, #[source] io::Error),
}

/// What a server is to be.
pub struct ServerBuilder {
    config: Config,
    compiler: Compiler,
    rehearse: Option<Death>,
}

impl ServerBuilder {
    /// A server of a configuration, which compiles components in threads of this process.
    #[must_use]
    pub fn new(config: Config) -> Self {
        Self {
            config,
            compiler: Compiler::Thread,
            rehearse: None,
        }
    }

    /// Has components compiled elsewhere.
    #[must_use]
    pub fn compiler(mut self, compiler: Compiler) -> Self {
        self.compiler = compiler;
        self
    }

    /// Has calls begin alike, and the server die where it is told.
    #[must_use]
    pub fn rehearse(mut self, death: Option<Death>) -> Self {
        self.rehearse = death;
        self
    }

    /// Takes the data directory, opens the store, and loads and compiles the components.
    ///
    /// # Errors
    /// [`BuildError`].
    pub async fn build(self) -> Result<ReadyServer, BuildError> {
        let Self {
            config,
            compiler,
            rehearse,
        } = self;
        let Config {
            data,
            store,
            keys,
            settings,
            sources,
            auth,
            tenants,
            ..
        } = config;
        let (data, lock) = folder::own(data)?;
        let archive = Archive::open(&data.join("components"))?;
        let compiled = data.join("compiled");
        let cache =
            CompileCache::open(&compiled).map_err(|error| BuildError::Cache(compiled, error))?;
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
        let store: Option<Arc<dyn Store>> = match settings.tasks.enabled {
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
        let origin = match rehearse {
            None => Origin::Live,
            Some(death) => Origin::Rehearsed(Rehearsal::dying(death.entry())),
        };
        let sealer = folder::sealer(&keys, shared.as_deref(), &data).await?;
        let node = NodeId::random();
        if let (Some(store), Some(_)) = (&store, &shared) {
            folder::succeed(&**store, node, &data).await?;
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
        Ok(ReadyServer {
            server,
            watch,
            lock,
        })
    }
}

/// A server that is complete, and does nothing yet.
pub struct ReadyServer {
    server: Arc<Server>,
    watch: Option<Watch>,
    lock: File,
}

impl ReadyServer {
    /// The server.
    #[must_use]
    pub fn server(&self) -> &Arc<Server> {
        &self.server
    }

    /// Goes on with the tasks that an earlier server left. Gives how many go on at once.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn resume(&self) -> Result<usize, StoreError> {
        self.server.resume().await
    }

    /// Begins all that a server does by itself: it sweeps tasks, and follows files and tags.
    #[must_use]
    pub fn start(self) -> RunningServer {
        let server = self.server;
        let janitor = server
            .tasks()
            .map(|tasks| Janitor::start(Arc::clone(tasks)));
        tokio::spawn(follow::files(Arc::clone(&server), self.watch));
        if server.catalog().has_tags() {
            tokio::spawn(follow::tags(Arc::clone(&server)));
        }
        RunningServer {
            server,
            _janitor: janitor,
            _lock: self.lock,
        }
    }
}

/// A server that runs.
pub struct RunningServer {
    server: Arc<Server>,
    _janitor: Option<Janitor>,
    _lock: File,
}

impl RunningServer {
    /// The server.
    #[must_use]
    pub fn server(&self) -> &Arc<Server> {
        &self.server
    }

    /// Stops: nothing new begins, and what runs is given the grace of a cancelled call. Tasks go on
    /// after the next start. To be called after the transports ended.
    pub async fn stop(self) {
        self.server.stopping().cancel();
        self.server.drain().await;
    }
}
