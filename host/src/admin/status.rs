//! How a server is, for people and scripts: `GET /status`.

use super::process;
use crate::catalog::{self, Refused, Served, TaskSupport};
use crate::grants::Granted;
use crate::metrics::{CallMetrics, Latencies, Limit};
use crate::server::Server;
use crate::task;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// How a server is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Status {
    /// Version of the program.
    pub version: String,
    /// Seconds since it started.
    pub uptime_seconds: u64,
    /// Name of the machine it runs on, and its process there.
    pub node: Node,
    /// What tasks are kept in: `memory`, `sqlite`, `postgres`; none if they are not offered.
    pub store: Option<String>,
    /// Memory of its process that is in RAM, where the system tells.
    pub memory_bytes: Option<u64>,
    /// What it serves, in the order it is listed.
    pub tools: Vec<Tool>,
    /// Whose calls it counts: the tenants that are named, and all others together.
    pub tenants: Vec<Tenant>,
    /// What serves them.
    pub components: Vec<Component>,
    /// What does not serve as it is, and why.
    pub refused: Vec<Refused>,
    /// Instances of components.
    pub instances: Instances,
    /// Open `subscriptions/listen` streams.
    pub listens: Listens,
    /// Open connections of clients.
    pub connections: Connections,
    /// Tasks; none if they are not offered, or their store fails.
    pub tasks: Option<Tasks>,
    /// How often limits refused something, by the limit's name.
    pub refusals: BTreeMap<String, u64>,
}

/// Where a server runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Node {
    /// Name of the machine; empty where the system does not tell.
    pub host: String,
    /// The system's number of its process.
    pub process: u32,
}

/// A tenant.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tenant {
    /// Its name; empty for all that are not named in the configuration.
    pub name: String,
    /// Calls of its callers that were answered or abandoned.
    pub calls: u64,
    /// Those that came to an error, by the tool's word or the server's.
    pub errors: u64,
    /// How long calls took to be answered; none without calls.
    pub latency_ms: Option<LatencyMillis>,
    /// CPU time of their runs.
    pub cpu_seconds: f64,
}

/// A tool that is served.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tool {
    /// Its name on the server.
    pub name: String,
    /// Name of the component that serves it.
    pub component: String,
    /// Digest of that component.
    pub digest: String,
    /// Whether calls may become tasks: `none`, `optional`, `required`.
    pub task_support: String,
    /// Calls that were answered or abandoned since it is served.
    pub calls: u64,
    /// Those that came to an error, by the tool's word or the server's.
    pub errors: u64,
    /// How long calls took to be answered; none without calls.
    pub latency_ms: Option<LatencyMillis>,
    /// CPU time of its runs.
    pub cpu_seconds: f64,
}

/// How long calls took, milliseconds, a sixteenth too much at most.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LatencyMillis {
    /// Half of them took no longer.
    pub p50: f64,
    /// 99 of 100 took no longer.
    pub p99: f64,
    /// None took longer.
    pub max: f64,
}

/// A component that serves.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Component {
    /// As it was configured.
    pub name: String,
    /// Lower-case hexadecimal sha-256.
    pub digest: String,
    /// Since when, RFC 3339.
    pub serving_since: String,
    /// How many tools it serves.
    pub tools: usize,
    /// How many prompts.
    #[serde(default)]
    pub prompts: usize,
    /// How many resources and templates of resources.
    #[serde(default)]
    pub resources: usize,
    /// The key that signed it, of those that are trusted.
    pub signed_by: Option<String>,
    /// What it may reach.
    pub grants: Granted,
}

/// Instances of components.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Instances {
    /// Those that there are now.
    pub running: usize,
    /// As many may be at once.
    pub limit: usize,
    /// Runs that wait for one.
    pub waiting: usize,
}

/// Open streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listens {
    /// Those that there are now.
    pub open: usize,
    /// As many may be at once.
    pub limit: usize,
}

/// Open connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Connections {
    /// Those that there are now.
    pub open: usize,
    /// As many may be at once.
    pub limit: usize,
}

/// Tasks by their state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tasks {
    /// Not over, and not waiting for their clients.
    pub working: usize,
    /// Waiting for their clients.
    pub input_required: usize,
    /// With a result.
    pub completed: usize,
    /// With an error.
    pub failed: usize,
    /// Cancelled.
    pub cancelled: usize,
    /// Those with a run now. The others that are not over are parked.
    pub running: usize,
}

