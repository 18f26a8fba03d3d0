//! The stores do the same, whatever happens in whatever order.

use super::*;

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
