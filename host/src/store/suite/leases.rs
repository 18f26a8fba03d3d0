//! Which node holds a task, and until when.

use super::*;

suite!(
    what_is_due_goes_to_one_node,
    those_that_wait_longest_are_taken_first,
    what_a_node_holds_is_its_own_until_its_lease_is_over,
    a_node_that_was_taken_for_dead_is_told_and_fenced,
    a_renewed_lease_covers_all_that_a_node_holds,
    what_is_released_goes_to_whoever_takes_it,
    an_end_and_a_new_attempt_free_a_task,
    what_a_node_cannot_run_is_left_to_others,
    a_lease_that_nobody_ended_holds_on,
    a_node_without_a_lease_holds_nothing,
    racing_nodes_share_what_is_due,
);

/// A node with a lease until then.
async fn node(store: &Arc<dyn Store>, until: Millis) -> NodeId {
    let node = NodeId::random();
    assert!(!store.renew(node, until).await.unwrap(), "it is new");
    node
}

/// A task that a node holds from the start.
async fn create_held(store: &Arc<dyn Store>, task: Task, node: NodeId) -> TaskId {
    let id = TaskId::random();
    let new = NewTask {
        node: Some(node),
        ..new(task, Writes::default())
    };
    store.create(id, new).await.unwrap();
    id
}

async fn taken(store: &Arc<dyn Store>, node: NodeId, limit: usize, now: Millis) -> Vec<TaskId> {
    store.end_leases(now).await.unwrap();
    let due = store.take_due(node, &[], limit, now).await.unwrap();
    due.into_iter().map(|due| due.id).collect()
}

/// When a task is due that nobody holds, and when another node's lease is over.
async fn next(store: &Arc<dyn Store>, node: NodeId) -> (Option<Millis>, Option<Millis>) {
    let next = store.next_due(node, &[]).await.unwrap();
    (next.task, next.lease)
}

async fn claimed(store: &Arc<dyn Store>, id: TaskId, node: NodeId, now: Millis) -> Option<Fence> {
    let claim = store.claim(id, Some(node), failure("lost"), now);
    claim.await.unwrap().map(|claim| claim.task.fence())
}

fn sleep_until(until: Millis) -> Event {
    Event::Sleep {
        fence: FIRST,
        until,
    }
}

async fn what_is_due_goes_to_one_node(fixture: fn(StoreOptions) -> Fixture) {
    let fixture = fixture(OPTIONS);
    let store = &fixture.store;
    let (a, b) = (node(store, 60_000).await, node(store, 60_000).await);
    assert_eq!(next(store, a).await, (None, Some(60_000)), "b's lease");
    let mut task = example_task(None);
    task.owner.tenant = "t".to_owned();
    let id = create(store, task).await;
    assert_eq!(next(store, a).await, (Some(0), Some(60_000)));
    let due = store.take_due(a, &[], 9, 2_000).await.unwrap();
    let tenant = "t".to_owned();
    assert_eq!(due, [Due { id, tenant }]);
    assert_eq!(taken(store, b, 9, 2_000).await, []);
    assert_eq!(taken(store, a, 9, 2_000).await, [], "it has it already");
    assert_eq!(claimed(store, id, b, 2_000).await, None);
    let anyone = store.claim(id, None, failure("lost"), 2_000).await;
    assert!(anyone.unwrap().is_none());
    let fence = Fence {
        attempt: 1,
        lease: 1,
    };
    assert_eq!(claimed(store, id, a, 2_000).await, Some(fence));
    assert_eq!(taken(store, a, 9, 2_000).await, []);
    assert_eq!(next(store, a).await, (None, Some(60_000)));
}

async fn those_that_wait_longest_are_taken_first(fixture: fn(StoreOptions) -> Fixture) {
    let fixture = fixture(OPTIONS);
    let store = &fixture.store;
    let a = node(store, 60_000).await;
    let mut ids = Vec::new();
    for until in [5_000, 3_000, 4_000, 9_000] {
        let id = create(store, example_task(None)).await;
        apply(store, id, sleep_until(until), 2_000).await.unwrap();
        ids.push(id);
    }
    assert_eq!(taken(store, a, 9, 2_999).await, [], "never early");
    assert_eq!(next(store, a).await, (Some(3_000), None));
    assert_eq!(taken(store, a, 2, 6_000).await, [ids[1], ids[2]]);
    assert_eq!(next(store, a).await, (Some(5_000), None));
    assert_eq!(taken(store, a, 9, 6_000).await, [ids[0]]);
    assert_eq!(next(store, a).await, (Some(9_000), None));
}