impl Status {
    /// How it is now.
    #[must_use]
    pub async fn of(server: &Server) -> Self {
        let metrics = server.metrics();
        let started = metrics.started();
        let catalog = server.catalog().now();
        let components = catalog.components();
        let tools = components.iter().flat_map(|component| {
            let tools = component.offers.tools.iter();
            tools.map(|tool| Tool::of(component, tool, &metrics.tool(&tool.name)))
        });
        let settings = server.settings();
        let runtime = server.runtime();
        let tasks = server.tasks();
        Self {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            uptime_seconds: started.elapsed().unwrap_or_default().as_secs(),
            node: Node {
                host: process::host_name(),
                process: std::process::id(),
            },
            store: tasks.map(|tasks| tasks.store_kind().to_owned()),
            memory_bytes: process::resident_bytes(),
            tools: tools.collect(),
            tenants: Tenant::all(server),
            components: components.iter().map(|it| Component::of(it)).collect(),
            refused: catalog.refused().to_vec(),
            instances: Instances {
                running: runtime.running(),
                limit: runtime.most_running(),
                waiting: runtime.waiting(),
            },
            listens: Listens {
                open: server.listening(),
                limit: settings.server.max_listens,
            },
            connections: Connections {
                open: metrics.connections().taken(),
                limit: settings.server.max_connections,
            },
            tasks: match tasks {
                Some(tasks) => Tasks::of(tasks).await,
                None => None,
            },
            refusals: Limit::ALL
                .iter()
                .map(|limit| (limit.name().to_owned(), metrics.refusals(*limit)))
                .collect(),
        }
    }
}

impl Component {
    fn of(served: &Served) -> Self {
        Self {
            name: served.name.clone(),
            digest: served.digest.clone(),
            serving_since: timestamp(served.since),
            tools: served.offers.tools.len(),
            prompts: served.offers.prompts.len(),
            resources: served.offers.resources.len() + served.offers.templates.len(),
            signed_by: served.signer().map(|signer| signer.key().id().to_string()),
            grants: Granted::of(served.grants()),
        }
    }
}

impl Tool {
    fn of(served: &Served, tool: &catalog::Tool, metrics: &CallMetrics) -> Self {
        Self {
            name: tool.name.to_string(),
            component: served.name.clone(),
            digest: served.digest.clone(),
            task_support: match tool.task_support {
                TaskSupport::None => "none",
                TaskSupport::Optional => "optional",
                TaskSupport::Required => "required",
            }
            .to_owned(),
            calls: metrics.all_calls(),
            errors: metrics.errors(),
            latency_ms: LatencyMillis::of(&metrics.latencies()),
            cpu_seconds: metrics.cpu().as_secs_f64(),
        }
    }
}

impl Tenant {
    fn all(server: &Server) -> Vec<Self> {
        let all = server.tenants().metrics();
        let tenant = |(name, metrics): (&Arc<str>, &Arc<CallMetrics>)| Self {
            name: name.to_string(),
            calls: metrics.all_calls(),
            errors: metrics.errors(),
            latency_ms: LatencyMillis::of(&metrics.latencies()),
            cpu_seconds: metrics.cpu().as_secs_f64(),
        };
        all.map(tenant).collect()
    }
}

impl LatencyMillis {
    fn of(latencies: &Latencies) -> Option<Self> {
        let millis = |time: Duration| time.as_secs_f64() * 1_000.0;
        Some(Self {
            p50: millis(latencies.quantile(0.5)?),
            p99: millis(latencies.quantile(0.99)?),
            max: millis(latencies.max()?),
        })
    }
}

impl Tasks {
    async fn of(tasks: &task::Tasks) -> Option<Self> {
        // A store that fails says so in the log.
        let tally = tasks.tally().await.ok()?;
        Some(Self {
            working: tally.of(task::Status::Working),
            input_required: tally.of(task::Status::InputRequired),
            completed: tally.of(task::Status::Completed),
            failed: tally.of(task::Status::Failed),
            cancelled: tally.of(task::Status::Cancelled),
            running: tasks.running(),
        })
    }
}

/// A time, to the second.
fn timestamp(time: SystemTime) -> String {
    let seconds = time.duration_since(SystemTime::UNIX_EPOCH);
    let seconds = seconds.unwrap_or_default().as_secs();
    let seconds = i64::try_from(seconds).unwrap_or(i64::MAX);
    jiff::Timestamp::from_second(seconds).map_or_else(|_| String::new(), |time| time.to_string())
}
