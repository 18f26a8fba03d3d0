//! Huge texts through everything that takes a text. What has a limit names it; what is only told is
//! cut; and nothing is held longer than the call.

use cofferdam_tests::{Arena, Client, Declares, Terms};
use serde_json::{Value, json};

use crate::end::{End, end, ends};

/// Just below what one call of the host may hand over (`HOST_CALL_BYTES`, 64 MiB).
const HUGE: u64 = 60 << 20;
/// Beyond every limit, for what a debug build of the server takes long to write as JSON.
const LONG: u64 = 16 << 20;
const MIB: u64 = 1 << 20;

/// Room for a huge text, and for what a guest's allocator makes of it.
fn roomy() -> Terms {
    Terms {
        memory_bytes: 256 << 20,
        instances: 2,
        cpu_ms: 10_000,
        ..Terms::default()
    }
}

/// A client that may be asked to visit a page, inline.
fn asked(arena: &Arena) -> Client {
    let capabilities = json!({"elicitation": {"url": {}, "form": {}}, "sampling": {}});
    arena
        .mallory(Declares::Nothing)
        .declaring_json(capabilities)
}

fn shout(through: &str, bytes: u64) -> Value {
    json!({"through": through, "bytes": bytes})
}

/// A JSON object whose text is long, and whose values are many.
fn numbers(through: &str) -> Value {
    json!({"through": through, "bytes": LONG, "unit": "1,", "around": ["{\"a\":[", "1]}"]})
}

/// Shouts inline and as a task, and gives both ends.
async fn both(arena: &Arena, through: &str, arguments: Value) -> [End; 2] {
    let clients = [asked(arena), arena.mallory(Declares::Everything)];
    let mib = arguments["bytes"].as_u64().map(|bytes| bytes >> 20);
    let name = format!("{} MiB through {through}", mib.unwrap_or_default());
    let attack = async {
        let inline = end(&clients[0], "shout", arguments.clone()).await;
        [inline, end(&clients[1], "shout", arguments).await]
    };
    arena.under(&name, attack).await
}

#[tokio::test]
async fn what_is_kept_has_a_limit_that_is_named() {
    let arena = Arena::start(roomy()).await;
    for (through, told) in [
        ("status", "invalid-option: "),
        ("record-key", "invalid-key"),
        ("record-value", "too-large: "),
        ("input-key", "invalid: "),
    ] {
        for end in both(&arena, through, shout(through, HUGE)).await {
            assert!(end.text().starts_with(told), "{through}: {}", end.text());
            let named = match through {
                "status" => "1024",
                "record-value" => "1048576",
                "input-key" => "256 bytes",
                _ => "",
            };
            assert!(end.text().contains(named), "{through}: {}", end.text());
        }
    }
}

#[tokio::test]
async fn a_huge_question_is_not_asked() {
    let arena = Arena::start(roomy()).await;
    let [inline, task] = both(&arena, "question", shout("question", LONG)).await;
    assert!(inline.text().starts_with("invalid: "), "{}", inline.text());
    assert!(inline.text().contains("8388608"), "{}", inline.text());
    assert_eq!(inline.text(), task.text());
}

// Before a task, the client keeps the question: it has less room than the server.
#[tokio::test]
async fn what_the_client_cannot_keep_names_its_limit() {
    let arena = Arena::start(roomy()).await;
    let client = asked(&arena);
    let attack = ends(&client, "shout", shout("question", 4 * MIB), 8);
    for end in arena.under("8 questions of 4 MiB", attack).await {
        end.refused(&["requestState", "1048576"]);
    }
}

// A report is cut for everyone who hears it: as a notification as well as a task's status message.
#[tokio::test]
async fn a_huge_report_is_cut() {
    let arena = Arena::start(roomy()).await;
    let arguments = shout("progress", MIB);
    let attack = async {
        let call = arena
            .mallory(Declares::Nothing)
            .tool("hostile.shout", arguments.clone());
        let heard = call.meta("progressToken", json!("t")).answer().await;
        let mallory = arena.mallory(Declares::Tasks);
        let task = mallory.task("hostile.shout", arguments).await;
        let mut listen = mallory.listen_to(&[&task]).await;
        (heard, listen.until("completed").await, listen.rest().await)
    };
    let (heard, end, rest) = arena.under("a report of 1 MiB, heard", attack).await;
    for state in rest.iter().chain([&end]) {
        let message = state["statusMessage"].as_str().unwrap_or_default();
        assert!(message.len() <= 1_024, "{}", message.len());
    }
    assert_eq!(heard.notifications.len(), 1);
    let message = heard.notifications[0]["params"]["message"].as_str();
    assert_eq!(message.map(str::len), Some(1_024));
}

#[tokio::test]
async fn what_is_told_is_cut() {
    let arena = Arena::start(roomy()).await;
    for (through, told) in [
        ("progress", "told"),
        ("log", "logged"),
        ("fields", "logged"),
        ("stdout", "printed"),
        ("stderr", "printed"),
    ] {
        // What is printed goes in pieces, so one call of the host is no bound for it.
        let bytes = if told == "printed" { 64 * MIB } else { HUGE };
        for end in both(&arena, through, shout(through, bytes)).await {
            assert_eq!(end.text(), told, "{through}");
        }
    }
    let log = arena.server().log().text();
    let longest = log.lines().map(str::len).max();
    assert!(
        longest.is_some_and(|longest| longest < 40 << 10),
        "{longest:?}"
    );
}

