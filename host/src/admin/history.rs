//! How the last hour was: `GET /history`.
//!
//! Invariants: there are at most [`HISTORY_SAMPLES`] samples, and in each at most [`HISTORY_SERIES`] tools
//! and as many tenants, those that were called meanwhile; so its memory is bounded, however many there
//! are. Taking one reads counters and asks the store for a count that it has at hand.

use super::process;
use crate::limits::{HISTORY_PERIOD, HISTORY_SAMPLES, HISTORY_SERIES, HISTORY_SHARED_PAUSE};
use crate::metrics::{CallMetrics, Latencies, Limit, Mark};
use crate::server::Server;
use crate::store::{Move, Tally};
use crate::task::{self, Millis};
use parking_lot::Mutex;
use serde::{Serialize, Serializer};
use serde_json::{Value, json};
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::time::{MissedTickBehavior, interval_at};

/// The samples that are kept, the oldest first.
#[derive(Default)]
pub(super) struct History(Mutex<VecDeque<Arc<Sample>>>);

/// How a server was at a moment, and what it did since the one before.
#[derive(Debug, Serialize)]
struct Sample {
    /// When, milliseconds since the Unix epoch. Each is later than the one before.
    time: Millis,
    /// How long before the last one was taken.
    seconds: f64,
    /// Instances of components now, and runs that wait for one.
    running: usize,
    waiting: usize,
    connections: usize,
    listens: usize,
    memory_bytes: Option<u64>,
    /// None if tasks are not offered, or their store failed.
    tasks: Option<Tasks>,
    /// Calls since then, by whomever and of whichever tool.
    #[serde(flatten)]
    calls: Calls,
    /// What limits refused since then, by their names; none that refused nothing.
    refusals: BTreeMap<&'static str, u64>,
    /// Those that were called or ran since then.
    tools: Box<[Series]>,
    tenants: Box<[Series]>,
}

#[derive(Debug, Serialize)]
struct Tasks {
    working: usize,
    input_required: usize,
    /// Those of them with a run on this node now.
    running: usize,
    /// What became of tasks since then, on this node.
    created: usize,
    completed: usize,
    failed: usize,
    cancelled: usize,
}

/// Of one tool or tenant.
#[derive(Debug, Serialize)]
struct Series {
    /// None: of all that are not told apart.
    #[serde(serialize_with = "name")]
    name: Option<Arc<str>>,
    #[serde(flatten)]
    calls: Calls,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
struct Calls {
    calls: u64,
    errors: u64,
    cpu_seconds: f32,
    /// Of the calls since then; none without any, or where it is not known.
    p50_ms: Option<f32>,
    p99_ms: Option<f32>,
}

fn name<S: Serializer>(name: &Option<Arc<str>>, serializer: S) -> Result<S::Ok, S::Error> {
    name.as_deref().serialize(serializer)
}

impl History {
    /// What is kept that is later than a time, for a client that has the rest.
    pub(super) fn since(&self, time: Millis) -> Value {
        let samples: Vec<Arc<Sample>> = {
            let all = self.0.lock();
            let start = all.partition_point(|sample| sample.time <= time);
            all.range(start..).cloned().collect()
        };
        let samples: Vec<&Sample> = samples.iter().map(|it| &**it).collect();
        json!({ "period_seconds": HISTORY_PERIOD.as_secs_f64(), "samples": samples })
    }

    fn push(&self, mut sample: Sample) {
        let mut samples = self.0.lock();
        // A clock that was set back.
        if let Some(last) = samples.back() {
            sample.time = sample.time.max(last.time + 1);
        }
        if samples.len() >= HISTORY_SAMPLES {
            samples.pop_front();
        }
        samples.push_back(Arc::new(sample));
    }

    /// Takes samples of a server, for as long as this is polled.
    pub(super) async fn follow(&self, server: &Server) {
        let mut last = Last::of(server);
        let start = tokio::time::Instant::now() + HISTORY_PERIOD;
        let mut ticks = interval_at(start, HISTORY_PERIOD);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            self.push(last.sample(server).await);
        }
    }
}

/// What a server had counted when the last sample was taken.
struct Last {
    at: Instant,
    tally: Option<Tally>,
    /// When the tasks of a database that nodes share were counted.
    counted: Option<Instant>,
    refusals: [u64; Limit::ALL.len()],
    tools: HashMap<Arc<str>, Counted>,
    tenants: HashMap<Arc<str>, Counted>,
}

/// What was counted of one tool or tenant.
struct Counted {
    metrics: Arc<CallMetrics>,
    calls: u64,
    errors: u64,
    cpu: Duration,
    times: Mark,
}

