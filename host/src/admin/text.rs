//! What a server counts, in the text format of Prometheus: `GET /metrics`.
//!
//! Invariant: names begin with `cofferdam_`, and say their unit; there are series for the tools that
//! are served now and the tenants that are named, and a fixed number of others.

use super::process;
use crate::metrics::{CallMetrics, Latencies, Limit, Metrics, Outcome, ReloadOutcome};
use crate::server::Server;
use crate::store::{Move, Tally};
use crate::task;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::prometheus_text;
use prometheus_client::encoding::{
    DescriptorEncoder, EncodeCounterValue, EncodeGaugeValue, MetricEncoder, NoLabelSet,
};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::{Registry, Unit};
use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

/// The type of what [`encode`] gives.
pub(super) const CONTENT_TYPE: &str = prometheus_text::CONTENT_TYPE;

static SECONDS: Unit = Unit::Seconds;
static BYTES: Unit = Unit::Bytes;

/// All there is.
pub(super) async fn encode(server: &Arc<Server>) -> Result<String, fmt::Error> {
    // A store that fails says so in the log.
    let tally = match server.tasks() {
        Some(tasks) => tasks.tally().await.ok(),
        None => None,
    };
    let mut registry = Registry::with_prefix("cofferdam");
    registry.register_collector(Box::new(Scrape {
        server: Arc::clone(server),
        tally,
    }));
    let mut text = String::new();
    prometheus_text::encode(&mut text, &registry)?;
    Ok(text)
}

/// One look at a server.
struct Scrape {
    server: Arc<Server>,
    /// None if tasks are not offered, or their store fails.
    tally: Option<Tally>,
}

impl fmt::Debug for Scrape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scrape").finish_non_exhaustive()
    }
}

impl Collector for Scrape {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let mut page = Page(&mut encoder);
        let metrics = self.server.metrics();
        self.process(&mut page)?;
        self.tools(&mut page)?;
        self.tenants(&mut page)?;
        self.tasks(&mut page)?;
        self.load(&mut page)?;
        let refusals = Limit::ALL.map(|limit| (limit.name(), metrics.refusals(limit)));
        page.counters(
            "refusals",
            "What a limit refused, the server's or a tenant's",
            "limit",
            refusals,
        )?;
        let sweeps = [("complete", true), ("failed", false)];
        let sweeps = sweeps.map(|(name, whole)| (name, metrics.sweeps(whole)));
        page.counters(
            "sweeps",
            "Looks at what time does to tasks",
            "outcome",
            sweeps,
        )?;
        reloads(&mut page, metrics)
    }
}

/// What is told of calls, for each of some: the name and the help of each family.
struct CallFamilies {
    label: &'static str,
    calls: (&'static str, &'static str),
    duration: (&'static str, &'static str),
    cpu: (&'static str, &'static str),
}

const OF_TOOLS: CallFamilies = CallFamilies {
    label: "tool",
    calls: (
        "calls",
        "Calls that were answered, or abandoned by their clients",
    ),
    duration: (
        "call_duration",
        "Time from a call to its answer, or to when its client went away",
    ),
    cpu: (
        "tool_cpu",
        "CPU time of the instances of a tool, those of tasks included",
    ),
};

const OF_OFFERS: CallFamilies = CallFamilies {
    label: "offer",
    calls: (
        "offer_calls",
        "Requests for a prompt, a resource or a list of resources that were answered or abandoned",
    ),
    duration: (
        "offer_call_duration",
        "Time from such a request to its answer, or to when its client went away",
    ),
    cpu: (
        "offer_cpu",
        "CPU time of the instances that answered such requests",
    ),
};

const OF_TENANTS: CallFamilies = CallFamilies {
    label: "tenant",
    calls: (
        "tenant_calls",
        "Calls of a tenant that were answered or abandoned; without a name: all others",
    ),
    duration: (
        "tenant_call_duration",
        "Time from a tenant's call to its answer, or to when its client went away",
    ),
    cpu: (
        "tenant_cpu",
        "CPU time of the instances of a tenant, those of tasks included",
    ),
};

impl CallFamilies {
    fn encode(&self, page: &mut Page<'_, '_>, all: &[(&str, Arc<CallMetrics>)]) -> fmt::Result {
        let (name, help) = self.calls;
        let mut family = page.family(name, help, None, MetricType::Counter)?;
        for (name, metrics) in all {
            for outcome in Outcome::ALL {
                let labels = [(self.label, *name), ("outcome", outcome.name())];
                counter(family.encode_family(&labels)?, &metrics.calls(outcome))?;
            }
        }
        let (name, help) = self.duration;
        let mut family = page.family(name, help, Some(&SECONDS), MetricType::Histogram)?;
        for (name, metrics) in all {
            let labels = [(self.label, *name)];
            histogram(family.encode_family(&labels)?, &metrics.latencies())?;
        }
        let (name, help) = self.cpu;
        let mut family = page.family(name, help, Some(&SECONDS), MetricType::Counter)?;
        for (name, metrics) in all {
            let labels = [(self.label, *name)];
            counter(family.encode_family(&labels)?, &metrics.cpu().as_secs_f64())?;
        }
        Ok(())
    }
}

impl Scrape {
    fn process(&self, page: &mut Page<'_, '_>) -> fmt::Result {
        let version = [("version", env!("CARGO_PKG_VERSION"))];
        page.family("build", "The program", None, MetricType::Info)?
            .encode_info(&version)?;
        let started = self.server.metrics().started();
        let started = started.duration_since(SystemTime::UNIX_EPOCH);
        let started = started.unwrap_or_default().as_secs_f64();
        let help = "When the server started, since the Unix epoch";
        page.gauge("start_time", help, Some(&SECONDS), started)?;
        match process::resident_bytes() {
            Some(bytes) => {
                let help = "Memory of the server's process that is in RAM";
                page.gauge("process_resident_memory", help, Some(&BYTES), bytes)
            }
            None => Ok(()),
        }
    }

