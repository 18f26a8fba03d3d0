//! A server for one input: it shares its compiled tools with those of other inputs, and nothing else.

use crate::tools;
use bytes::Bytes;
use cofferdam::auth::Auth;
use cofferdam::call::{Events, Sealer};
use cofferdam::catalog::{Archive, CatalogParts, LiveCatalog, Tool};
use cofferdam::config::{Location, Source};
use cofferdam::journal::{Origin, Seed};
use cofferdam::limits::RunLimits;
use cofferdam::protocol::{ClientFeatures, raw};
use cofferdam::registry::Mirror;
use cofferdam::runtime::{Compiler, Runtime};
use cofferdam::server::{Parts, Response, Server, Via};
use cofferdam::settings::Settings;
use cofferdam::store::{MemoryStore, Store, StoreOptions};
use cofferdam::task::{
    Inputs, Job, NewTask, NodeId, Principal, Setup, Status, Task, TaskId, Wait, Writes,
};
use cofferdam::telemetry::Telemetry;
use cofferdam::tenants::{Caller, TenantLimits, Tenants};
use hyper::HeaderMap;
use serde_json::json;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tempfile::TempDir;

/// The id of the task that every server holds: it waits for two answers. `BwcH…` on the wire.
pub const TASK: [u8; 32] = [7; 32];
/// The key that seals request states.
pub const KEY: [u8; 32] = [9; 32];
/// Time in which any input is answered.
const ANSWER_TIME: Duration = Duration::from_secs(20);

/// What all inputs share.
pub struct World {
    settings: Settings,
    runtime: Arc<Runtime>,
    catalog: Arc<LiveCatalog>,
    tools: Vec<Arc<Tool>>,
    thread: tokio::runtime::Runtime,
    _folder: TempDir,
}

/// What became of a request.
pub struct Answered {
    /// The answer.
    pub response: Response,
    /// What was streamed before.
    pub events: Vec<Bytes>,
}