async fn what_a_node_holds_is_its_own_until_its_lease_is_over(
    fixture: fn(StoreOptions) -> Fixture,
) {
    let fixture = fixture(OPTIONS);
    let store = &fixture.store;
    let (a, b) = (node(store, 5_000).await, node(store, 90_000).await);
    let held = create_held(store, example_task(None), a).await;
    let claimable = create_held(store, example_task(None), a).await;
    assert_eq!(next(store, b).await, (None, Some(5_000)));
    assert_eq!(taken(store, b, 9, 4_999).await, []);
    assert_eq!(claimed(store, claimable, b, 4_999).await, None);
    // One that knows of it need not wait until somebody ends the lease.
    assert!(claimed(store, claimable, b, 5_000).await.is_some());
    assert_eq!(taken(store, b, 9, 5_000).await, [held]);
    assert_eq!(next(store, b).await, (None, None));
}

async fn a_node_that_was_taken_for_dead_is_told_and_fenced(fixture: fn(StoreOptions) -> Fixture) {
    let fixture = fixture(OPTIONS);
    let store = &fixture.store;
    let (a, b) = (node(store, 5_000).await, node(store, 90_000).await);
    let id = create_held(store, example_task(None), a).await;
    assert_eq!(taken(store, b, 9, 5_000).await, [id]);
    assert_eq!(
        apply(store, id, keep(FIRST), 5_000).await.unwrap(),
        Applied::Quiet,
        "until the other begins, what it does counts"
    );
    assert!(claimed(store, id, b, 5_000).await.is_some());
    let stale = apply(store, id, complete(), 5_000).await.unwrap();
    assert_eq!(stale, Applied::Refused(Refusal::Stale));
    assert!(!store.renew(a, 60_000).await.unwrap());
    assert!(store.renew(a, 60_000).await.unwrap(), "it has one again");
    assert_eq!(claimed(store, id, a, 6_000).await, None);
    store.release(id, a).await.unwrap();
    assert_eq!(taken(store, a, 9, 6_000).await, [], "b's, not a's");
}

async fn a_renewed_lease_covers_all_that_a_node_holds(fixture: fn(StoreOptions) -> Fixture) {
    let fixture = fixture(OPTIONS);
    let store = &fixture.store;
    let (a, b) = (node(store, 5_000).await, node(store, 90_000).await);
    create(store, example_task(None)).await;
    create_held(store, example_task(None), a).await;
    assert_eq!(taken(store, a, 9, 2_000).await.len(), 1);
    assert!(store.renew(a, 8_000).await.unwrap());
    assert_eq!(taken(store, b, 9, 7_999).await, []);
    // It comes late, but nobody missed it.
    assert!(store.renew(a, 12_000).await.unwrap());
    assert_eq!(taken(store, b, 9, 11_999).await, []);
    // It gives up all, and has no lease any more.
    store.retire(a).await.unwrap();
    assert_eq!(taken(store, b, 9, 11_999).await.len(), 2);
    assert!(!store.renew(a, 12_000).await.unwrap());
}

async fn what_a_node_cannot_run_is_left_to_others(fixture: fn(StoreOptions) -> Fixture) {
    let fixture = fixture(OPTIONS);
    let store = &fixture.store;
    let (a, b) = (node(store, 60_000).await, node(store, 60_000).await);
    let of = |digest: &str| Task {
        digest: digest.to_owned(),
        ..example_task(None)
    };
    let one = create(store, of("one")).await;
    let two = create(store, of("two")).await;
    let except = ["none".to_owned(), "one".to_owned()];
    let next_of = async || store.next_due(a, &except).await.unwrap().task;
    assert_eq!(next_of().await, Some(0));
    let due = store.take_due(a, &except, 9, 2_000).await.unwrap();
    assert_eq!(due.into_iter().map(|due| due.id).collect::<Vec<_>>(), [two]);
    assert_eq!(next_of().await, None);
    assert_eq!(next(store, b).await, (Some(0), Some(60_000)));
    assert_eq!(taken(store, b, 9, 2_000).await, [one]);
}

async fn a_lease_that_nobody_ended_holds_on(fixture: fn(StoreOptions) -> Fixture) {
    let fixture = fixture(OPTIONS);
    let store = &fixture.store;
    let (a, b) = (node(store, 5_000).await, node(store, 90_000).await);
    create_held(store, example_task(None), a).await;
    let due = store.take_due(b, &[], 9, 8_000).await.unwrap();
    assert_eq!(due, [], "its time is over, but nobody missed it");
    store.end_leases(4_999).await.unwrap();
    assert!(store.renew(a, 20_000).await.unwrap());
}

