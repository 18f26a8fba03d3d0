//! The methods of MCP, one file a family.
//!
//! Invariant: a request passes the checks of the protocol in their order, and what comes back is
//! one reply; what comes before it goes through the request's [`Events`].

mod call;
mod discover;
mod figures;
mod large;
mod listen;
mod tasks;
mod tools;

use self::large::LargeBodies;
use crate::auth::{Auth, Refused};
use crate::call::{CallTimes, Driver, Events, Sealer, Worker};
use crate::catalog::{Changes, LiveCatalog, Look, Tool};
use crate::journal::Origin;
use crate::metrics::{Metrics, ReloadOutcome};
use crate::places::Places;
use crate::protocol::{
    ClientFeatures, Envelope, Headers, JsonBounds, Method, Request, RpcError, failure, success,
};
use crate::runtime::Runtime;
use crate::settings::Settings;
use crate::store::{Store, StoreError};
use crate::task::{NodeId, NodeOptions, Tasks, Wake};
use crate::tenants::{Caller, Tenant, Tenants};
use bytes::Bytes;
use hyper::header::HeaderMap;
use parking_lot::Mutex;
use serde_json::value::RawValue;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// What an HTTP request is answered with.
#[derive(Debug)]
pub struct Response {
    /// HTTP status, if nothing was streamed before.
    pub status: u16,
    /// One JSON-RPC message; none for an accepted notification.
    pub body: Option<Bytes>,
}

/// What a method gives: the whole response, or the error to answer with.
type MethodResult = Result<Bytes, RpcError>;

/// What a request comes to.
enum Step {
    Answer(Bytes),
    /// A stream, which needs nothing of the request any more but its id.
    Listen(listen::Filter),
}

/// What a server is made of.
pub struct Parts {
    /// Checked settings.
    pub settings: Settings,
    /// The sandbox.
    pub runtime: Arc<Runtime>,
    /// What is served.
    pub catalog: Arc<LiveCatalog>,
    /// Where tasks are kept; without one the Tasks extension is not offered.
    pub store: Option<Arc<dyn Store>>,
    /// Which node this is, if the store is one that others may use.
    pub node: NodeId,
    /// Seals what clients keep.
    pub sealer: Sealer,
    /// Where calls begin.
    pub origin: Origin,
    /// How callers are told apart.
    pub auth: Auth,
    /// What they may.
    pub tenants: Tenants,
}

/// The server behind the transports.
pub struct Server {
    settings: Settings,
    catalog: Arc<LiveCatalog>,
    /// The tasks, if they are enabled.
    tasks: Option<Arc<Tasks>>,
    /// Tasks that are to run; taken by the worker.
    queue: Mutex<Option<mpsc::UnboundedReceiver<Wake>>>,
    sealer: Arc<Sealer>,
    origin: Origin,
    auth: Auth,
    tenants: Arc<Tenants>,
    listens: Places,
    bodies: Places,
    large: LargeBodies,
    driver: Driver,
}

impl Server {
    /// A server. It runs what an earlier one left unfinished after [`Server::resume`].
    #[must_use]
    pub fn new(parts: Parts) -> Arc<Self> {
        let Parts {
            settings,
            runtime,
            catalog,
            store,
            node,
            sealer,
            origin,
            auth,
            tenants,
        } = parts;
        let metrics = Arc::new(Metrics::default());
        metrics.serve(catalog.now().tools().map(|tool| &tool.name));
        let node = NodeOptions {
            id: node,
            lease: Duration::from_millis(settings.tasks.lease_ms),
            most: settings.sandbox.instances as usize,
        };
        let tasks = |store: Arc<dyn Store>| {
            let node = store.shared().map(|_| node);
            Tasks::new(store, settings.tasks.clone(), node)
        };
        let (tasks, queue) = store.map(tasks).unzip();
        let driver = Driver {
            runtime,
            grace: Duration::from_millis(settings.tasks.grace_ms),
            tracker: TaskTracker::new(),
            stopping: CancellationToken::new(),
            metrics,
        };
        let listens = Places::new(Some(settings.server.max_listens));
        let bodies = Places::new(Some(settings.server.max_bodies_bytes));
        Arc::new(Self {
            settings,
            catalog,
            tasks,
            queue: Mutex::new(queue),
            sealer: Arc::new(sealer),
            origin,
            auth,
            tenants: Arc::new(tenants),
            listens,
            bodies,
            large: LargeBodies::new(),
            driver,
        })
    }

