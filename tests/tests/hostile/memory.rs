//! Tools that take memory of their own.

use cofferdam_tests::{Arena, Declares, Terms};
use serde_json::json;

use crate::end::ends;

#[tokio::test]
async fn memory_grows_to_its_limit_and_no_further() {
    let arena = Arena::start(Terms::default()).await;
    for declares in [Declares::Nothing, Declares::Tasks] {
        let mallory = arena.mallory(declares);
        for step in [1 << 16, 1 << 20, 48 << 20, 1 << 30] {
            let name = format!("16 calls that take {} KiB at a time", step >> 10);
            let attack = ends(&mallory, "swell", json!({"step": step}), 16);
            for end in arena.under(&name, attack).await {
                end.refused(&["sandbox.memory-bytes", "67108864 bytes"]);
            }
        }
    }
}

// The stack of calls is the host's; the one in linear memory ends where the memory begins.
#[tokio::test]
async fn stacks_end() {
    let arena = Arena::start(Terms::default()).await;
    let mallory = arena.mallory(Declares::Nothing);
    for (stack, trap) in [
        ("calls", "call stack exhausted"),
        ("memory", "out of bounds memory access"),
    ] {
        let arguments = json!({"stack": stack, "depth": 1_u64 << 40});
        let attack = ends(&mallory, "recurse", arguments, 64);
        let name = format!("64 calls that overflow the stack of {stack}");
        for end in arena.under(&name, attack).await {
            end.refused(&[trap]);
        }
        let arguments = json!({"stack": stack, "depth": 100});
        for end in ends(&mallory, "recurse", arguments, 4).await {
            end.text();
        }
    }
}