impl World {
    /// Compiles the tools.
    ///
    /// # Panics
    /// If they cannot be served.
    #[must_use]
    #[allow(clippy::new_without_default, reason = "it takes a second")]
    pub fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let file = folder.path().join("tools.wasm");
        std::fs::write(&file, tools::component()).expect("the component can be written");
        let mut settings = Settings::default();
        settings.sandbox.instances = 4;
        settings.tasks.park_after_ms = 0;
        let runtime = Runtime::new(settings.sandbox.clone(), Compiler::Thread, None);
        let runtime = Arc::new(runtime.expect("the engine starts"));
        let archive = Archive::open(&folder.path().join("components"));
        let archive = archive.expect("the archive can be made");
        let thread = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build();
        let thread = thread.expect("tokio starts");
        let mirror = Mirror::open(&folder.path().join("registry"));
        let loaded = LiveCatalog::load(CatalogParts {
            sources: vec![Source::new(Location::Path(file), &settings)],
            folders: Vec::new(),
            runtime: Arc::clone(&runtime),
            settings: settings.clone(),
            archive,
            mirror: mirror.expect("the mirror can be made"),
            keys: Vec::new(),
            shared: None,
        });
        let catalog = thread.block_on(loaded).expect("the tools can be served");
        let tools = catalog.now().tools().cloned().collect();
        Self {
            settings,
            runtime,
            catalog: Arc::new(catalog),
            tools,
            thread,
            _folder: folder,
        }
    }

    /// A tool.
    ///
    /// # Panics
    /// If there is none of that name.
    #[must_use]
    pub fn tool(&self, name: &str) -> &Arc<Tool> {
        let mut tools = self.tools.iter();
        tools
            .find(|tool| &*tool.name == name)
            .expect("there is a tool of that name")
    }

    /// Has a new server answer a message. A stream that `listens` ends as soon as it waits.
    ///
    /// # Panics
    /// If there is no answer in time, or something of the call is left after it.
    pub fn answer(
        &self,
        headers: HeaderMap,
        body: Bytes,
        streams: bool,
        listens: bool,
    ) -> Answered {
        let events = Arc::new(Events::new(streams));
        let response = self.thread.block_on(async {
            let server = self.server().await;
            let caller = server.tenants().caller(Principal::anonymous());
            let caller: Caller = caller.expect("whoever comes is a caller");
            let handled =
                Arc::clone(&server).handle(caller, Via::Http(headers), body, Arc::clone(&events));
            let stopping = server.stopping().clone();
            let stop = async {
                if !listens {
                    std::future::pending::<()>().await;
                }
                stopping.cancel();
                std::future::pending::<()>().await;
            };
            let response = tokio::time::timeout(ANSWER_TIME, async {
                tokio::select! {
                    biased;
                    response = handled => response,
                    () = stop => unreachable!("it never ends"),
                }
            });
            let response = response.await.expect("a request is answered in time");
            server.stopping().cancel();
            server.drain().await;
            response
        });
        assert_eq!(self.runtime.running(), 0, "an instance outlives its server");
        let events = std::iter::from_fn(|| events.take()).collect();
        Answered { response, events }
    }

    async fn server(&self) -> Arc<Server> {
        let settings = self.settings.clone();
        let store = MemoryStore::new(StoreOptions {
            max_tasks: settings.tasks.max,
            retention: settings.tasks.retention(),
            count_pause: Duration::ZERO,
            die_at_write: None,
        });
        let created = store.create(TaskId::from_bytes(TASK), waiting_task(&settings));
        created.await.expect("the store takes a task");
        let limits = TenantLimits::new(self.runtime.whole_share(), settings.tasks.max);
        Server::new(Parts {
            settings,
            runtime: Arc::clone(&self.runtime),
            catalog: Arc::clone(&self.catalog),
            store: Some(Arc::new(store)),
            node: NodeId::random(),
            sealer: Sealer::new(KEY),
            origin: Origin::Live,
            auth: Auth::None,
            tenants: Tenants::new(Vec::new(), limits),
            notifiers: Vec::new(),
            telemetry: Telemetry::default(),
        })
    }
}

/// A task that waits for a form and for roots.
fn waiting_task(settings: &Settings) -> NewTask {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    let now = i64::try_from(since.as_millis()).unwrap_or(i64::MAX);
    let form = json!({
        "method": "elicitation/create",
        "params": {
            "mode": "form",
            "message": "Who are you?",
            "requestedSchema": { "type": "object", "properties": { "name": { "type": "string" } } },
        },
    });
    let open = [("form", form), ("roots", json!({ "method": "roots/list" }))];
    let open = open.map(|(key, request)| (key.to_owned(), request));
    let task = Task {
        owner: Principal::anonymous(),
        tool: "asks".to_owned(),
        served_as: "asks".to_owned(),
        digest: String::new(),
        source: String::new(),
        features: ClientFeatures::all(),
        status: Status::InputRequired,
        message: Some("waiting".to_owned()),
        created_at: now,
        updated_at: now,
        ttl_ms: Some(600_000),
        poll_interval_ms: 1_000,
        attempt: 1,
        max_attempts: 1,
        attempt_started_at: now,
        wall_ms: u64::MAX,
        lease: 0,
        idle_runs: 0,
        wait: Wait::Input(open.iter().map(|(key, _)| key.clone()).collect()),
        inputs: Inputs {
            open: open.into_iter().collect(),
            ..Inputs::default()
        },
        trace: None,
        outcome: None,
    };
    let setup = Setup {
        seed: Seed::from_bytes([1; 32]),
        started: 1_000 * u64::try_from(now).unwrap_or_default(),
        limits: RunLimits::new(&settings.sandbox, &settings.tasks),
        detached_after: None,
    };
    NewTask {
        node: None,
        task,
        job: Job {
            arguments: raw(&json!({})),
            setup,
        },
        writes: Writes::default(),
        most: usize::MAX,
        most_stored: usize::MAX,
    }
}
