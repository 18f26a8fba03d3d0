//! One suite for every store.

use super::{Applied, MemoryStore, SqliteStore, Store, StoreError, StoreOptions};
use crate::journal::{Seed, Segment};
use crate::limits::SWEEP_BATCH;
use crate::limits::{RunLimits, SandboxLimits, TaskLimits};
use crate::protocol::raw;
use crate::task::{
    Event, Failure, Fence, Job, Millis, NewTask, Outcome, Refusal, Retention, Setup, Status, Task,
    TaskId, Wait, Writes, example_task,
};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};
use std::sync::Arc;
use tempfile::TempDir;

pub(super) const OPTIONS: StoreOptions = StoreOptions {
    max_tasks: 100_000,
    retention: Retention {
        without_ttl_ms: 1_000,
        at_least_ms: 100,
    },
    die_at_write: None,
};

/// A store, and the folder it lives in.
pub(super) struct Fixture {
    pub(super) store: Arc<dyn Store>,
    _folder: Option<TempDir>,
}

pub(super) fn memory(options: StoreOptions) -> Fixture {
    Fixture {
        store: Arc::new(MemoryStore::new(options)),
        _folder: None,
    }
}

pub(super) fn sqlite(options: StoreOptions) -> Fixture {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(&folder.path().join("tasks.sqlite"), options).unwrap();
    Fixture {
        store: Arc::new(store),
        _folder: Some(folder),
    }
}

/// Runs each named test against each store.
macro_rules! suite {
    ($($test:ident),* $(,)?) => {
        mod in_memory {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
            async fn $test() { super::$test(super::memory).await; })*
        }
        mod in_sqlite {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
            async fn $test() { super::$test(super::sqlite).await; })*
        }
    };
}

suite!(
    a_task_comes_back_as_it_went,
    every_transition_is_stored,
    what_is_refused_changes_nothing,
    cancel_and_complete_race_to_one_end,
    racing_partial_answers_are_both_kept,
    many_writers_lose_nothing,
    a_full_store_refuses_until_something_is_due,
    a_tenant_has_as_many_unfinished_tasks_as_it_may,
    the_sweep_fails_and_removes_in_time,
    a_long_sweep_comes_in_batches,
    a_claim_gives_what_was_kept_and_fences_older_runs,
    a_final_task_keeps_no_work,
    a_failed_attempt_keeps_answers_and_records,
    what_is_unfinished_is_told,
    racing_claims_take_different_leases,
);

/// The run that made a task.
pub(super) const FIRST: Fence = Fence {
    attempt: 1,
    lease: 0,
};

pub(super) fn job() -> Job {
    Job {
        arguments: raw(&json!({ "a": "ä\n" })),
        setup: Setup {
            seed: Seed::from_bytes([9; 32]),
            started: 5,
            limits: RunLimits::new(&SandboxLimits::default(), &TaskLimits::default()),
            detached_after: Some(3),
        },
    }
}

pub(super) fn new(task: Task, writes: Writes) -> NewTask {
    NewTask {
        task,
        job: job(),
        writes,
        most: usize::MAX,
    }
}

/// A row of a journal.
fn row(row: u32, replaces: bool, entries: &[u8]) -> Writes {
    Writes {
        segment: Some(Segment {
            row,
            replaces,
            entries: entries.to_vec(),
        }),
        records: Vec::new(),
    }
}

pub(super) fn failure(message: &str) -> Failure {
    Failure {
        error: raw(&json!({ "code": -32603, "message": message })),
        message: message.to_owned(),
    }
}

/// An event that keeps nothing beside itself.
pub(super) async fn apply(
    store: &Arc<dyn Store>,
    id: TaskId,
    event: Event,
    now: Millis,
) -> Result<Applied, StoreError> {
    store.apply(id, event, Writes::default(), now).await
}

pub(super) async fn create(store: &Arc<dyn Store>, task: Task) -> TaskId {
    let id = TaskId::random();
    store
        .create(id, new(task, Writes::default()))
        .await
        .unwrap();
    id
}

pub(super) fn complete() -> Event {
    Event::Complete {
        fence: FIRST,
        result: raw(&json!({ "content": [] })),
    }
}

fn expire() -> Event {
    Event::Expire {
        ttl: failure("expired"),
        wall: failure("too long"),
    }
}

pub(super) fn ask(keys: &[&str]) -> Event {
    let request = |key: &&str| ((*key).to_owned(), json!({ "method": "roots/list" }));
    Event::AskInput {
        fence: FIRST,
        requests: keys.iter().map(request).collect(),
    }
}

