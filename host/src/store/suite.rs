//! One suite for every store.

use super::{Applied, MemoryStore, SqliteStore, Store, StoreError, StoreOptions};
use crate::limits::SWEEP_BATCH;
use crate::protocol::raw;
use crate::task::{
    Event, Job, Millis, Outcome, Refusal, Retention, Status, Task, TaskId, example_task,
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
};

/// A store, and the folder it lives in.
struct Fixture {
    store: Arc<dyn Store>,
    _folder: Option<TempDir>,
}

fn memory(options: StoreOptions) -> Fixture {
    Fixture {
        store: Arc::new(MemoryStore::new(options)),
        _folder: None,
    }
}

fn sqlite(options: StoreOptions) -> Fixture {
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
    the_sweep_fails_and_removes_in_time,
    a_long_sweep_comes_in_batches,
    lost_tasks_fail_and_finished_ones_stay,
);

fn job() -> Job {
    Job {
        arguments: raw(&json!({ "a": "ä\n" })),
    }
}

pub(super) async fn create(store: &Arc<dyn Store>, task: Task) -> TaskId {
    let id = TaskId::random();
    store.create(id, task, job()).await.unwrap();
    id
}

fn error() -> Box<serde_json::value::RawValue> {
    raw(&json!({ "code": -32603, "message": "x" }))
}

pub(super) fn complete() -> Event {
    Event::Complete {
        attempt: 1,
        result: raw(&json!({ "content": [] })),
    }
}

fn expire() -> Event {
    Event::Expire {
        error: error(),
        message: "expired".to_owned(),
    }
}

pub(super) fn ask(keys: &[&str]) -> Event {
    let request = |key: &&str| ((*key).to_owned(), json!({ "method": "roots/list" }));
    Event::AskInput {
        attempt: 1,
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
    assert_eq!(
        store.job(id).await.unwrap().unwrap().arguments.get(),
        job().arguments.get()
    );
    assert!(store.get(TaskId::random()).await.unwrap().is_none());
    assert!(store.job(TaskId::random()).await.unwrap().is_none());
}

async fn every_transition_is_stored(fixture: fn(StoreOptions) -> Fixture) {
    let fixture = fixture(OPTIONS);
    let store = &fixture.store;
    let id = create(store, example_task(None)).await;
    let progress = Event::Progress {
        attempt: 1,
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
            store.apply(id, event, 2_000).await.unwrap(),
            Applied::Changed
        );
        assert_eq!(store.get(id).await.unwrap().unwrap().status, status);
    }
    assert!(
        store.job(id).await.unwrap().is_none(),
        "a final task needs no job"
    );

    let ends = [
        (
            Event::Fail {
                attempt: 1,
                error: error(),
                message: "x".into(),
            },
            Status::Failed,
        ),
        (Event::Cancel, Status::Cancelled),
        (
            Event::Lose {
                error: error(),
                message: "x".into(),
            },
            Status::Failed,
        ),
    ];
    for (event, status) in ends {
        let id = create(store, example_task(None)).await;
        assert_eq!(
            store.apply(id, event, 2_000).await.unwrap(),
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
        attempt: 7,
        result: raw(&json!({})),
    };
    assert_eq!(
        store.apply(id, stale, 2_000).await.unwrap(),
        Applied::Refused(Refusal::Stale)
    );
    store.apply(id, complete(), 2_000).await.unwrap();
    let before = seen(&store.get(id).await.unwrap().unwrap());
    assert_eq!(
        store.apply(id, complete(), 3_000).await.unwrap(),
        Applied::Refused(Refusal::Final)
    );
    assert_eq!(
        store.apply(id, Event::Cancel, 3_000).await.unwrap(),
        Applied::Unchanged
    );
    assert_eq!(seen(&store.get(id).await.unwrap().unwrap()), before);
    let missing = store
        .apply(TaskId::random(), Event::Cancel, 3_000)
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
            tokio::spawn(async move { store.apply(id, event, 2_000).await.unwrap() })
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
        fixture
            .store
            .apply(id, ask(&["a", "b"]), 1_500)
            .await
            .unwrap();
        let racer = |key: &'static str| {
            let store = Arc::clone(&fixture.store);
            tokio::spawn(async move { store.apply(id, answer(&[key]), 2_000).await.unwrap() })
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
                    attempt: 1,
                    message: message.clone(),
                };
                store.apply(id, progress, 2_000).await.unwrap();
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
        .create(TaskId::random(), example_task(None), job())
        .await;
    assert!(matches!(refused, Err(StoreError::LimitReached)));
    store.apply(first, complete(), 2_000).await.unwrap();
    let refused = store
        .create(TaskId::random(), example_task(None), job())
        .await;
    assert!(
        matches!(refused, Err(StoreError::LimitReached)),
        "its ttl is not over"
    );
    let mut later = example_task(None);
    later.created_at = 6_000;
    store
        .create(TaskId::random(), later.clone(), job())
        .await
        .unwrap();
    assert!(store.get(first).await.unwrap().is_none());
    let refused = store.create(TaskId::random(), later, job()).await;
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
    store.apply(finished, complete(), 1_100).await.unwrap();
    store.apply(late, complete(), 1_480).await.unwrap();
    store
        .apply(finished_unlimited, complete(), 1_100)
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

async fn lost_tasks_fail_and_finished_ones_stay(fixture: fn(StoreOptions) -> Fixture) {
    let fixture = fixture(OPTIONS);
    let store = &fixture.store;
    let running = create(store, example_task(None)).await;
    let waiting = create(store, example_task(None)).await;
    let finished = create(store, example_task(None)).await;
    store.apply(waiting, ask(&["a"]), 1_500).await.unwrap();
    store.apply(finished, complete(), 1_500).await.unwrap();
    let lose = Event::Lose {
        error: error(),
        message: "lost".to_owned(),
    };
    assert_eq!(store.recover(lose.clone(), 3_000).await.unwrap(), 2);
    for id in [running, waiting] {
        let task = store.get(id).await.unwrap().unwrap();
        assert_eq!(
            (task.status, task.message.as_deref()),
            (Status::Failed, Some("lost"))
        );
    }
    assert_eq!(
        store.get(finished).await.unwrap().unwrap().status,
        Status::Completed
    );
    assert_eq!(store.recover(lose, 3_000).await.unwrap(), 0);
}

#[test]
fn the_stores_agree_under_every_order_of_operations() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let operation = prop_oneof![
        Just(complete()),
        Just(Event::Cancel),
        Just(Event::Progress {
            attempt: 1,
            message: "m".into()
        }),
        Just(Event::Complete {
            attempt: 2,
            result: raw(&json!({}))
        }),
        prop::sample::subsequence(vec!["a", "b", "c"], 1..3).prop_map(|keys| ask(&keys)),
        prop::sample::subsequence(vec!["a", "b", "c"], 1..3).prop_map(|keys| answer(&keys)),
        Just(Event::Lose {
            error: error(),
            message: "x".into()
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
                        store.create(id, example_task(ttl), job()).await.unwrap();
                    }
                }
                let mut now = 1_000;
                for (index, event, pause) in steps {
                    now += pause;
                    let (a, b) = match event {
                        Some(event) => (
                            format!(
                                "{:?}",
                                one.store.apply(ids[index], event.clone(), now).await
                            ),
                            format!("{:?}", two.store.apply(ids[index], event, now).await),
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
