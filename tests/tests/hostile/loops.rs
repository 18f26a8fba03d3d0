//! Tools that compute all the time: those that do not end by themselves and do not listen, and many short
//! calls.

use std::time::{Duration, Instant};

use cofferdam_tests::{Arena, Declares, Task, Terms};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::end::{End, end, ends};

const WAYS: [Declares; 2] = [Declares::Nothing, Declares::Tasks];

#[tokio::test]
async fn loops_end_with_their_cpu_time() {
    let arena = Arena::start(Terms {
        cpu_ms: 300,
        ..Terms::default()
    })
    .await;
    for (declares, name) in WAYS
        .into_iter()
        .zip(["12 loops at once", "12 loops in tasks"])
    {
        let mallory = arena.mallory(declares);
        let attack = ends(&mallory, "spin", json!({}), 12);
        for end in arena.under(name, attack).await {
            end.refused(&["sandbox.cpu-ms", "300 ms"]);
        }
    }
}

// The host waits for a guest that waits for the end of time. It costs nobody an instance but mallory.
#[tokio::test]
async fn endless_waits_end_with_their_wall_time() {
    let arena = Arena::start(Terms {
        wall_ms: 500,
        ..Terms::default()
    })
    .await;
    let mallory = arena.mallory(Declares::Nothing);
    let attack = async {
        for how in ["instant", "duration", "poll", "sleep"] {
            for end in ends(&mallory, "doze", json!({"how": how}), 4).await {
                end.refused(&["sandbox.wall-ms", "500 ms"]);
            }
        }
    };
    arena.under("endless waits", attack).await;
}

// A task that waits for the end of time holds no instance, and ends with its ttl.
#[tokio::test]
async fn endless_waits_of_tasks_are_parked() {
    let terms = Terms::default().set("tasks.park-after-ms", 50);
    let arena = Arena::start(terms.set("tasks.ttl-ms", 3_000)).await;
    let mallory = arena.mallory(Declares::Tasks);
    let attack = async {
        let mut tasks = Vec::new();
        for how in ["instant", "duration", "poll", "sleep"] {
            tasks.push(mallory.task("hostile.doze", json!({"how": how})).await);
        }
        arena.at_rest().await;
        for task in &tasks {
            assert_eq!(task.status().await, "working");
        }
        for task in tasks {
            End::of_task(&task.end().await).refused(&["ttl"]);
        }
    };
    arena.under("endless waits of tasks", attack).await;
}

/// Tools that do not see that their call is over, and what they are called with.
fn deaf() -> [(&'static str, Value); 5] {
    [
        ("spin", json!({})),
        ("deaf", json!({"ms": 0})),
        ("deaf", json!({"ms": 3_600_000})),
        ("doze", json!({"how": "instant"})),
        ("doze", json!({"how": "poll"})),
    ]
}

/// Nothing but the grace may end what runs.
fn only_the_grace() -> Terms {
    let terms = Terms {
        cpu_ms: 30_000,
        ..Terms::default()
    };
    terms.set("tasks.grace-ms", 200)
}

/// What the log says of each run that the grace ended.
const DROPPED: [&str; 1] = ["dropped a run that went on"];

#[tokio::test]
async fn who_ignores_that_the_client_left_is_dropped() {
    let arena = Arena::start(only_the_grace()).await;
    let mallory = arena.mallory(Declares::Nothing);
    let log = arena.server().log();
    let attack = async {
        for (round, (tool, arguments)) in deaf().into_iter().enumerate() {
            let calls: Vec<_> = (0..4)
                .map(|_| {
                    let call = mallory.tool(&format!("hostile.{tool}"), arguments.clone());
                    tokio::spawn(call.answer())
                })
                .collect();
            log.nth_line(4 * round + 3, &["begun"]).await;
            for call in calls {
                call.abort();
            }
            log.nth_line(4 * round + 3, &DROPPED).await;
        }
    };
    arena.under("clients that left deaf tools", attack).await;
    assert_eq!(log.count(&DROPPED), 20, "{}", log.text());
}

#[tokio::test]
async fn who_ignores_a_cancelled_task_is_dropped() {
    let arena = Arena::start(only_the_grace()).await;
    let mallory = arena.mallory(Declares::Tasks);
    let log = arena.server().log();
    let attack = async {
        for (round, (tool, arguments)) in deaf().into_iter().enumerate() {
            let mut tasks: Vec<Task> = Vec::new();
            for _ in 0..4 {
                let name = format!("hostile.{tool}");
                tasks.push(mallory.task(&name, arguments.clone()).await);
            }
            for task in &tasks {
                task.cancel().await;
                assert_eq!(task.status().await, "cancelled");
            }
            // Those that sleep for an hour or longer gave their instances back before.
            if round < 2 {
                log.nth_line(4 * round + 3, &DROPPED).await;
            }
        }
    };
    arena.under("cancelled tasks of deaf tools", attack).await;
    assert_eq!(log.count(&DROPPED), 8, "{}", log.text());
}

// Many loops, each for as long as it may: the tenant's queue is full of them, the neighbour's is empty.
#[tokio::test]
async fn a_queue_of_loops_is_mallorys_own() {
    let arena = Arena::start(Terms {
        cpu_ms: 50,
        waiting: 8,
        ..Terms::default()
    })
    .await;
    let mallory = arena.mallory(Declares::Nothing);
    let attack = ends(&mallory, "spin", json!({}), 40);
    let (mut ran, mut refused) = (0, 0);
    for end in arena.under("a queue of loops", attack).await {
        let text = end.refused(&[]);
        if text.contains("sandbox.cpu-ms") {
            ran += 1;
        } else {
            end.refused(&["4 instances", "8 calls", "limits of the tenant"]);
            refused += 1;
        }
    }
    assert!(ran >= 12 && refused > 0, "{ran} ran, {refused} refused");
    end(&mallory, "spin", json!({}))
        .await
        .refused(&["sandbox.cpu-ms"]);
}

// Calls too short to take turns take all there is together: whoever makes them waits for them, not whoever
// makes few.
#[tokio::test]
async fn a_flood_of_short_calls_is_not_served_first_come_first_served() {
    const CALLERS: usize = 48;
    const CALLS: usize = 20;
    let arena = Arena::start(Terms::default()).await;
    let mallory = arena.mallory(Declares::Nothing);
    let neighbour = arena.neighbour(Declares::Nothing);
    let attack = async {
        let mut flood = JoinSet::new();
        for _ in 0..CALLERS {
            let mallory = mallory.clone();
            flood.spawn(async move {
                let mut times = Vec::with_capacity(CALLS);
                for _ in 0..CALLS {
                    let begun = Instant::now();
                    let deep = json!({"stack": "memory", "depth": 1_u64 << 40});
                    end(&mallory, "recurse", deep)
                        .await
                        .refused(&["out of bounds"]);
                    times.push(begun.elapsed());
                }
                times
            });
        }
        let (mut theirs, mut ours) = (Vec::new(), Vec::new());
        while !flood.is_empty() {
            let begun = Instant::now();
            neighbour
                .result("neighbour.echo", json!({"text": "x"}))
                .await;
            ours.push(begun.elapsed());
            while let Some(times) = flood.try_join_next() {
                theirs.extend(times.expect("its calls end"));
            }
        }
        (median(theirs), median(ours))
    };
    let (theirs, ours) = arena.under("a flood of short calls", attack).await;
    println!(
        "half of the flood's calls took more than {theirs:?}, half of the neighbour's more than {ours:?}"
    );
    assert!(ours < theirs / 2, "{ours:?} and {theirs:?}");
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}
