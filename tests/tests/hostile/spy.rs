//! What a tool finds that looks for traces of other calls, of other tenants, and of the machine.

use cofferdam_tests::{Arena, Declares, Terms};
use serde_json::{Value, json};

use crate::end::ends;

/// Where a call finds its own message after it left it.
const OWN: [&str; 5] = [
    "a global",
    "the record message",
    "the record step:message",
    "the record half",
    "the record runs",
];

#[tokio::test]
async fn what_one_call_leaves_no_other_finds() {
    let arena = Arena::start(Terms::default()).await;
    for declares in [Declares::Nothing, Declares::Tasks] {
        let mallory = arena.mallory(declares);
        // Again and again in the same slots, and at once.
        let attack = async {
            let mut all = Vec::new();
            for round in 0..8 {
                let message = json!({"message": format!("from round {round}")});
                all.extend(ends(&mallory, "leave", message, 12).await);
            }
            all
        };
        for end in arena.under("messages to the next call", attack).await {
            let seen = &end.result()["structuredContent"];
            assert_eq!(seen["before"], json!([]), "{seen}");
            assert_eq!(seen["after"], json!(OWN), "{seen}");
            // It looks in the right places.
            assert_eq!(seen["memory"], true, "{seen}");
        }
    }
}

#[tokio::test]
async fn nothing_of_the_machine_or_the_neighbour_is_seen() {
    let arena = Arena::start(Terms::default()).await;
    let neighbour = arena.neighbour(Declares::Tasks);
    let keys = json!({"keys": ["message", "step:message", "half"]});
    neighbour.result("neighbour.keep", keys).await;
    // It records `runs`, and is kept with it.
    let task = neighbour.task("neighbour.retry", json!({"traps": 0}));
    task.await.until("completed").await;
    let mallory = arena.mallory(Declares::Nothing);
    let attack = async {
        ends(&mallory, "leave", json!({"message": "mallory was here"}), 4).await;
        ends(&mallory, "look", json!({}), 16).await
    };
    for end in arena.under("looking around", attack).await {
        let seen = &end.result()["structuredContent"];
        for what in ["found", "arguments"] {
            assert_eq!(seen[what], json!([]), "{seen}");
        }
        // The neighbour's component was granted a variable.
        assert_eq!(seen["environment"], json!({}), "{seen}");
        let files = seen["files"].as_object().expect("what came of each");
        assert_eq!(files.len(), 22);
        let refused = |outcome: &Value| {
            outcome
                .as_str()
                .is_some_and(|text| text.starts_with("error: "))
        };
        for (path, outcome) in files {
            assert!(refused(outcome), "{path}: {outcome}");
        }
    }
}