fn answer(keys: &[&str]) -> Event {
    let answer = |key: &&str| ((*key).to_owned(), json!({ "roots": [] }));
    Event::Answer {
        responses: keys.iter().map(answer).collect(),
    }
}

/// Everything a reader can see.
fn seen(task: &Task) -> Value {
    let outcome = match &task.outcome {
        Some(Outcome::Result(result)) => json!({ "result": result }),
        Some(Outcome::Error(error)) => json!({ "error": error }),
        None => Value::Null,
    };
    json!([task, outcome])
}

async fn a_task_comes_back_as_it_went(fixture: fn(StoreOptions) -> Fixture) {
    let fixture = fixture(OPTIONS);
    let store = &fixture.store;
    let mut task = example_task(Some(60_000));
    task.message = Some("é\u{1f600}".to_owned());
    let id = create(store, task.clone()).await;
    assert_eq!(seen(&store.get(id).await.unwrap().unwrap()), seen(&task));
    assert!(store.get(TaskId::random()).await.unwrap().is_none());
}

async fn every_transition_is_stored(fixture: fn(StoreOptions) -> Fixture) {
    let fixture = fixture(OPTIONS);
    let store = &fixture.store;
    let id = create(store, example_task(None)).await;
    let progress = Event::Progress {
        fence: FIRST,
        message: "half".to_owned(),
    };
    let steps = [
        (progress, Status::Working),
        (ask(&["a", "b"]), Status::InputRequired),
        (answer(&["b"]), Status::InputRequired),
        (answer(&["a"]), Status::Working),
        (complete(), Status::Completed),
    ];
    for (event, status) in steps {
        assert_eq!(
            apply(store, id, event, 2_000).await.unwrap(),
            Applied::Changed
        );
        assert_eq!(store.get(id).await.unwrap().unwrap().status, status);
    }
    let ends = [
        (
            Event::Fail {
                fence: FIRST,
                failure: failure("x"),
                retry: true,
            },
            Status::Failed,
        ),
        (Event::Cancel, Status::Cancelled),
    ];
    for (event, status) in ends {
        let id = create(store, example_task(None)).await;
        assert_eq!(
            apply(store, id, event, 2_000).await.unwrap(),
            Applied::Changed
        );
        let task = store.get(id).await.unwrap().unwrap();
        assert_eq!(task.status, status);
        assert_eq!(task.updated_at, 2_000);
        assert_eq!(task.outcome.is_some(), status == Status::Failed);
    }
}

async fn what_is_refused_changes_nothing(fixture: fn(StoreOptions) -> Fixture) {
    let fixture = fixture(OPTIONS);
    let store = &fixture.store;
    let id = create(store, example_task(None)).await;
    let stale = Event::Complete {
        fence: Fence {
            attempt: 7,
            lease: 0,
        },
        result: raw(&json!({})),
    };
    assert_eq!(
        apply(store, id, stale, 2_000).await.unwrap(),
        Applied::Refused(Refusal::Stale)
    );
    apply(store, id, complete(), 2_000).await.unwrap();
    let before = seen(&store.get(id).await.unwrap().unwrap());
    assert_eq!(
        apply(store, id, complete(), 3_000).await.unwrap(),
        Applied::Refused(Refusal::Final)
    );
    assert_eq!(
        apply(store, id, Event::Cancel, 3_000).await.unwrap(),
        Applied::Unchanged
    );
    assert_eq!(seen(&store.get(id).await.unwrap().unwrap()), before);
    let missing = apply(store, TaskId::random(), Event::Cancel, 3_000)
        .await
        .unwrap();
    assert_eq!(missing, Applied::Missing);
}

