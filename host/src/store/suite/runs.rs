//! What a run keeps for the next one, and which run may speak.

use super::*;
use std::collections::HashSet;

suite!(
    a_claim_gives_what_was_kept_and_fences_older_runs,
    a_final_task_keeps_no_work,
    a_failed_attempt_keeps_answers_and_records,
    what_is_unfinished_is_told,
    racing_claims_take_different_leases,
);

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

    let claim = store.claim(id, None, failure("lost"), 3_000).await.unwrap();
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
    let next = store.claim(id, None, failure("lost"), 3_000).await.unwrap();
    assert_eq!(
        next.unwrap().rows.len(),
        2,
        "a refused write leaves nothing"
    );
    let missing = store
        .claim(TaskId::random(), None, failure("lost"), 3_000)
        .await;
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
            .claim(id, None, failure("lost"), 3_000)
            .await
            .unwrap()
            .is_none()
    );
    assert_eq!(store.unfinished().await.unwrap(), Default::default());
    assert!(store.digests().await.unwrap().is_empty());
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
    let early = store.claim(id, None, failure("lost"), 2_999).await.unwrap();
    assert!(early.is_none());
    let claim = store.claim(id, None, failure("lost"), 3_000).await.unwrap();
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
    let digests = store.digests().await.unwrap();
    assert_eq!(digests, HashSet::from(["00".to_owned()]));
    assert!(
        store
            .claim(waiting, None, failure("lost"), 2_000)
            .await
            .unwrap()
            .is_none()
    );
    assert!(
        store
            .claim(sleeping, None, failure("lost"), 8_999)
            .await
            .unwrap()
            .is_none()
    );
    apply(store, waiting, answer(&["a"]), 2_000).await.unwrap();
    assert!(
        store
            .claim(waiting, None, failure("lost"), 2_000)
            .await
            .unwrap()
            .is_some()
    );
    assert!(
        store
            .claim(sleeping, None, failure("lost"), 9_000)
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
        tokio::spawn(async move { store.claim(id, None, failure("lost"), 2_000).await.unwrap() })
    });
    let mut leases = Vec::new();
    for claim in claims.collect::<Vec<_>>() {
        leases.push(claim.await.unwrap().unwrap().task.lease);
    }
    leases.sort_unstable();
    assert_eq!(leases, (1..=10).collect::<Vec<_>>());
}
