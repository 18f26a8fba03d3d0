//! The methods of MCP, one file a family.
//!
//! Invariant: a request passes the checks of the protocol in their order, and what comes back is
//! one reply; what comes before it goes through the request's [`Events`].

mod call;
mod completion;
mod discover;
mod figures;
mod file;
mod large;
mod legacy;
mod listen;
mod others;
mod prompts;
mod resources;
mod seen;
mod sight;
mod tasks;
mod tools;

pub use self::legacy::Pipe;
use self::legacy::{Entered, Sessions};
pub(crate) use self::legacy::{SESSION_HEADER, SessionStream};
use crate::auth::{Auth, Refused};
use crate::call::{CallTimes, Driver, Events, Sealer, Worker};
use crate::catalog::{Changes, LiveCatalog, Look};
use crate::journal::Origin;
use crate::limits::LARGE_BYTES;
use crate::metrics::{Metrics, ReloadOutcome};
use crate::places::Places;
use crate::protocol::{
    ClientFeatures, Envelope, Headers, Incoming, JsonBounds, Method, Request, RpcError, failure,
    success,
};
use crate::runtime::Runtime;
use crate::settings::Settings;
use crate::store::{Store, StoreError};
use crate::task::{NodeId, NodeOptions, Notifier, Tasks, Wake};
use crate::telemetry::Telemetry;
use crate::tenants::{Caller, Tenants};
use bytes::Bytes;
use hyper::header::HeaderMap;
use parking_lot::Mutex;
use serde_json::value::RawValue;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// What a message is answered with.
#[derive(Debug, Default)]
pub struct Response {
    /// HTTP status, if that is the transport and nothing was streamed before.
    pub status: u16,
    /// One JSON-RPC message; none for an accepted notification.
    pub body: Option<Bytes>,
    /// The session that begins (`Mcp-Session-Id`), for a client of an earlier revision.
    pub session: Option<String>,
}

impl Response {
    /// One message, with the status that it has over HTTP.
    #[must_use]
    pub fn new(status: u16, body: Bytes) -> Self {
        Self {
            status,
            body: Some(body),
            session: None,
        }
    }

    /// No message, but a status.
    #[must_use]
    pub fn empty(status: u16) -> Self {
        Self {
            status,
            ..Self::default()
        }
    }

    /// A notification, or what is not answered.
    fn accepted() -> Self {
        Self::empty(202)
    }
}

/// What a message came by.
pub enum Via {
    /// A POST, with its headers.
    Http(HeaderMap),
    /// A pipe that is one client's.
    Stdio(Arc<Pipe>),
}

impl Via {
    /// Enters a request where its client may take it back: over HTTP it closes the stream instead.
    fn enter(&self, id: &RawValue) -> Result<Option<Entered>, RpcError> {
        match self {
            Self::Http(_) => Ok(None),
            Self::Stdio(pipe) => pipe.running().enter(id).map(Some),
        }
    }

    /// To be awaited once a request has begun: on a pipe the next message may begin then, over HTTP none
    /// waits.
    async fn begun(&self) {
        if let Self::Stdio(_) = self {
            tokio::task::yield_now().await;
        }
    }

    fn headers(&self) -> Headers<'_> {
        Headers(match self {
            Self::Http(headers) => Some(headers),
            Self::Stdio(_) => None,
        })
    }
}

