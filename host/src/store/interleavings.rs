//! A made-up handler run over a store, with updates, cancels, expiry, crashes and runs of the past
//! in any order.
//!
//! Invariants: the task has one end, which is what an undisturbed handler gives, or the cancel's or
//! the ttl's; a client is not asked again for what it answered; a task that nobody cancels goes on to
//! its end however often its runs are lost.

use super::suite::{Fixture, OPTIONS, apply, failure, job, memory, new, postgres, sqlite};
use super::{Applied, Store, StoreOptions};
use crate::journal::{Digest, Entry, Journal, JournalOptions, Time};
use crate::protocol::raw;
use crate::task::{Claim, Event, Fence, Millis, Outcome, Status, TaskId, Writes, example_task};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};
use std::collections::HashSet;
use std::sync::Arc;

/// What the handler does, in order.
const PROGRAM: [Verb; 5] = [
    Verb::Ask(&["a", "b"]),
    Verb::Record("seen"),
    Verb::Sleep(50),
    Verb::Ask(&["c"]),
    Verb::Complete,
];

#[derive(Clone, Copy)]
enum Verb {
    Ask(&'static [&'static str]),
    Record(&'static str),
    Sleep(i64),
    Complete,
}

/// Something that happens.
#[derive(Clone, Debug)]
enum Happening {
    /// Some run takes the task.
    Claim,
    /// One of the runs, perhaps one of the past, does its next verb.
    Step(usize),
    /// The client answers some keys.
    Update(Vec<&'static str>),
    Cancel,
    Wait(i64),
    Sweep,
}

fn happenings() -> impl Strategy<Value = Vec<Happening>> {
    let keys = prop::sample::subsequence(vec!["a", "b", "c"], 1..4);
    let happening = prop_oneof![
        3 => Just(Happening::Claim),
        8 => (0..4usize).prop_map(Happening::Step),
        3 => keys.prop_map(Happening::Update),
        1 => Just(Happening::Cancel),
        2 => (0..80i64).prop_map(Happening::Wait),
        1 => Just(Happening::Sweep),
    ];
    prop::collection::vec(happening, 0..40)
}

/// A run: how far it is, under which lease.
struct Run {
    fence: Fence,
    journal: Journal,
    next: usize,
}

impl Run {
    fn new(claim: Claim) -> Self {
        let options = JournalOptions {
            seed: job().setup.seed,
            attempt: claim.task.attempt,
            started: 0,
            time: Time::Rehearsed,
            limit: 1 << 20,
            kill_after: None,
        };
        let records = claim.records.into_iter().collect();
        Self {
            fence: claim.task.fence(),
            journal: Journal::replay(options, &claim.rows, records).unwrap(),
            next: 0,
        }
    }

    /// Does the next verb. False: the run is over, or waits.
    async fn step(&mut self, store: &Arc<dyn Store>, id: TaskId, now: Millis) -> bool {
        let fence = self.fence;
        let (entry, event) = match PROGRAM[self.next] {
            Verb::Ask(keys) => {
                let keys: Vec<String> = keys.iter().map(|key| (*key).to_owned()).collect();
                let request = Digest::of(keys.concat().as_bytes());
                let wire = json!({ "method": "roots/list" });
                let requests = keys.iter().map(|key| (key.clone(), wire.clone())).collect();
                (
                    Entry::Ask { request, keys },
                    Event::AskInput { fence, requests },
                )
            }
            Verb::Sleep(millis) => {
                let until = now + millis;
                let entry = Entry::Sleep {
                    request: Digest::of(b"sleep"),
                    until: until as u64,
                };
                (entry, Event::Sleep { fence, until })
            }
            Verb::Record(key) => return self.record(store, id, key, now).await,
            Verb::Complete => {
                self.journal.end().unwrap();
                let task = store.get(id).await.unwrap();
                let keys = ["a", "b", "c"].map(str::to_owned);
                let answers = task.and_then(|task| task.inputs.answers(&keys));
                let result = raw(
                    &json!({ "answers": answers, "seen": self.journal.recall("seen").unwrap() }),
                );
                apply(store, id, Event::Complete { fence, result }, now)
                    .await
                    .unwrap();
                return false;
            }
        };
        let take = |kept: &Entry| match (kept, &entry) {
            (Entry::Ask { request: a, .. }, Entry::Ask { request: b, .. }) if a == b => Some(0),
            (Entry::Sleep { until, .. }, Entry::Sleep { .. }) => Some(*until as i64),
            _ => None,
        };
        let replayed = self.journal.next(|| entry.to_string(), take).unwrap();
        let mut until = 0;
        if let Some(kept) = replayed {
            until = kept;
        } else {
            self.journal.push(entry).unwrap();
            let writes = Writes {
                segment: self.journal.unstored(),
                ..Writes::default()
            };
            let applied = store.apply(id, event, writes, now).await.unwrap();
            if let Applied::Refused(_) = applied {
                return false;
            }
            self.journal.stored();
            if let Verb::Sleep(millis) = PROGRAM[self.next] {
                until = now + millis;
            }
        }
        let goes_on = match PROGRAM[self.next] {
            Verb::Ask(keys) => {
                let keys: Vec<String> = keys.iter().map(|key| (*key).to_owned()).collect();
                {
                    let task = store.get(id).await.unwrap();
                    task.is_some_and(|task| task.inputs.have(&keys))
                }
            }
            _ => until <= now,
        };
        self.next += usize::from(goes_on);
        goes_on
    }

