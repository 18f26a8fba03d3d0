//! The stores do the same, whatever happens in whatever order.

use super::*;

/// Something that is done to the stores.
#[derive(Clone, Debug)]
enum Deed {
    Apply(usize, Event),
    Claim(usize, usize),
    /// All that is due, or nothing: of those that wait equally long any may be taken.
    Take(usize, bool),
    Renew(usize, Millis),
    Release(usize, usize),
    Sweep,
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
    let lease = 0..600i64;
    let deed = prop_oneof![
        10 => (0..3usize, operation).prop_map(|(task, event)| Deed::Apply(task, event)),
        2 => (0..3usize, 0..3usize).prop_map(|(task, node)| Deed::Claim(task, node)),
        2 => (0..2usize, any::<bool>()).prop_map(|(node, all)| Deed::Take(node, all)),
        1 => (0..2usize, lease).prop_map(|(node, time)| Deed::Renew(node, time)),
        1 => (0..3usize, 0..2usize).prop_map(|(task, node)| Deed::Release(task, node)),
        3 => Just(Deed::Sweep),
    ];
    let mut runner = TestRunner::new(ProptestConfig::with_cases(64));
    let steps = prop::collection::vec((deed, 0..400i64), 1..30);
    let database = {
        let _entered = runtime.enter();
        postgres(OPTIONS)
    };
    runner
        .run(&steps, |steps| {
            runtime.block_on(async {
                // One database serves all cases: each with tasks and nodes of its own, none of which
                // is left to be taken by the next.
                let (memory, sqlite) = (memory(OPTIONS), sqlite(OPTIONS));
                let stores = [&memory.store, &sqlite.store, &database.store];
                let ids = [TaskId::random(), TaskId::random(), TaskId::random()];
                let nodes = [NodeId::random(), NodeId::random()];
                for (id, ttl) in ids.into_iter().zip([None, Some(200), Some(2_000)]) {
                    for store in stores {
                        let new = new(example_task(ttl), Writes::default());
                        store.create(id, new).await.unwrap();
                    }
                }
                let mut now = 1_000;
                for (deed, pause) in steps {
                    now += pause;
                    let mut told = Vec::new();
                    for store in stores {
                        told.push(done(store, &ids, &nodes, &deed, now).await);
                    }
                    prop_assert_eq!(&told[0], &told[1], "{:?}", deed);
                    prop_assert_eq!(&told[0], &told[2], "{:?}", deed);
                }
                for id in ids {
                    apply(&database.store, id, Event::Cancel, now)
                        .await
                        .unwrap();
                }
                let end = Millis::MAX;
                while database.store.sweep(expire(), end).await.unwrap().more {}
                for node in nodes {
                    database.store.retire(node).await.unwrap();
                }
                Ok(())
            })
        })
        .unwrap();
}

/// What a store answers, and all that can be seen of it afterwards.
async fn done(
    store: &Arc<dyn Store>,
    ids: &[TaskId; 3],
    nodes: &[NodeId; 2],
    deed: &Deed,
    now: Millis,
) -> Vec<String> {
    let answer = match deed.clone() {
        Deed::Apply(task, event) => format!("{:?}", apply(store, ids[task], event, now).await),
        Deed::Claim(task, node) => {
            let node = nodes.get(node).copied();
            let claim = store.claim(ids[task], node, failure("lost"), now).await;
            let claim = claim.unwrap().map(|claim| claim.task.fence());
            format!("{claim:?}")
        }
        Deed::Take(node, all) => {
            let limit = if all { ids.len() } else { 0 };
            store.end_leases(now).await.unwrap();
            let due = store.take_due(nodes[node], &[], limit, now).await;
            let due = due.unwrap();
            format!("{}", due.len())
        }
        Deed::Renew(node, time) => format!("{:?}", store.renew(nodes[node], now + time).await),
        Deed::Release(task, node) => format!("{:?}", store.release(ids[task], nodes[node]).await),
        Deed::Sweep => format!("{:?}", store.sweep(expire(), now).await),
    };
    let mut told = vec![answer];
    for id in ids {
        let task = store.get(*id).await.unwrap();
        told.push(format!("{:?}", task.map(|task| seen(&task))));
    }
    for node in nodes {
        told.push(format!("{:?}", store.next_due(*node, &[]).await));
    }
    told
}