/// A message that is being answered.
pub type Answering = Pin<Box<dyn Future<Output = Response> + Send>>;

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
    /// Who hears of every change to a task, beside its owner.
    pub notifiers: Vec<Arc<dyn Notifier>>,
    /// What traces calls.
    pub telemetry: Telemetry,
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
    sessions: Sessions,
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
            notifiers,
            telemetry,
        } = parts;
        let metrics = Arc::new(Metrics::default());
        metrics.serve(catalog.now().labels());
        let node = NodeOptions {
            id: node,
            lease: Duration::from_millis(settings.tasks.lease_ms),
            most: settings.sandbox.instances as usize,
        };
        let tasks = |store: Arc<dyn Store>| {
            let node = store.shared().map(|_| node);
            Tasks::new(store, settings.tasks.clone(), node, notifiers)
        };
        let (tasks, queue) = store.map(tasks).unzip();
        let driver = Driver {
            runtime,
            grace: Duration::from_millis(settings.tasks.grace_ms),
            tracker: TaskTracker::new(),
            stopping: CancellationToken::new(),
            metrics,
            telemetry,
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
            sessions: Sessions::default(),
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
        let (others, heard) = mpsc::unbounded_channel();
        tasks.follow(self.stopping(), others);
        if let Some(shared) = tasks.shared() {
            let changes = others::follow(shared, Arc::clone(self.catalog.updates()), heard);
            let stopping = self.stopping().clone();
            tokio::spawn(stopping.run_until_cancelled_owned(changes));
        }
        let (told, stopping) = (Arc::clone(tasks), self.stopping().clone());
        self.driver
            .tracker
            .spawn(async move { told.notify(stopping).await });
        let now = crate::task::now();
        Ok(unfinished.ready.iter().filter(|(_, at)| *at <= now).count())
    }

    /// Serves the components that are there now, as [`LiveCatalog::reload`].
    pub async fn reload(&self, look: Look) -> Changes {
        let changes = self.catalog.reload(look).await;
        let metrics = &self.driver.metrics;
        metrics.serve(self.catalog.now().labels());
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
        let telemetry = self.driver.telemetry.clone();
        let _ = tokio::task::spawn_blocking(move || telemetry.stop()).await;
    }

    /// Answers one message. Dropping the future means that the client went away.
    #[must_use]
    pub fn handle(
        self: Arc<Self>,
        caller: Caller,
        via: Via,
        body: Bytes,
        events: Arc<Events>,
    ) -> Answering {
        let large = match &via {
            Via::Http(_) => body.len() > LARGE_BYTES,
            // A pipe has one client, whose messages begin in their order.
            Via::Stdio(_) => false,
        };
        if !large {
            return Box::pin(self.respond(caller, via, body, events));
        }
        let (runtime, tenant) = (Arc::clone(&self.driver.runtime), Arc::clone(&caller.tenant));
        let answering = self.respond(caller, via, body, events);
        Box::pin(runtime.aside(&tenant.name, answering))
    }

    async fn respond(
        self: Arc<Self>,
        caller: Caller,
        via: Via,
        body: Bytes,
        events: Arc<Events>,
    ) -> Response {
        let limits = &self.settings.server;
        let bounds = JsonBounds {
            depth: limits.max_json_depth,
            values: limits.max_json_values,
        };
        let incoming = match Envelope::read(&body, bounds) {
            Ok(incoming) => incoming,
            Err((error, id)) => return refuse(id, &error),
        };
        if legacy::is_meant(&via, &incoming) {
            // Boxed, as `listen` below: what few requests need, all others have no room for.
            return Box::pin(self.legacy(&caller, &via, incoming, &events)).await;
        }
        let message = match incoming {
            Incoming::Message(message) => message,
            Incoming::Response(response) => {
                return refuse(Some(response.id), &Envelope::no_method());
            }
        };
        let Some(id) = message.id else {
            // What they could say over HTTP, a closed stream says there.
            if let Via::Stdio(pipe) = &via {
                pipe.running().notified(&message);
            }
            return Response::accepted();
        };
        let entered = match via.enter(id) {
            Ok(entered) => entered,
            Err(error) => return refuse(Some(id), &error),
        };
        via.begun().await;
        let repeated = via.headers();
        let request = match Request::read(id, &message, &repeated, limits.lenient_names) {
            Ok(request) => request,
            Err(error) => return refuse(Some(id), &error),
        };
        let step = {
            let step = pin!(self.dispatch(&caller, &request, &repeated, &events));
            unless_cancelled(entered.as_ref(), step).await
        };
        let step = match step {
            None => return Response::accepted(),
            Some(Ok(Step::Listen(filter))) => {
                // A stream outlives its request's body, and the room for it.
                let id = id.to_owned();
                drop((via, body));
                let over = Box::pin(self.listen(&caller, &id, filter, &events));
                return match unless_cancelled(entered.as_ref(), over).await {
                    Some(over) => answer(&id, over),
                    None => Response::accepted(),
                };
            }
            Some(Ok(Step::Answer(body))) => Ok(body),
            Some(Err(error)) => Err(error),
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
        self.driver.runtime.seen(caller.tenant.accounts());
        if !method.is_task_method() {
            let answer = match method {
                Method::Discover => self.discover(caller, request),
                Method::ToolsList => self.list_tools(caller, request),
                Method::ToolsCall => self.call_tool(caller, request, headers, events).await,
                Method::PromptsList => self.list_prompts(caller, request),
                Method::TemplatesList => self.list_templates(caller, request),
                // Boxed, so that they take no room in what calls of tools run in.
                Method::PromptsGet => Box::pin(self.get_prompt(caller, request, events)).await,
                Method::ResourcesList => {
                    Box::pin(self.list_resources(caller, request, events)).await
                }
                Method::ResourcesRead => {
                    Box::pin(self.read_resource(caller, request, events)).await
                }
                Method::Complete => Box::pin(self.complete(caller, request, events)).await,
                _ => {
                    return self.filter(request).map(Step::Listen);
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
            Method::TasksGet => tasks::get(tasks, caller, request, self.stopping()).await,
            Method::TasksUpdate => tasks::update(tasks, caller, request).await,
            _ => tasks::cancel(tasks, caller, request).await,
        };
        answer.map(Step::Answer)
    }
}

/// The work, or `None` as soon as its client takes the request back. Work that is not small should be
/// pinned before: a future that is handed on has room for it twice.
async fn unless_cancelled<T>(
    request: Option<&Entered>,
    work: impl Future<Output = T>,
) -> Option<T> {
    match request {
        Some(request) => request.unless_cancelled(work).await,
        None => Some(work.await),
    }
}

fn answer(id: &RawValue, result: MethodResult) -> Response {
    match result {
        Ok(body) => Response::new(200, body),
        Err(error) => refuse(Some(id), &error),
    }
}

fn refuse(id: Option<&RawValue>, error: &RpcError) -> Response {
    Response::new(error.code.table().1, failure(id, error))
}

/// The empty result: an acknowledgement.
fn acknowledge(request: &Request<'_>) -> Bytes {
    success(request.id, discover::Complete::new(()))
}

#[cfg(test)]
mod tests {
    use super::*;

    // Each request has one of them, from the heap. What is handed from one future to the next is in
    // both, so their size doubles unseen.
    #[test]
    fn a_request_takes_little_room() {
        type Respond<F> = fn(Arc<Server>, Caller, Via, Bytes, Arc<Events>) -> F;
        fn size<F: Future<Output = Response>>(_: Respond<F>) -> usize {
            size_of::<F>()
        }
        let size = size(Server::respond);
        assert!(size < 10_000, "{size} bytes");
    }
}
