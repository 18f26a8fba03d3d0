//! The arena itself: it must see what it is there to see.

use cofferdam_tests::{Arena, Declares, Terms};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

fn of_the_probe() -> Terms {
    Terms {
        guests: vec!["probe"],
        ..Terms::default()
    }
}

#[tokio::test]
async fn a_calm_tool_is_no_attack() {
    let arena = Arena::start(of_the_probe()).await;
    let mallory = arena.mallory(Declares::Nothing);
    let calls = async {
        for _ in 0..100 {
            mallory.result("hostile.echo", json!({"text": "x"})).await;
        }
    };
    arena.under("nothing at all", calls).await;
}

#[tokio::test]
#[should_panic(expected = "calls of the neighbour, of which failed")]
async fn a_dead_server_is_seen() {
    let arena = Arena::start(of_the_probe()).await;
    let pid = i32::try_from(arena.server().pid())
        .ok()
        .and_then(Pid::from_raw);
    let pid = pid.expect("a process id");
    let attack = async { kill_process(pid, Signal::KILL).expect("it runs") };
    arena.under("a dead server", attack).await;
}

#[tokio::test]
#[should_panic(expected = "at its peak the server has")]
async fn memory_beyond_the_terms_is_seen() {
    let terms = Terms {
        instances: 1,
        memory_bytes: 1 << 20,
        ..of_the_probe()
    };
    // More than the terms say, and the time to touch it: what is set last counts.
    let terms = terms.set("sandbox.memory-bytes", 1 << 30);
    let arena = Arena::start(terms.set("sandbox.cpu-ms", 60_000)).await;
    let mallory = arena.mallory(Declares::Nothing);
    let take = mallory.result("hostile.allocate", json!({"bytes": 700 << 20}));
    arena.under("memory beyond the terms", take).await;
}