    async fn record(&mut self, store: &Arc<dyn Store>, id: TaskId, key: &str, now: Millis) -> bool {
        if self.journal.recall(key).unwrap().is_none() {
            let plan = self.journal.plan_record(key, b"once").unwrap();
            let writes = Writes {
                segment: Some(plan.segment.clone()),
                records: vec![(key.to_owned(), b"once".to_vec())],
            };
            let keep = Event::Keep { fence: self.fence };
            match store.apply(id, keep, writes, now).await.unwrap() {
                Applied::Quiet => self
                    .journal
                    .record(plan, key.to_owned(), b"once".to_vec(), true),
                _ => return false,
            }
        }
        self.next += 1;
        true
    }
}

/// One task, and all that ever ran it.
struct World {
    store: Arc<dyn Store>,
    id: TaskId,
    now: Millis,
    runs: Vec<Run>,
    answered: HashSet<String>,
    end: Option<Value>,
}

impl World {
    async fn new(store: Arc<dyn Store>, ttl: Option<u64>) -> Self {
        let id = TaskId::random();
        let task = example_task(ttl);
        store
            .create(id, new(task, Writes::default()))
            .await
            .unwrap();
        Self {
            store,
            id,
            now: 1_000,
            runs: Vec::new(),
            answered: HashSet::new(),
            end: None,
        }
    }

    async fn happen(&mut self, happening: Happening) {
        let (store, id, now) = (&self.store, self.id, self.now);
        match happening {
            Happening::Claim => {
                if let Some(claim) = store.claim(id, None, failure("lost"), now).await.unwrap() {
                    self.runs.push(Run::new(claim));
                }
            }
            Happening::Step(index) => {
                // The latest run is the first.
                let place = self.runs.len().checked_sub(index + 1);
                if let Some(place) = place
                    && !self.runs[place].step(store, id, now).await
                {
                    self.runs.remove(place);
                }
            }
            Happening::Update(keys) => {
                let Some(task) = store.get(id).await.unwrap() else {
                    return;
                };
                let open = keys
                    .iter()
                    .filter(|key| task.inputs.open.contains_key(**key));
                let responses: Vec<_> = open
                    .map(|key| ((*key).to_owned(), json!({ "roots": [], "key": key })))
                    .collect();
                let keys: Vec<_> = responses.iter().map(|(key, _)| key.clone()).collect();
                let answer = Event::Answer { responses };
                if apply(store, id, answer, now).await.unwrap() == Applied::Changed {
                    self.answered.extend(keys);
                }
            }
            Happening::Cancel => {
                apply(store, id, Event::Cancel, now).await.unwrap();
            }
            Happening::Wait(millis) => self.now += millis,
            Happening::Sweep => {
                let expire = Event::Expire {
                    ttl: failure("expired"),
                    wall: failure("too long"),
                };
                store.sweep(expire, now).await.unwrap();
            }
        }
    }

    /// Looks at the task, as a client does.
    async fn look(&mut self) -> Result<(), TestCaseError> {
        let Some(task) = self.store.get(self.id).await.unwrap() else {
            prop_assert!(self.end.is_some(), "a task that did not end is gone");
            return Ok(());
        };
        let again = task
            .inputs
            .open
            .keys()
            .find(|key| self.answered.contains(*key));
        prop_assert_eq!(again, None, "asked again");
        let outcome = match &task.outcome {
            Some(Outcome::Result(result)) => json!(result),
            Some(Outcome::Error(error)) => json!(error),
            None => Value::Null,
        };
        let seen = json!([task, outcome]);
        match &self.end {
            Some(end) => prop_assert_eq!(end, &seen, "an end changed"),
            None if task.status.is_final() => self.end = Some(seen),
            None => {}
        }
        if task.status == Status::Completed {
            let answers = ["a", "b", "c"].map(|key| json!([key, { "roots": [], "key": key }]));
            prop_assert_eq!(outcome, json!({ "answers": answers, "seen": b"once" }));
        }
        Ok(())
    }

    /// A client that answers and a server that lives: the task must end.
    async fn finish(&mut self) -> Result<(), TestCaseError> {
        self.runs.clear();
        for _ in 0..100 {
            if self.end.is_some() {
                return Ok(());
            }
            self.happen(Happening::Wait(100)).await;
            self.happen(Happening::Update(vec!["a", "b", "c"])).await;
            if self.runs.is_empty() {
                self.happen(Happening::Claim).await;
            }
            self.happen(Happening::Step(0)).await;
            self.look().await?;
        }
        Err(TestCaseError::fail("the task does not end"))
    }
}

fn run(fixture: fn(StoreOptions) -> Fixture, cases: u32) {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let fixture = {
        let _entered = runtime.enter();
        fixture(OPTIONS)
    };
    let mut runner = TestRunner::new(ProptestConfig::with_cases(cases));
    let all = (prop::option::weighted(0.3, 1..400u64), happenings());
    runner
        .run(&all, |(ttl, happenings)| {
            runtime.block_on(async {
                let mut world = World::new(Arc::clone(&fixture.store), ttl).await;
                for happening in happenings {
                    world.happen(happening).await;
                    world.look().await?;
                }
                world.finish().await
            })
        })
        .unwrap();
}

#[test]
fn whatever_happens_in_whatever_order_in_memory() {
    run(memory, 2_000);
}

#[test]
fn whatever_happens_in_whatever_order_in_sqlite() {
    run(sqlite, 60);
}

#[test]
fn whatever_happens_in_whatever_order_in_postgres() {
    run(postgres, 60);
}