async fn cancel_and_complete_race_to_one_end(fixture: fn(StoreOptions) -> Fixture) {
    let fixture = fixture(OPTIONS);
    let mut ends = [0, 0];
    for round in 0..1_000 {
        let id = create(&fixture.store, example_task(None)).await;
        let racer = |event: Event| {
            let store = Arc::clone(&fixture.store);
            tokio::spawn(async move { apply(&store, id, event, 2_000).await.unwrap() })
        };
        // Either may be sent first; a third task looks on all the while.
        let (cancel, completed) = if round % 2 == 0 {
            let cancel = racer(Event::Cancel);
            (cancel, racer(complete()))
        } else {
            let completed = racer(complete());
            (racer(Event::Cancel), completed)
        };
        let onlooker = {
            let store = Arc::clone(&fixture.store);
            tokio::spawn(async move {
                loop {
                    let first = store.get(id).await.unwrap().unwrap();
                    if first.status.is_final() {
                        return seen(&first);
                    }
                    tokio::task::yield_now().await;
                }
            })
        };
        let cancelled = cancel.await.unwrap() == Applied::Changed;
        let completed = completed.await.unwrap() == Applied::Changed;
        assert!(cancelled != completed, "exactly one ends the task");
        ends[usize::from(completed)] += 1;
        let first_seen = onlooker.await.unwrap();
        let last = store_seen(&fixture.store, id).await;
        assert_eq!(last, first_seen, "it never changed after it was read");
        let expected = if completed { "completed" } else { "cancelled" };
        assert_eq!(last[0]["status"], expected);
    }
    assert_eq!(ends[0] + ends[1], 1_000);
}

pub(super) async fn store_seen(store: &Arc<dyn Store>, id: TaskId) -> Value {
    seen(&store.get(id).await.unwrap().unwrap())
}

async fn racing_partial_answers_are_both_kept(fixture: fn(StoreOptions) -> Fixture) {
    let fixture = fixture(OPTIONS);
    for _ in 0..200 {
        let id = create(&fixture.store, example_task(None)).await;
        apply(&fixture.store, id, ask(&["a", "b"]), 1_500)
            .await
            .unwrap();
        let racer = |key: &'static str| {
            let store = Arc::clone(&fixture.store);
            tokio::spawn(async move { apply(&store, id, answer(&[key]), 2_000).await.unwrap() })
        };
        let (a, b) = (racer("a"), racer("b"));
        assert_eq!(
            (a.await.unwrap(), b.await.unwrap()),
            (Applied::Changed, Applied::Changed)
        );
        let task = fixture.store.get(id).await.unwrap().unwrap();
        assert_eq!(task.status, Status::Working);
        assert_eq!(task.inputs.answered.len(), 2);
    }
}

async fn many_writers_lose_nothing(fixture: fn(StoreOptions) -> Fixture) {
    let fixture = fixture(OPTIONS);
    let writers = (0..64).map(|writer| {
        let store = Arc::clone(&fixture.store);
        tokio::spawn(async move {
            let mut ids = Vec::new();
            for round in 0..20 {
                let id = create(&store, example_task(None)).await;
                assert!(
                    store.get(id).await.unwrap().is_some(),
                    "durable before it is answered"
                );
                let message = format!("{writer}.{round}");
                let progress = Event::Progress {
                    fence: FIRST,
                    message: message.clone(),
                };
                apply(&store, id, progress, 2_000).await.unwrap();
                ids.push((id, message));
            }
            ids
        })
    });
    for writer in writers.collect::<Vec<_>>() {
        for (id, message) in writer.await.unwrap() {
            let task = fixture.store.get(id).await.unwrap().unwrap();
            assert_eq!(task.message, Some(message));
        }
    }
}

async fn a_full_store_refuses_until_something_is_due(fixture: fn(StoreOptions) -> Fixture) {
    let fixture = fixture(StoreOptions {
        max_tasks: 2,
        ..OPTIONS
    });
    let store = &fixture.store;
    let first = create(store, example_task(Some(5_000))).await;
    create(store, example_task(None)).await;
    let refused = store
        .create(TaskId::random(), new(example_task(None), Writes::default()))
        .await;
    assert!(matches!(refused, Err(StoreError::LimitReached)));
    apply(store, first, complete(), 2_000).await.unwrap();
    let refused = store
        .create(TaskId::random(), new(example_task(None), Writes::default()))
        .await;
    assert!(
        matches!(refused, Err(StoreError::LimitReached)),
        "its ttl is not over"
    );
    let mut later = example_task(None);
    later.created_at = 6_000;
    store
        .create(TaskId::random(), new(later.clone(), Writes::default()))
        .await
        .unwrap();
    assert!(store.get(first).await.unwrap().is_none());
    let refused = store
        .create(TaskId::random(), new(later, Writes::default()))
        .await;
    assert!(matches!(refused, Err(StoreError::LimitReached)));
}

