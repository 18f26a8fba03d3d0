//! From a checked configuration to a server that runs.
//!
//! Invariants: everything that can be refused is refused before anything can be reached, with an
//! error that says what to do; nothing runs in the background before [`ReadyServer::start`].

mod folder;
mod follow;

use crate::auth::{Auth, Authenticator};
use crate::catalog::{Archive, ArchiveError, CatalogError, CatalogParts, LiveCatalog, Watch};
use crate::config::{Arguments, Config, ConfigError};
use crate::grants::GrantPolicy;
use crate::journal::{Origin, Rehearsal};
use crate::registry::{FetchError, Mirror};
use crate::rehearse::Death;
use crate::runtime::{CompileCache, Compiler, EngineError, Runtime};
use crate::server::{Parts, Server};
use crate::store::{self, LockError, Store, StoreError, StoreOptions};
use crate::task::{Janitor, NodeId, Notifier};
use crate::telemetry::{ExporterBuildError, Telemetry};
use crate::webhook::Webhook;
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
    /// Where traces go.
    #[error("traces cannot be sent")]
    Telemetry(#[source] ExporterBuildError),
    /// A key of `requestState`.
    #[error("cannot use the key file {0}")]
    Key(PathBuf, #[source] io::Error),
}

/// What a server is to be.
///
/// ```
/// use cofferdam::builder::ServerBuilder;
/// use cofferdam::transport::HttpTransport;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let data = tempfile::tempdir()?;
/// # let data = data.path();
/// # let tools = concat!(env!("CARGO_MANIFEST_DIR"), "/../target/guests/render.wasm");
/// # if !std::path::Path::new(tools).exists() {
/// #     println!("not run: `cargo xtask guests` was not");
/// #     return Ok(());
/// # }
/// // A component, or a folder, whose components serve, and whatever comes there later.
/// let running = ServerBuilder::serving([tools], data)?.build().await?.run().await?;
/// let http = HttpTransport::bind("127.0.0.1:0").await?;
/// println!("clients connect to {}", http.url());
/// let served = tokio::spawn(http.serve(running.server().clone()));
///
/// // Until the program has enough of it:
/// running.server().stopping().cancel();
/// served.await?;
/// running.stop().await;
/// # Ok(())
/// # }
/// ```
pub struct ServerBuilder {
    config: Config,
    compiler: Compiler,
    rehearse: Option<Death>,
    store: Option<Arc<dyn Store>>,
    notifiers: Vec<Arc<dyn Notifier>>,
}

impl ServerBuilder {
    /// A server of a configuration, which compiles components in threads of this process.
    #[must_use]
    pub fn new(config: Config) -> Self {
        Self {
            config,
            compiler: Compiler::Thread,
            rehearse: None,
            store: None,
            notifiers: Vec::new(),
        }
    }

    /// A server of the components at these places (files, folders, `oci://` references), with every
    /// setting at its default, which keeps what must survive in the folder `data`.
    ///
    /// # Errors
    /// [`ConfigError`]: one of the places is not there.
    pub fn serving<P: Into<PathBuf>>(
        tools: impl IntoIterator<Item = P>,
        data: impl Into<PathBuf>,
    ) -> Result<Self, ConfigError> {
        Config::read(Arguments {
            paths: tools.into_iter().map(Into::into).collect(),
            data: Some(data.into()),
            ..Arguments::default()
        })
        .map(Self::new)
    }

    /// Keeps tasks in this store, in place of the configured one.
    ///
    /// ```
    /// # use cofferdam::builder::ServerBuilder;
    /// use cofferdam::store::{MemoryStore, StoreOptions};
    /// use std::sync::Arc;
    ///
    /// # fn example(builder: ServerBuilder) -> ServerBuilder {
    /// let store = MemoryStore::new(StoreOptions::default());
    /// builder.store(Arc::new(store))
    /// # }
    /// ```
    #[must_use]
    pub fn store(mut self, store: Arc<dyn Store>) -> Self {
        self.store = Some(store);
        self
    }

    /// Has this one told of every change to a task, too. A [`crate::webhook::Webhook`] is ready-made.
    ///
    /// ```
    /// # use cofferdam::builder::ServerBuilder;
    /// use async_trait::async_trait;
    /// use cofferdam::task::{Notifier, Task, TaskId};
    ///
    /// struct Print;
    ///
    /// #[async_trait]
    /// impl Notifier for Print {
    ///     async fn changed(&self, _: TaskId, task: &Task) {
    ///         println!("a task of {} is {}", task.served_as, task.status.name());
    ///     }
    /// }
    ///
    /// # fn example(builder: ServerBuilder) -> ServerBuilder {
    /// builder.notify(Print)
    /// # }
    /// ```
    #[must_use]
    pub fn notify(mut self, notifier: impl Notifier) -> Self {
        self.notifiers.push(Arc::new(notifier));
        self
    }

    /// Tells callers apart like this, in place of the configured way.
    ///
    /// ```
    /// # use cofferdam::builder::ServerBuilder;
    /// use async_trait::async_trait;
    /// use cofferdam::auth::{Authenticator, HeaderMap, Identity, Refused};
    /// use cofferdam::task::Principal;
    ///
    /// /// Behind a proxy that authenticates, and that nobody can go past.
    /// struct Proxy;
    ///
    /// #[async_trait]
    /// impl Authenticator for Proxy {
    ///     async fn identify(&self, headers: &HeaderMap) -> Result<Identity, Refused> {
    ///         let user = headers.get("x-user").and_then(|user| user.to_str().ok());
    ///         let subject = user.ok_or(Refused::Unauthorized)?.to_owned();
    ///         let principal = Principal { tenant: String::new(), subject };
    ///         Ok(Identity { principal, in_scope: true })
    ///     }
    /// }
    ///
    /// # fn example(builder: ServerBuilder) -> ServerBuilder {
    /// builder.auth(Proxy)
    /// # }
    /// ```
    #[must_use]
    pub fn auth(mut self, authenticator: impl Authenticator) -> Self {
        self.config.auth = Auth::Own(Arc::new(authenticator));
        self
    }

    /// Decides what each component may reach, in place of what the configuration grants its source.
    ///
    /// ```
    /// # use cofferdam::builder::ServerBuilder;
    /// use cofferdam::grants::{Candidate, Environment, Grants};
    /// use std::{collections::BTreeMap, sync::Arc};
    ///
    /// # fn example(builder: ServerBuilder) -> ServerBuilder {
    /// builder.grants(|component: &Candidate<'_>| {
    ///     if component.imports.iter().any(|import| import.starts_with("wasi:sockets/")) {
    ///         return Err("no sockets here".to_owned());
    ///     }
    ///     let variables = BTreeMap::from([("STAGE".to_owned(), "test".to_owned())]);
    ///     let environment = Environment::new(variables, BTreeMap::new());
    ///     let environment = environment.map_err(|error| error.to_string())?;
    ///     Ok(Arc::new(Grants { environment, ..Grants::default() }))
    /// })
    /// # }
    /// ```
    #[must_use]
    pub fn grants(mut self, policy: impl GrantPolicy + 'static) -> Self {
        let policy: Arc<dyn GrantPolicy> = Arc::new(policy);
        for source in &mut self.config.sources {
            source.policy = Some(Arc::clone(&policy));
        }
        self
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
            store: own_store,
            mut notifiers,
        } = self;
        let Config {
            data,
            store,
            keys,
            settings,
            sources,
            folders,
            auth,
            tenants,
            webhooks,
            telemetry,
            ..
        } = config;
        for options in webhooks {
            notifiers.push(Arc::new(Webhook::new(options)));
        }
        let (data, lock) = folder::own(data)?;
        let archive = Archive::open(&data.join("components"))?;
        let compiled = data.join("compiled");
        let cache =
            CompileCache::open(&compiled).map_err(|error| BuildError::Cache(compiled, error))?;
        let runtime = Runtime::new(settings.sandbox.clone(), compiler, Some(cache))?;
        let runtime = Arc::new(runtime);
        // Whatever happens to a file from now on is seen.
        let watch = if settings.server.watch {
            Watch::new(&sources, &folders)
                .inspect_err(|error| tracing::warn!("{error}"))
                .ok()
        } else {
            None
        };
        let store_options = StoreOptions {
            die_at_write: rehearse.and_then(Death::write),
            ..StoreOptions::new(&settings.tasks)
        };
        let store: Option<Arc<dyn Store>> = match (own_store, settings.tasks.enabled) {
            (_, false) => None,
            (Some(own), true) => Some(own),
            (None, true) => Some(store::open(&store, &data, store_options).await?),
        };
        let shared = store.as_ref().and_then(|store| store.shared());
        let catalog = LiveCatalog::load(CatalogParts {
            sources,
            folders,
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
        let telemetry = match telemetry {
            Some(options) => {
                Telemetry::new(options, node.short()).map_err(BuildError::Telemetry)?
            }
            None => Telemetry::default(),
        };
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
            notifiers,
            telemetry,
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

    /// Goes on with tasks, and begins all that a server does by itself.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn run(self) -> Result<RunningServer, StoreError> {
        self.resume().await?;
        Ok(self.start())
    }

    /// Begins all that a server does by itself: it sweeps tasks, and follows files and tags.
    #[must_use]
    pub fn start(self) -> RunningServer {
        let server = self.server;
        let janitor = server
            .tasks()
            .map(|tasks| Janitor::start(Arc::clone(tasks), Arc::clone(server.metrics())));
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