async fn what_is_released_goes_to_whoever_takes_it(fixture: fn(StoreOptions) -> Fixture) {
    let fixture = fixture(OPTIONS);
    let store = &fixture.store;
    let (a, b) = (node(store, 60_000).await, node(store, 60_000).await);
    let id = create_held(store, example_task(None), a).await;
    apply(store, id, ask(&["a"]), 2_000).await.unwrap();
    store.release(id, b).await.unwrap();
    apply(store, id, answer(&["a"]), 2_000).await.unwrap();
    assert_eq!(
        taken(store, b, 9, 2_000).await,
        [],
        "its run waited, and goes on"
    );
    apply(store, id, ask(&["b"]), 2_000).await.unwrap();
    store.release(id, a).await.unwrap();
    assert_eq!(
        taken(store, b, 9, 2_000).await,
        [],
        "its client is to answer"
    );
    assert_eq!(next(store, b).await, (None, Some(60_000)));
    apply(store, id, answer(&["b"]), 2_000).await.unwrap();
    assert_eq!(next(store, b).await, (Some(0), Some(60_000)));
    assert_eq!(taken(store, b, 9, 2_000).await, [id]);
    store.release(id, b).await.unwrap();
    assert_eq!(taken(store, a, 9, 2_000).await, [id]);
    store.release(TaskId::random(), a).await.unwrap();
}

async fn an_end_and_a_new_attempt_free_a_task(fixture: fn(StoreOptions) -> Fixture) {
    let fixture = fixture(OPTIONS);
    let store = &fixture.store;
    let (a, b) = (node(store, 60_000).await, node(store, 60_000).await);
    let mut task = example_task(None);
    task.max_attempts = 3;
    task.wall_ms = 7_000;
    let id = create_held(store, task, a).await;
    let fail = Event::Fail {
        fence: FIRST,
        failure: failure("x"),
        retry: true,
    };
    apply(store, id, fail, 2_000).await.unwrap();
    assert_eq!(next(store, b).await, (Some(3_000), Some(60_000)));
    assert_eq!(taken(store, b, 9, 3_000).await, [id]);
    assert!(claimed(store, id, b, 3_000).await.is_some());
    // The sweep finds that this attempt takes too long: the next one may be anyone's.
    assert_eq!(store.sweep(expire(), 10_000).await.unwrap().expired, [id]);
    assert_eq!(taken(store, a, 9, 12_000).await, [id]);
    assert!(claimed(store, id, a, 12_000).await.is_some());
    apply(store, id, Event::Cancel, 12_000).await.unwrap();
    store.release(id, a).await.unwrap();
    assert_eq!(next(store, b).await, (None, Some(60_000)));
    assert_eq!(taken(store, b, 9, 59_999).await, []);
}

async fn a_node_without_a_lease_holds_nothing(fixture: fn(StoreOptions) -> Fixture) {
    let fixture = fixture(OPTIONS);
    let store = &fixture.store;
    let (unknown, b) = (NodeId::random(), node(store, 60_000).await);
    let id = create_held(store, example_task(None), unknown).await;
    assert_eq!(taken(store, unknown, 9, 2_000).await, []);
    assert!(claimed(store, id, unknown, 2_000).await.is_some());
    assert_eq!(taken(store, b, 9, 2_000).await, [id]);
    assert_eq!(claimed(store, id, unknown, 2_000).await, None);
}

async fn racing_nodes_share_what_is_due(fixture: fn(StoreOptions) -> Fixture) {
    let fixture = fixture(OPTIONS);
    let store = &fixture.store;
    // A third of them are those of nodes that are gone.
    let dead = node(store, 1_500).await;
    let mut all = Vec::new();
    for index in 0..120 {
        let task = example_task(None);
        all.push(match index % 3 {
            0 => create_held(store, task, dead).await,
            _ => create(store, task).await,
        });
    }
    let nodes = (0..6).map(|_| {
        let store = Arc::clone(store);
        tokio::spawn(async move {
            let node = node(&store, 60_000).await;
            let mut mine = Vec::new();
            store.end_leases(2_000).await.unwrap();
            let is_due = |(task, _): (Option<Millis>, _)| task.is_some_and(|time| time <= 2_000);
            while is_due(next(&store, node).await) {
                for id in taken(&store, node, 7, 2_000).await {
                    assert!(claimed(&store, id, node, 2_000).await.is_some());
                    mine.push(id);
                }
            }
            mine
        })
    });
    let mut shared = Vec::new();
    for node in nodes.collect::<Vec<_>>() {
        shared.extend(node.await.unwrap());
    }
    shared.sort_unstable();
    all.sort_unstable();
    assert_eq!(shared, all, "each once");
}