async fn a_tenant_has_as_many_unfinished_tasks_as_it_may(fixture: fn(StoreOptions) -> Fixture) {
    let fixture = fixture(OPTIONS);
    let store = &fixture.store;
    let of = |tenant: &str| {
        let mut task = example_task(None);
        task.owner.tenant = tenant.to_owned();
        NewTask {
            most: 2,
            ..new(task, Writes::default())
        }
    };
    let first = TaskId::random();
    store.create(first, of("a")).await.unwrap();
    store.create(TaskId::random(), of("a")).await.unwrap();
    let refused = store.create(TaskId::random(), of("a")).await;
    assert!(matches!(refused, Err(StoreError::LimitReached)));
    store.create(TaskId::random(), of("b")).await.unwrap();
    for _ in 0..2 {
        // It ends once, whatever is said after.
        apply(store, first, complete(), 2_000).await.unwrap();
        apply(store, first, Event::Cancel, 2_000).await.unwrap();
    }
    store.create(TaskId::random(), of("a")).await.unwrap();
    let refused = store.create(TaskId::random(), of("a")).await;
    assert!(matches!(refused, Err(StoreError::LimitReached)));
}

async fn the_sweep_fails_and_removes_in_time(fixture: fn(StoreOptions) -> Fixture) {
    let fixture = fixture(OPTIONS);
    let store = &fixture.store;
    // All created at 1 000.
    let running = create(store, example_task(Some(500))).await;
    let unlimited = create(store, example_task(None)).await;
    let finished = create(store, example_task(Some(500))).await;
    let late = create(store, example_task(Some(500))).await;
    let finished_unlimited = create(store, example_task(None)).await;
    apply(store, finished, complete(), 1_100).await.unwrap();
    apply(store, late, complete(), 1_480).await.unwrap();
    apply(store, finished_unlimited, complete(), 1_100)
        .await
        .unwrap();

    assert_eq!(
        store.sweep(expire(), 1_499).await.unwrap(),
        Default::default(),
        "never early"
    );
    let swept = store.sweep(expire(), 1_500).await.unwrap();
    assert_eq!(
        (swept.expired.as_slice(), swept.removed),
        ([running].as_slice(), 1)
    );
    assert!(store.get(finished).await.unwrap().is_none());
    assert_eq!(
        store.get(running).await.unwrap().unwrap().status,
        Status::Failed
    );

    let swept = store.sweep(expire(), 1_580).await.unwrap();
    assert_eq!(
        (swept.expired.len(), swept.removed),
        (0, 1),
        "kept 100 ms after its end"
    );
    assert!(store.get(late).await.unwrap().is_none());
    let swept = store.sweep(expire(), 1_600).await.unwrap();
    assert_eq!(swept.removed, 1);
    assert!(store.get(running).await.unwrap().is_none());
    assert_eq!(store.sweep(expire(), 2_099).await.unwrap().removed, 0);
    assert_eq!(store.sweep(expire(), 2_100).await.unwrap().removed, 1);
    assert!(store.get(finished_unlimited).await.unwrap().is_none());
    assert_eq!(
        store.sweep(expire(), Millis::MAX).await.unwrap(),
        Default::default()
    );
    assert!(
        store.get(unlimited).await.unwrap().is_some(),
        "an open task without ttl stays"
    );
}

async fn a_long_sweep_comes_in_batches(fixture: fn(StoreOptions) -> Fixture) {
    let fixture = fixture(OPTIONS);
    let store = &fixture.store;
    let tasks = SWEEP_BATCH + 5;
    let creations = (0..tasks).map(|_| create(store, example_task(Some(10))));
    futures_join(creations).await;
    let (mut expired, mut batches) = (0, 0);
    loop {
        let swept = store.sweep(expire(), 2_000).await.unwrap();
        expired += swept.expired.len();
        batches += 1;
        if !swept.more {
            break;
        }
    }
    assert_eq!((expired, batches), (tasks, 2));
}

/// Lets all wait for the store at once.
async fn futures_join<F: Future<Output = TaskId>>(futures: impl Iterator<Item = F>) {
    let mut futures: Vec<_> = futures.map(Box::pin).collect();
    std::future::poll_fn(move |context| {
        futures.retain_mut(|future| future.as_mut().poll(context).is_pending());
        if futures.is_empty() {
            std::task::Poll::Ready(())
        } else {
            std::task::Poll::Pending
        }
    })
    .await;
}

fn keep(fence: Fence) -> Event {
    Event::Keep { fence }
}

fn record(key: &str, value: &[u8]) -> Writes {
    Writes {
        segment: None,
        records: vec![(key.to_owned(), value.to_vec())],
    }
}