    fn tools(&self, page: &mut Page<'_, '_>) -> fmt::Result {
        let catalog = self.server.catalog().now();
        let tools = catalog.tools();
        let tools: Vec<(&str, Arc<CallMetrics>)> = tools
            .map(|tool| (&*tool.name, self.server.metrics().tool(&tool.name)))
            .collect();

        OF_TOOLS.encode(page, &tools)?;
        // There may be many, most of which nobody ever reads.
        let labels = catalog.labels().filter(|label| label.contains(':'));
        let offers = labels.map(|label| (&**label, self.server.metrics().tool(label)));
        let offers: Vec<_> = offers.filter(|(_, it)| it.all_calls() > 0).collect();
        OF_OFFERS.encode(page, &offers)?;
        let help = "Tools that are served";
        page.gauge("tools", help, None, catalog.tools().count())?;
        let help = "Prompts that are served";
        page.gauge("prompts", help, None, catalog.prompts().count())?;
        let help = "Resources and templates of resources that are served";
        let files = catalog.shelves().iter().map(|shelf| 1 + shelf.len());
        let resources = catalog.resources().count() + catalog.templates().count();
        let resources = resources + files.sum::<usize>();
        page.gauge("resources", help, None, resources)?;
        let help = "Components that serve";
        page.gauge("components", help, None, catalog.components().len())?;
        let help = "Components that cannot serve";
        page.gauge("load_errors", help, None, catalog.refused().len())
    }

    fn tenants(&self, page: &mut Page<'_, '_>) -> fmt::Result {
        let tenants = self.server.tenants().metrics();
        let tenants: Vec<(&str, Arc<CallMetrics>)> = tenants
            .map(|(name, metrics)| (&**name, Arc::clone(metrics)))
            .collect();
        OF_TENANTS.encode(page, &tenants)
    }

    fn tasks(&self, page: &mut Page<'_, '_>) -> fmt::Result {
        let (Some(tasks), Some(tally)) = (self.server.tasks(), self.tally) else {
            return Ok(());
        };
        let mut family = page.family("tasks", "Tasks by their state", None, MetricType::Gauge)?;
        for status in task::Status::ALL {
            family
                .encode_family(&[("state", status.name())])?
                .encode_gauge(&tally.of(status))?;
        }
        let help = "Tasks with a run now; of the unfinished ones the others are parked";
        page.gauge("task_runs", help, None, tasks.running())?;
        let moves = Move::ALL.map(|kind| (kind.name(), tally.moved(kind) as u64));
        let help = "What became of tasks";
        page.counters("task_transitions", help, "kind", moves)
    }

    fn load(&self, page: &mut Page<'_, '_>) -> fmt::Result {
        let runtime = self.server.runtime();
        let limits = &self.server.settings().server;
        let connections = self.server.metrics().connections().taken();
        let (running, waiting) = (runtime.running(), runtime.waiting());
        let gauges = [
            ("instances", "Instances of components", running),
            (
                "instances_limit",
                "Instances that may be at once",
                runtime.most_running(),
            ),
            ("queue_length", "Runs that wait for an instance", waiting),
            (
                "listens",
                "Open subscriptions/listen streams",
                self.server.listening(),
            ),
            (
                "listens_limit",
                "Streams that may be open at once",
                limits.max_listens,
            ),
            ("connections", "Open connections of clients", connections),
            (
                "connections_limit",
                "Connections that may be open at once",
                limits.max_connections,
            ),
        ];
        for (name, help, value) in gauges {
            page.gauge(name, help, None, value)?;
        }
        Ok(())
    }
}

fn reloads(page: &mut Page<'_, '_>, metrics: &Metrics) -> fmt::Result {
    let reloads = ReloadOutcome::ALL.map(|outcome| (outcome.name(), metrics.reloads(outcome)));
    page.counters("reloads", "Reloads of the components", "outcome", reloads)
}

/// Where metrics are written.
struct Page<'a, 'e>(&'a mut DescriptorEncoder<'e>);

impl Page<'_, '_> {
    fn family(
        &mut self,
        name: &'static str,
        help: &str,
        unit: Option<&'static Unit>,
        kind: MetricType,
    ) -> Result<MetricEncoder<'_>, fmt::Error> {
        self.0.encode_descriptor(name, help, unit, kind)
    }

    fn gauge(
        &mut self,
        name: &'static str,
        help: &str,
        unit: Option<&'static Unit>,
        value: impl EncodeGaugeValue,
    ) -> fmt::Result {
        self.0
            .encode_descriptor(name, help, unit, MetricType::Gauge)?
            .encode_gauge(&value)
    }

    /// Counters that differ by one label.
    fn counters<const N: usize>(
        &mut self,
        name: &'static str,
        help: &str,
        label: &'static str,
        values: [(&'static str, u64); N],
    ) -> fmt::Result {
        let mut family = self
            .0
            .encode_descriptor(name, help, None, MetricType::Counter)?;
        for (kind, value) in values {
            counter(family.encode_family(&[(label, kind)])?, &value)?;
        }
        Ok(())
    }
}

fn histogram(mut encoder: MetricEncoder<'_>, times: &Latencies) -> fmt::Result {
    let (sum, count) = (times.sum().as_secs_f64(), times.count());
    encoder.encode_histogram::<NoLabelSet>(sum, count, &times.buckets(), None)
}

fn counter(mut encoder: MetricEncoder<'_>, value: &impl EncodeCounterValue) -> fmt::Result {
    encoder.encode_counter::<NoLabelSet, _, u64>(value, None)
}