    /// Goes on with the tasks that an earlier server left, and runs tasks from now on. Gives how many
    /// go on at once.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn resume(&self) -> Result<usize, StoreError> {
        let (Some(tasks), Some(queue)) = (&self.tasks, self.queue.lock().take()) else {
            return Ok(0);
        };
        let unfinished = tasks.resume().await?;
        let worker = Worker {
            tasks: Arc::clone(tasks),
            catalog: Arc::clone(&self.catalog),
            driver: self.driver.clone(),
            times: self.call_times(),
            origin: self.origin.clone(),
            tenants: Arc::clone(&self.tenants),
            sealer: Arc::clone(&self.sealer),
        };
        tokio::spawn(worker.run(queue));
        tasks.follow(self.stopping());
        let now = crate::task::now();
        Ok(unfinished.ready.iter().filter(|(_, at)| *at <= now).count())
    }

    /// Serves the components that are there now, as [`LiveCatalog::reload`].
    pub async fn reload(&self, look: Look) -> Changes {
        let changes = self.catalog.reload(look).await;
        let metrics = &self.driver.metrics;
        metrics.serve(self.catalog.now().tools().map(|tool| &tool.name));
        metrics.reloaded(match changes.refused.is_empty() {
            true => ReloadOutcome::Complete,
            false => ReloadOutcome::Refused,
        });
        self.prune().await;
        changes
    }

    /// Removes components that nothing needs any more: neither this catalog nor any call or task.
    pub async fn prune(&self) {
        let needed = async {
            match &self.tasks {
                Some(tasks) => tasks.digests().await,
                None => Ok(Default::default()),
            }
        };
        if let Err(error) = self.catalog.prune(needed).await {
            tracing::warn!(%error, "could not look for components that nothing needs");
        }
    }

    /// What is served.
    #[must_use]
    pub fn catalog(&self) -> &Arc<LiveCatalog> {
        &self.catalog
    }

    fn call_times(&self) -> CallTimes {
        CallTimes {
            park_after: Duration::from_millis(self.settings.tasks.park_after_ms),
            answer_ms: self.settings.tasks.answer_ms,
        }
    }

    /// The settings.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Set when the server stops: streams end, and nothing new begins.
    #[must_use]
    pub fn stopping(&self) -> &CancellationToken {
        &self.driver.stopping
    }

    /// The tasks, if they are enabled.
    #[must_use]
    pub fn tasks(&self) -> Option<&Arc<Tasks>> {
        self.tasks.as_ref()
    }

    /// Who makes a request.
    ///
    /// # Errors
    /// [`Refused`].
    pub async fn caller(&self, headers: &HeaderMap) -> Result<Caller, Refused> {
        let identity = self.auth.identify(headers).await?;
        // A stranger's good token is no better than a bad one.
        let caller = self.tenants.caller(identity.principal);
        let caller = caller.ok_or(Refused::Unauthorized)?;
        identity.in_scope.then_some(caller).ok_or(Refused::Scope)
    }

    /// How callers are told apart.
    #[must_use]
    pub fn auth(&self) -> &Auth {
        &self.auth
    }

    /// What callers may.
    #[must_use]
    pub fn tenants(&self) -> &Tenants {
        &self.tenants
    }

    /// Room for the bodies of requests, in bytes.
    #[must_use]
    pub fn bodies(&self) -> &Places {
        &self.bodies
    }

    /// Instances that run now.
    #[must_use]
    pub fn instances(&self) -> usize {
        self.driver.runtime.running()
    }

    /// Waits until nothing runs any more, but not longer than the grace of a cancelled call. To be
    /// called after the transports ended: runs of tasks are dropped when the server stops, and go on
    /// after the next start.
    pub async fn drain(&self) {
        self.driver.tracker.close();
        let _ = tokio::time::timeout(self.driver.grace, self.driver.tracker.wait()).await;
        if let Some(tasks) = &self.tasks {
            tasks.retire().await;
        }
    }

    /// Answers one message. Dropping the future means that the client went away.
    pub async fn handle(
        self: Arc<Self>,
        caller: Caller,
        headers: HeaderMap,
        body: Bytes,
        events: Arc<Events>,
    ) -> Response {
        let limits = &self.settings.server;
        let bounds = JsonBounds {
            depth: limits.max_json_depth,
            values: limits.max_json_values,
        };
        let message = self
            .large
            .work(body.len(), || Envelope::read(&body, bounds));
        let message = match message.await {
            Ok(message) => message,
            Err((error, id)) => return refuse(id, &error),
        };
        // Notifications are accepted and change nothing: what they could say on other transports,
        // a closed stream says here.
        let Some(id) = message.id else {
            return Response {
                status: 202,
                body: None,
            };
        };
        let request = self.large.work(body.len(), || {
            Request::read(id, &message, &Headers(&headers), limits.lenient_names)
        });
        let request = match request.await {
            Ok(request) => request,
            Err(error) => return refuse(Some(id), &error),
        };
        let repeated = Headers(&headers);
        let step = self.dispatch(&caller, &request, &repeated, &events);
        let step = match step.await {
            Ok(Step::Listen(filter)) => {
                // A stream outlives its request's body, and the room for it.
                let id = id.to_owned();
                drop((headers, body));
                let over = self.listen(&caller, &id, filter, &events).await;
                return answer(&id, over);
            }
            Ok(Step::Answer(body)) => Ok(body),
            Err(error) => Err(error),
        };
        answer(id, step)
    }

    async fn dispatch(
        &self,
        caller: &Caller,
        request: &Request<'_>,
        headers: &Headers<'_>,
        events: &Arc<Events>,
    ) -> Result<Step, RpcError> {
        let method = request.method.ok_or_else(RpcError::method_not_found)?;
        if !method.is_task_method() {
            let answer = match method {
                Method::Discover => self.discover(request),
                Method::ToolsList => self.list_tools(caller, request),
                Method::ToolsCall => self.call_tool(caller, request, headers, events).await,
                _ => {
                    let filter = request.params.notifications;
                    let length = filter.map_or(0, |filter| filter.get().len());
                    let filter = self.large.work(length, || self.filter(request)).await?;
                    return Ok(Step::Listen(filter));
                }
            };
            return answer.map(Step::Answer);
        }
        let tasks = self.tasks.as_ref().ok_or_else(RpcError::method_not_found)?;
        if !request.meta.features.contains(ClientFeatures::TASKS) {
            return Err(RpcError::missing(ClientFeatures::TASKS));
        }
        let caller = &caller.principal;
        let answer = match method {
            Method::TasksGet => tasks::get(tasks, caller, request).await,
            Method::TasksUpdate => tasks::update(tasks, caller, request, &self.large).await,
            _ => tasks::cancel(tasks, caller, request).await,
        };
        answer.map(Step::Answer)
    }
}

/// True if a tenant's callers see a tool.
fn sees(tenant: &Tenant, tool: &Tool) -> bool {
    tenant.sees(&tool.name) && tenant.trusts(tool.component.signer.as_ref())
}

fn answer(id: &RawValue, result: MethodResult) -> Response {
    match result {
        Ok(body) => Response {
            status: 200,
            body: Some(body),
        },
        Err(error) => refuse(Some(id), &error),
    }
}

fn refuse(id: Option<&RawValue>, error: &RpcError) -> Response {
    Response {
        status: error.code.table().1,
        body: Some(failure(id, error)),
    }
}

/// The empty result: an acknowledgement.
fn acknowledge(request: &Request<'_>) -> Bytes {
    success(request.id, discover::Complete::new(()))
}
