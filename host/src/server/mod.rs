//! The methods of MCP, one file a family.
//!
//! Invariant: a request passes the checks of the protocol in their order, and what comes back is
//! one reply; what comes before it goes through the request's [`Events`].

mod call;
mod discover;
mod listen;
mod tasks;
mod tools;

use crate::call::{Events, RunTimes};
use crate::catalog::Catalog;
use crate::protocol::{
    ClientFeatures, Envelope, Headers, Method, Request, RpcError, failure, success,
};
use crate::runtime::Runtime;
use crate::settings::Settings;
use crate::task::{Principal, Tasks};
use arc_swap::ArcSwap;
use bytes::Bytes;
use hyper::header::HeaderMap;
use serde_json::value::RawValue;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::Duration;
use tokio::sync::watch;
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

/// The server behind the transports.
pub struct Server {
    settings: Settings,
    runtime: Arc<Runtime>,
    catalog: ArcSwap<Catalog>,
    /// Counts the catalogs; listeners wait for the next.
    catalog_changes: watch::Sender<u64>,
    /// The tasks, if they are enabled.
    tasks: Option<Arc<Tasks>>,
    listens: Arc<AtomicUsize>,
    /// Runs that go on after their request was answered.
    runs: TaskTracker,
    stopping: CancellationToken,
}

impl Server {
    /// A server for a catalog. Without `tasks` the Tasks extension is not offered.
    #[must_use]
    pub fn new(
        settings: Settings,
        runtime: Arc<Runtime>,
        catalog: Catalog,
        tasks: Option<Arc<Tasks>>,
    ) -> Arc<Self> {
        Arc::new(Self {
            settings,
            runtime,
            catalog: ArcSwap::from_pointee(catalog),
            catalog_changes: watch::Sender::new(0),
            tasks,
            listens: Arc::default(),
            runs: TaskTracker::new(),
            stopping: CancellationToken::new(),
        })
    }

    /// The settings.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Set when the server stops: streams end, and nothing new begins.
    #[must_use]
    pub fn stopping(&self) -> &CancellationToken {
        &self.stopping
    }

    /// The tasks, if they are enabled.
    #[must_use]
    pub fn tasks(&self) -> Option<&Arc<Tasks>> {
        self.tasks.as_ref()
    }

    /// Waits until no run goes on, but not longer than the drain time; then tells those that are
    /// left, and gives them their grace. To be called after the transports ended.
    pub async fn drain(&self) {
        self.runs.close();
        let drain = Duration::from_millis(self.settings.server.drain_ms);
        if tokio::time::timeout(drain, self.runs.wait()).await.is_ok() {
            return;
        }
        if let Some(tasks) = &self.tasks {
            tasks.stop_runs().await;
        }
        let grace = Duration::from_millis(self.settings.tasks.grace_ms);
        let _ = tokio::time::timeout(grace, self.runs.wait()).await;
    }

    fn run_times(&self) -> RunTimes {
        let sandbox = &self.settings.sandbox;
        RunTimes {
            wall: Duration::from_millis(sandbox.wall_ms),
            task_wall: Duration::from_millis(sandbox.task_wall_ms),
            grace: Duration::from_millis(self.settings.tasks.grace_ms),
        }
    }

    /// Answers one message. Dropping the future means that the client went away.
    pub async fn handle(
        self: Arc<Self>,
        caller: Principal,
        headers: HeaderMap,
        body: Bytes,
        events: Arc<Events>,
    ) -> Response {
        let limits = &self.settings.server;
        let message = match Envelope::read(&body, limits.max_json_depth) {
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
        let result = match Request::read(id, &message, &Headers(&headers), limits.lenient_names) {
            Ok(request) => {
                self.dispatch(&caller, &request, &Headers(&headers), &events)
                    .await
            }
            Err(error) => Err(error),
        };
        match result {
            Ok(body) => Response {
                status: 200,
                body: Some(body),
            },
            Err(error) => refuse(Some(id), &error),
        }
    }

    async fn dispatch(
        &self,
        caller: &Principal,
        request: &Request<'_>,
        headers: &Headers<'_>,
        events: &Arc<Events>,
    ) -> MethodResult {
        let method = request.method.ok_or_else(RpcError::method_not_found)?;
        if !method.is_task_method() {
            return match method {
                Method::Discover => self.discover(request),
                Method::ToolsList => self.list_tools(request),
                Method::ToolsCall => self.call_tool(caller, request, headers, events).await,
                _ => self.listen(caller, request, events).await,
            };
        }
        let tasks = self.tasks.as_ref().ok_or_else(RpcError::method_not_found)?;
        if !request.meta.features.contains(ClientFeatures::TASKS) {
            return Err(RpcError::missing(ClientFeatures::TASKS));
        }
        match method {
            Method::TasksGet => tasks::get(tasks, caller, request).await,
            Method::TasksUpdate => tasks::update(tasks, caller, request).await,
            _ => tasks::cancel(tasks, caller, request).await,
        }
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