impl Last {
    fn of(server: &Server) -> Self {
        Self {
            at: Instant::now(),
            tally: None,
            counted: None,
            refusals: Limit::ALL.map(|limit| server.metrics().refusals(limit)),
            tools: HashMap::new(),
            tenants: HashMap::new(),
        }
    }

    async fn sample(&mut self, server: &Server) -> Sample {
        let metrics = server.metrics();
        let tasks = match server.tasks() {
            Some(tasks) => self.tasks(tasks).await,
            None => None,
        };
        let now = Instant::now();
        let seconds = now.duration_since(self.at).as_secs_f64();
        self.at = now;
        let catalog = server.catalog().now();
        let tools = catalog.tools().map(|tool| &tool.name);
        let tools = tools.map(|name| (Arc::clone(name), metrics.tool(name)));
        let tenants = server.tenants().metrics();
        let tenants = tenants.map(|(name, metrics)| (Arc::clone(name), Arc::clone(metrics)));
        let (tools, _) = changes(&mut self.tools, tools);
        // All that was ever called by somebody: tools go, tenants stay.
        let (tenants, calls) = changes(&mut self.tenants, tenants);
        let refusals = Limit::ALL.map(|limit| metrics.refusals(limit));
        let before = std::mem::replace(&mut self.refusals, refusals);
        let refused = Limit::ALL.iter().zip(refusals).zip(before);
        Sample {
            time: task::now(),
            seconds,
            running: server.runtime().running(),
            waiting: server.runtime().waiting(),
            connections: metrics.connections().taken(),
            listens: server.listening(),
            memory_bytes: process::resident_bytes(),
            tasks,
            calls,
            refusals: refused
                .map(|((limit, now), before)| (limit.name(), now - before))
                .filter(|(_, number)| *number > 0)
                .collect(),
            tools,
            tenants,
        }
    }

    async fn tasks(&mut self, tasks: &task::Tasks) -> Option<Tasks> {
        // Each node counts all tasks of a database, which has better things to do.
        let fresh = |at: Instant| at.elapsed() < HISTORY_SHARED_PAUSE;
        let tally = match self.tally {
            Some(tally) if tasks.is_shared() && self.counted.is_some_and(fresh) => tally,
            _ => {
                self.counted = Some(Instant::now());
                // A store that fails says so in the log.
                tasks.tally().await.ok()?
            }
        };
        let before = self.tally.replace(tally).unwrap_or_default();
        let moved = |kind| tally.moved(kind).saturating_sub(before.moved(kind));
        Some(Tasks {
            working: tally.of(task::Status::Working),
            input_required: tally.of(task::Status::InputRequired),
            running: tasks.running(),
            created: moved(Move::Created),
            completed: moved(Move::Completed),
            failed: moved(Move::Failed),
            cancelled: moved(Move::Cancelled),
        })
    }
}

/// What was counted since the last time: of each that did something, and of all together. Those that are
/// gone are forgotten.
fn changes(
    last: &mut HashMap<Arc<str>, Counted>,
    now: impl Iterator<Item = (Arc<str>, Arc<CallMetrics>)>,
) -> (Box<[Series]>, Calls) {
    let mut before = std::mem::take(last);
    let (mut series, mut times, mut all) = (Vec::new(), Latencies::none(), Calls::default());
    for (name, metrics) in now {
        // What came back after it was gone counts from the start.
        let known = before.remove(&name);
        let known = known.filter(|known| Arc::ptr_eq(&known.metrics, &metrics));
        let (calls, errors, cpu) = (metrics.all_calls(), metrics.errors(), metrics.cpu());
        let (calls_before, errors_before, cpu_before) =
            known.as_ref().map_or((0, 0, Duration::ZERO), |known| {
                (known.calls, known.errors, known.cpu)
            });
        if (calls, cpu) == (calls_before, cpu_before) {
            last.extend(known.map(|known| (name, known)));
            continue;
        }
        let mut latencies = metrics.latencies();
        let mark = latencies.mark();
        if let Some(known) = &known {
            latencies = latencies.since(&known.times);
        }
        let mut changed = Calls {
            calls: calls - calls_before,
            errors: errors.saturating_sub(errors_before),
            cpu_seconds: cpu.saturating_sub(cpu_before).as_secs_f32(),
            ..Calls::default()
        };
        changed.tell(&latencies);
        all.add(&changed);
        times = times.and(&latencies);
        series.push(Series {
            name: Some(Arc::clone(&name)),
            calls: changed,
        });
        let counted = Counted {
            metrics,
            calls,
            errors,
            cpu,
            times: mark,
        };
        last.insert(name, counted);
    }
    all.tell(&times);
    (busiest(series), all)
}