#[tokio::test]
async fn a_huge_result_names_its_limit() {
    let arena = Arena::start(roomy()).await;
    for through in ["result", "image", "complete"] {
        for end in both(&arena, through, shout(through, LONG)).await {
            end.refused(&["sandbox.result-bytes", "4194304"]);
        }
    }

    // As many at once as the server has threads: what works on them without a pause holds up everyone.
    let mallory = arena.mallory(Declares::Nothing);
    let attack = ends(&mallory, "shout", shout("result", LONG), 8);
    for end in arena.under("8 results of 16 MiB at once", attack).await {
        end.refused(&["sandbox.result-bytes", "4194304"]);
    }
}

// An error is what a client is told, as much as a result is.
#[tokio::test]
async fn a_huge_error_names_its_limit() {
    let arena = Arena::start(roomy()).await;
    for through in ["error", "fail"] {
        for end in both(&arena, through, shout(through, LONG)).await {
            end.refused(&["sandbox.result-bytes", "4194304"]);
        }
    }
    for end in both(&arena, "error-data", numbers("error-data")).await {
        end.refused(&["data", "GUEST_VALUE_BYTES", "1048576"]);
    }
}

// What is small in the guest must not be large in the host.
#[tokio::test]
async fn json_takes_no_more_memory_than_its_limit_allows() {
    let arena = Arena::start(Terms {
        memory_bytes: 64 << 20,
        handed_over: LONG,
        ..roomy()
    })
    .await;
    for (through, limit) in [
        ("structured", ["sandbox.result-bytes", "4194304"]),
        ("meta", ["GUEST_VALUE_BYTES", "1048576"]),
    ] {
        for end in both(&arena, through, numbers(through)).await {
            end.refused(&limit);
        }
    }
    for (through, limit) in [
        ("schema", "262144 (SCHEMA_BYTES)"),
        ("sampling", "1048576 (GUEST_VALUE_BYTES)"),
    ] {
        for end in both(&arena, through, numbers(through)).await {
            assert!(end.text().starts_with("invalid: "), "{}", end.text());
            assert!(end.text().contains(limit), "{}", end.text());
        }
    }
}

// Each of these characters is six bytes of JSON.
#[tokio::test]
async fn a_result_is_not_written_beyond_its_limit() {
    let arena = Arena::start(Terms {
        instances: 1,
        memory_bytes: 128 << 20,
        ..roomy()
    })
    .await;
    let mallory = arena.mallory(Declares::Nothing);
    let escaped = json!({"through": "result", "bytes": HUGE, "unit": "\u{1}\u{1f}"});
    let attack = end(&mallory, "shout", escaped);
    let end = arena.under("60 MiB of control characters", attack).await;
    end.refused(&["sandbox.result-bytes", "4194304"]);
}

#[tokio::test]
async fn what_one_call_of_the_host_takes_has_a_limit_that_is_named() {
    let arena = Arena::start(roomy()).await;
    let mallory = arena.mallory(Declares::Nothing);
    for through in ["progress", "log", "record-value", "recall", "result"] {
        let arguments = json!({"through": through, "bytes": 65 * MIB});
        let attack = end(&mallory, "shout", arguments);
        let end = arena
            .under(&format!("65 MiB through {through}"), attack)
            .await;
        end.refused(&["HOST_CALL_BYTES", "67108864"]);
    }
}

// A key that nothing was recorded under is forgotten.
#[tokio::test]
async fn keys_that_are_only_recalled_take_no_memory() {
    let arena = Arena::start(Terms {
        instances: 2,
        memory_bytes: 32 << 20,
        handed_over: 8 << 20,
        cpu_ms: 4_000,
        ..Terms::default()
    })
    .await;
    let mallory = arena.mallory(Declares::Nothing);
    let arguments = json!({"through": "recall", "bytes": 8 * MIB, "times": 1_000_000});
    let attack = ends(&mallory, "shout", arguments, 2);
    for end in arena.under("a million long keys recalled", attack).await {
        end.refused(&["sandbox.cpu-ms"]);
    }
}

// A client that asks for progress and does not read it holds its instance no longer than one that does.
#[tokio::test]
async fn a_stream_that_nobody_reads_ends_with_its_wall_time() {
    let arena = Arena::start(Terms {
        wall_ms: 5_000,
        ..roomy()
    })
    .await;
    let mallory = arena.mallory(Declares::Nothing);
    // More than the sockets between them hold.
    let arguments = json!({"through": "progress", "bytes": LONG, "times": 40});
    let call = mallory.tool("hostile.shout", arguments);
    let call = call.meta("progressToken", json!("t"));
    let attack = async {
        // The head of the stream is there with the first message.
        let unread = call.send().await;
        assert_eq!(unread.header("content-type"), "text/event-stream");
        arena.at_rest().await;
        unread
    };
    drop(arena.under("huge progress that nobody reads", attack).await);
}
