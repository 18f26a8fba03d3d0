//! What clients see of tasks, and what time does to them.

use super::*;

suite!(
    a_task_comes_back_as_it_went,
    every_transition_is_stored,
    what_is_refused_changes_nothing,
    cancel_and_complete_race_to_one_end,
    racing_partial_answers_are_both_kept,
    many_writers_lose_nothing,
    a_full_store_refuses_until_something_is_due,
    a_tenant_has_as_many_unfinished_tasks_as_it_may,
    a_tenant_has_as_many_tasks_as_it_may,
    the_sweep_fails_and_removes_in_time,
    a_long_sweep_comes_in_batches,
    the_tally_is_of_what_was_answered,
);

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
    assert!(matches!(
        refused,
        Err(StoreError::LimitReached(Full::Store))
    ));
    apply(store, first, complete(), 2_000).await.unwrap();
    let refused = store
        .create(TaskId::random(), new(example_task(None), Writes::default()))
        .await;
    assert!(
        matches!(refused, Err(StoreError::LimitReached(Full::Store))),
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
    assert!(matches!(
        refused,
        Err(StoreError::LimitReached(Full::Store))
    ));
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
    assert!(matches!(
        refused,
        Err(StoreError::LimitReached(Full::Unfinished))
    ));
    store.create(TaskId::random(), of("b")).await.unwrap();
    for _ in 0..2 {
        // It ends once, whatever is said after.
        apply(store, first, complete(), 2_000).await.unwrap();
        apply(store, first, Event::Cancel, 2_000).await.unwrap();
    }
    store.create(TaskId::random(), of("a")).await.unwrap();
    let refused = store.create(TaskId::random(), of("a")).await;
    assert!(matches!(
        refused,
        Err(StoreError::LimitReached(Full::Unfinished))
    ));
}

// Finished ones count until they are removed: by the sweep, or to make room when they are due.
async fn a_tenant_has_as_many_tasks_as_it_may(fixture: fn(StoreOptions) -> Fixture) {
    let fixture = fixture(OPTIONS);
    let store = &fixture.store;
    let of = |tenant: &str, created_at| {
        let mut task = example_task(Some(5_000));
        task.owner.tenant = tenant.to_owned();
        task.created_at = created_at;
        NewTask {
            most_stored: 2,
            ..new(task, Writes::default())
        }
    };
    let refused = async || {
        let refused = store.create(TaskId::random(), of("a", 1_000)).await;
        matches!(refused, Err(StoreError::LimitReached(Full::Stored)))
    };
    let first = TaskId::random();
    store.create(first, of("a", 1_000)).await.unwrap();
    let second = TaskId::random();
    store.create(second, of("a", 1_000)).await.unwrap();
    assert!(refused().await);
    apply(store, first, complete(), 2_000).await.unwrap();
    assert!(refused().await, "it is finished, but there");
    store
        .create(TaskId::random(), of("b", 1_000))
        .await
        .unwrap();
    // Its ttl is over: it makes room.
    let third = TaskId::random();
    store.create(third, of("a", 7_000)).await.unwrap();
    assert!(store.get(first).await.unwrap().is_none());
    assert!(refused().await);
    apply(store, second, complete(), 7_000).await.unwrap();
    let expire = Event::Expire {
        ttl: failure("ttl"),
        wall: failure("wall"),
    };
    store.sweep(expire, 8_000).await.unwrap();
    assert!(store.get(second).await.unwrap().is_none());
    store
        .create(TaskId::random(), of("a", 7_000))
        .await
        .unwrap();
    assert!(refused().await);
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

/// Tasks in each state, and how often they moved.
async fn tally(store: &Arc<dyn Store>) -> ([usize; 5], [usize; 7]) {
    let tally = store.tally().await.unwrap();
    let states = Status::ALL.map(|status| tally.of(status));
    (states, Move::ALL.map(|kind| tally.moved(kind)))
}

async fn the_tally_is_of_what_was_answered(fixture: fn(StoreOptions) -> Fixture) {
    let fixture = fixture(OPTIONS);
    let store = &fixture.store;
    let mut ids = Vec::new();
    for _ in 0..4 {
        ids.push(create(store, example_task(None)).await);
    }
    assert_eq!(tally(store).await, ([4, 0, 0, 0, 0], [4, 0, 0, 0, 0, 0, 0]));
    let fail = Event::Fail {
        fence: FIRST,
        failure: failure("x"),
        retry: false,
    };
    let steps = [
        (0, ask(&["a", "b"]), [3, 1, 0, 0, 0]),
        (0, answer(&["a"]), [3, 1, 0, 0, 0]),
        (0, answer(&["b"]), [4, 0, 0, 0, 0]),
        (0, complete(), [3, 0, 1, 0, 0]),
        (1, fail, [2, 0, 1, 1, 0]),
        (2, ask(&["a"]), [1, 1, 1, 1, 0]),
        (2, Event::Cancel, [1, 0, 1, 1, 1]),
        // What changes nothing, or is refused.
        (2, Event::Cancel, [1, 0, 1, 1, 1]),
        (0, complete(), [1, 0, 1, 1, 1]),
        (3, answer(&["z"]), [1, 0, 1, 1, 1]),
    ];
    for (task, event, states) in steps {
        let about = format!("{event:?}");
        apply(store, ids[task], event, 2_000).await.unwrap();
        assert_eq!(tally(store).await.0, states, "{about}");
    }
    let missing = apply(store, TaskId::random(), Event::Cancel, 2_000).await;
    assert_eq!(missing.unwrap(), Applied::Missing);
    assert_eq!(tally(store).await.1, [4, 2, 1, 1, 1, 1, 0]);
    let swept = store.sweep(expire(), Millis::MAX / 2).await.unwrap();
    assert_eq!(swept.removed, 3);
    assert_eq!(tally(store).await, ([1, 0, 0, 0, 0], [4, 2, 1, 1, 1, 1, 3]));
}