/// Of too many, those with the fewest calls as one. It takes no more room than it needs.
fn busiest(mut series: Vec<Series>) -> Box<[Series]> {
    if series.len() > HISTORY_SERIES {
        series.sort_by_key(|it| Reverse(it.calls.calls));
        let mut rest = Calls::default();
        for one in series.drain(HISTORY_SERIES - 1..) {
            rest.add(&one.calls);
        }
        series.push(Series {
            name: None,
            calls: rest,
        });
    }
    series.into_boxed_slice()
}

impl Calls {
    fn add(&mut self, more: &Self) {
        self.calls += more.calls;
        self.errors += more.errors;
        self.cpu_seconds += more.cpu_seconds;
    }

    fn tell(&mut self, times: &Latencies) {
        let millis = |part| Some(times.quantile(part)?.as_secs_f32() * 1_000.0);
        (self.p50_ms, self.p99_ms) = (millis(0.5), millis(0.99));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::{CallCounters, Outcome};

    fn call(metrics: &Arc<CallMetrics>, nanos: u64, outcome: Outcome) {
        let counters = CallCounters::new(Arc::clone(metrics), Arc::default());
        counters.used_cpu(nanos);
        counters.begin().end(outcome);
    }

    fn named(names: usize) -> Vec<(Arc<str>, Arc<CallMetrics>)> {
        let one = |number: usize| (format!("t{number}").into(), Arc::default());
        (0..names).map(one).collect()
    }

    #[test]
    fn a_sample_has_what_changed_and_what_is_gone_is_forgotten() {
        let tools = named(3);
        let mut last = HashMap::new();
        call(&tools[0].1, 1_000_000, Outcome::Result);
        call(&tools[0].1, 0, Outcome::Error);
        let (series, all) = changes(&mut last, tools.iter().cloned());
        assert_eq!(series.len(), 1, "the others did nothing: {series:?}");
        assert_eq!(series[0].name.as_deref(), Some("t0"));
        assert_eq!((all.calls, all.errors, all.cpu_seconds), (2, 1, 0.001));
        assert!(all.p50_ms.is_some() && all.p50_ms <= all.p99_ms);
        assert_eq!(series[0].calls, all);

        assert!(changes(&mut last, tools.iter().cloned()).0.is_empty());
        call(&tools[0].1, 0, Outcome::Result);
        let (series, all) = changes(&mut last, tools.iter().cloned());
        assert_eq!((series.len(), all.calls, all.errors), (1, 1, 0));

        // One that goes and comes back has other counters.
        let back = (Arc::clone(&tools[0].0), Arc::default());
        call(&back.1, 0, Outcome::Result);
        assert_eq!(changes(&mut last, [back].into_iter()).1.calls, 1);
        changes(&mut last, std::iter::empty());
        assert!(last.is_empty());
    }

    #[test]
    fn however_many_are_called_a_sample_tells_so_many_apart() {
        let tools = named(HISTORY_SERIES + 10);
        for (number, (_, metrics)) in tools.iter().enumerate() {
            for _ in 0..=number {
                call(metrics, 0, Outcome::Result);
            }
        }
        let (series, all) = changes(&mut HashMap::new(), tools.into_iter());
        assert_eq!(series.len(), HISTORY_SERIES);
        assert_eq!(series[0].name.as_deref(), Some("t73"), "the busiest");
        let rest = series.last().unwrap();
        assert_eq!((rest.name.as_deref(), rest.calls.calls), (None, 66));
        let sum: u64 = series.iter().map(|it| it.calls.calls).sum();
        assert_eq!(sum, all.calls, "none is lost");
    }

    #[test]
    fn the_oldest_is_forgotten_and_a_client_gets_what_it_has_not() {
        let history = History::default();
        let sample = |time| Sample {
            time,
            seconds: 5.0,
            running: 0,
            waiting: 0,
            connections: 0,
            listens: 0,
            memory_bytes: None,
            tasks: None,
            calls: Calls::default(),
            refusals: BTreeMap::new(),
            tools: Box::default(),
            tenants: Box::default(),
        };
        let times = |since| -> Vec<i64> {
            let told = history.since(since);
            let samples = told["samples"].as_array().unwrap();
            samples
                .iter()
                .map(|it| it["time"].as_i64().unwrap())
                .collect()
        };
        for time in 1..=HISTORY_SAMPLES as i64 + 2 {
            history.push(sample(time));
        }
        assert_eq!(times(0).len(), HISTORY_SAMPLES);
        assert_eq!(times(0)[0], 3);
        assert_eq!(times(720), [721, 722]);
        // A clock that was set back.
        history.push(sample(5));
        assert_eq!(times(722), [723]);
        assert!(times(9_000).is_empty());
    }
}