async fn a_claim_gives_what_was_kept_and_fences_older_runs(fixture: fn(StoreOptions) -> Fixture) {
    let fixture = fixture(OPTIONS);
    let store = &fixture.store;
    let id = TaskId::random();
    let first = row(0, false, b"start");
    store
        .create(id, new(example_task(None), first))
        .await
        .unwrap();
    let kept = [
        row(1, false, b"one"),
        row(2, false, b"two"),
        row(1, true, b"instead"),
        record("k", b"old"),
        record("k", b"new"),
    ];
    for writes in kept {
        let applied = store.apply(id, keep(FIRST), writes, 2_000).await.unwrap();
        assert_eq!(applied, Applied::Quiet);
    }
    let before = store.get(id).await.unwrap().unwrap();
    assert_eq!(before.updated_at, 1_000, "clients see no change");

    let claim = store.claim(id, failure("lost"), 3_000).await.unwrap();
    let claim = claim.unwrap();
    assert_eq!(claim.rows, [b"start".to_vec(), b"instead".to_vec()]);
    assert_eq!(claim.records, [("k".to_owned(), b"new".to_vec())]);
    let kept = claim.job.unwrap();
    assert_eq!(kept.arguments.get(), job().arguments.get());
    assert_eq!(json!(kept.setup), json!(job().setup));
    assert_eq!(
        claim.task.fence(),
        Fence {
            attempt: 1,
            lease: 1
        }
    );

    let stale = store
        .apply(id, keep(FIRST), row(2, false, b"zombie"), 3_000)
        .await
        .unwrap();
    assert_eq!(stale, Applied::Refused(Refusal::Stale));
    let next = store.claim(id, failure("lost"), 3_000).await.unwrap();
    assert_eq!(
        next.unwrap().rows.len(),
        2,
        "a refused write leaves nothing"
    );
    let missing = store.claim(TaskId::random(), failure("lost"), 3_000).await;
    assert!(missing.unwrap().is_none());
}

async fn a_final_task_keeps_no_work(fixture: fn(StoreOptions) -> Fixture) {
    let fixture = fixture(OPTIONS);
    let store = &fixture.store;
    let id = create(store, example_task(None)).await;
    store
        .apply(id, keep(FIRST), record("k", b"v"), 2_000)
        .await
        .unwrap();
    apply(store, id, complete(), 2_000).await.unwrap();
    assert!(
        store
            .claim(id, failure("lost"), 3_000)
            .await
            .unwrap()
            .is_none()
    );
    assert_eq!(store.unfinished().await.unwrap(), Default::default());
}

async fn a_failed_attempt_keeps_answers_and_records(fixture: fn(StoreOptions) -> Fixture) {
    let fixture = fixture(OPTIONS);
    let store = &fixture.store;
    let mut task = example_task(None);
    task.max_attempts = 2;
    let id = TaskId::random();
    let first = row(0, false, b"start");
    store.create(id, new(task, first)).await.unwrap();
    apply(store, id, ask(&["a"]), 1_100).await.unwrap();
    apply(store, id, answer(&["a"]), 1_200).await.unwrap();
    store
        .apply(id, keep(FIRST), record("k", b"v"), 1_300)
        .await
        .unwrap();
    let fail = |fence| Event::Fail {
        fence,
        failure: failure("trap"),
        retry: true,
    };
    assert_eq!(
        apply(store, id, fail(FIRST), 2_000).await.unwrap(),
        Applied::Changed
    );
    let task = store.get(id).await.unwrap().unwrap();
    assert_eq!(task.status, Status::Working);
    assert_eq!(task.message.as_deref(), Some("Attempt 1 of 2 failed: trap"));
    assert_eq!(task.wait, Wait::Until(3_000), "a second of pause");
    let early = store.claim(id, failure("lost"), 2_999).await.unwrap();
    assert!(early.is_none());
    let claim = store.claim(id, failure("lost"), 3_000).await.unwrap();
    let claim = claim.unwrap();
    assert!(claim.rows.is_empty(), "the journal was the attempt's");
    assert_eq!(claim.records.len(), 1);
    assert!(claim.task.inputs.have(&["a".to_owned()]));
    assert_eq!(
        apply(store, id, fail(claim.task.fence()), 4_000)
            .await
            .unwrap(),
        Applied::Changed
    );
    assert_eq!(store.get(id).await.unwrap().unwrap().status, Status::Failed);
}

async fn what_is_unfinished_is_told(fixture: fn(StoreOptions) -> Fixture) {
    let fixture = fixture(OPTIONS);
    let store = &fixture.store;
    let running = create(store, example_task(None)).await;
    let waiting = create(store, example_task(None)).await;
    let sleeping = create(store, example_task(None)).await;
    let finished = create(store, example_task(None)).await;
    apply(store, waiting, ask(&["a"]), 1_500).await.unwrap();
    let sleep = Event::Sleep {
        fence: FIRST,
        until: 9_000,
    };
    apply(store, sleeping, sleep, 1_500).await.unwrap();
    apply(store, finished, complete(), 1_500).await.unwrap();
    let mut unfinished = store.unfinished().await.unwrap();
    unfinished.ready.sort_by_key(|(_, time)| *time);
    assert_eq!(unfinished.ready, [(running, 0), (sleeping, 9_000)]);
    assert!(unfinished.digests.contains("00"));
    assert!(
        store
            .claim(waiting, failure("lost"), 2_000)
            .await
            .unwrap()
            .is_none()
    );
    assert!(
        store
            .claim(sleeping, failure("lost"), 8_999)
            .await
            .unwrap()
            .is_none()
    );
    apply(store, waiting, answer(&["a"]), 2_000).await.unwrap();
    assert!(
        store
            .claim(waiting, failure("lost"), 2_000)
            .await
            .unwrap()
            .is_some()
    );
    assert!(
        store
            .claim(sleeping, failure("lost"), 9_000)
            .await
            .unwrap()
            .is_some()
    );
}

async fn racing_claims_take_different_leases(fixture: fn(StoreOptions) -> Fixture) {
    let fixture = fixture(OPTIONS);
    let id = create(&fixture.store, example_task(None)).await;
    let claims = (0..10).map(|_| {
        let store = Arc::clone(&fixture.store);
        tokio::spawn(async move { store.claim(id, failure("lost"), 2_000).await.unwrap() })
    });
    let mut leases = Vec::new();
    for claim in claims.collect::<Vec<_>>() {
        leases.push(claim.await.unwrap().unwrap().task.lease);
    }
    leases.sort_unstable();
    assert_eq!(leases, (1..=10).collect::<Vec<_>>());
}

#[test]
fn the_stores_agree_under_every_order_of_operations() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let operation = prop_oneof![
        Just(complete()),
        Just(Event::Cancel),
        Just(Event::Progress {
            fence: FIRST,
            message: "m".into()
        }),
        Just(Event::Complete {
            fence: Fence {
                attempt: 2,
                lease: 0
            },
            result: raw(&json!({}))
        }),
        prop::sample::subsequence(vec!["a", "b", "c"], 1..3).prop_map(|keys| ask(&keys)),
        prop::sample::subsequence(vec!["a", "b", "c"], 1..3).prop_map(|keys| answer(&keys)),
        Just(keep(FIRST)),
        Just(Event::Claim {
            lost: failure("lost")
        }),
        (0..9_000i64).prop_map(|until| Event::Sleep {
            fence: FIRST,
            until
        }),
        any::<bool>().prop_map(|retry| Event::Fail {
            fence: FIRST,
            failure: failure("x"),
            retry
        }),
    ];
    let step = (0..3usize, prop::option::weighted(0.8, operation), 0..400i64);
    let mut runner = TestRunner::new(ProptestConfig::with_cases(64));
    let steps = prop::collection::vec(step, 1..30);
    runner
        .run(&steps, |steps| {
            runtime.block_on(async {
                let (one, two) = (memory(OPTIONS), sqlite(OPTIONS));
                let ids = [TaskId::random(), TaskId::random(), TaskId::random()];
                for (id, ttl) in ids.into_iter().zip([None, Some(200), Some(2_000)]) {
                    for store in [&one.store, &two.store] {
                        store
                            .create(id, new(example_task(ttl), Writes::default()))
                            .await
                            .unwrap();
                    }
                }
                let mut now = 1_000;
                for (index, event, pause) in steps {
                    now += pause;
                    let (a, b) = match event {
                        Some(event) => (
                            format!(
                                "{:?}",
                                apply(&one.store, ids[index], event.clone(), now).await
                            ),
                            format!("{:?}", apply(&two.store, ids[index], event, now).await),
                        ),
                        None => (
                            format!("{:?}", one.store.sweep(expire(), now).await),
                            format!("{:?}", two.store.sweep(expire(), now).await),
                        ),
                    };
                    prop_assert_eq!(a, b);
                    for id in ids {
                        let a = one.store.get(id).await.unwrap().map(|task| seen(&task));
                        let b = two.store.get(id).await.unwrap().map(|task| seen(&task));
                        prop_assert_eq!(a, b);
                    }
                }
                Ok(())
            })
        })
        .unwrap();
}
