//! Very many small things, each of which costs the host something.

use cofferdam_tests::{Arena, Client, Declares, Terms};
use serde_json::{Value, json};

use crate::end::{End, end, ends};

/// Runs it inline and as a task.
async fn both(arena: &Arena, name: &str, tool: &str, arguments: Value) -> [String; 2] {
    let attack = async {
        let mut told = [String::new(), String::new()];
        for (told, declares) in told.iter_mut().zip([Declares::Nothing, Declares::Tasks]) {
            let end = end(&arena.mallory(declares), tool, arguments.clone()).await;
            end.text().clone_into(told);
        }
        told
    };
    arena.under(name, attack).await
}

fn patient() -> Terms {
    Terms {
        cpu_ms: 20_000,
        ..Terms::default()
    }
}

#[tokio::test]
async fn log_lines_beyond_the_rate_are_dropped() {
    let arena = Arena::start(patient()).await;
    let arguments = json!({"lines": 100_000});
    for told in both(&arena, "100 000 log lines", "log_lines", arguments).await {
        assert_eq!(told, "written");
    }
    let log = arena.server().log();
    let written = log.count(&["flood line"]);
    let dropped = log.count(&["log lines dropped"]);
    assert!((400..20_000).contains(&written), "{written}");
    assert!(dropped >= 2, "{dropped}");
}

#[tokio::test]
async fn progress_beyond_the_rate_is_dropped() {
    let arena = Arena::start(patient()).await;
    let arguments = json!({"number": 1_000_000, "bytes": 10});
    for told in both(&arena, "a million reports", "reports", arguments.clone()).await {
        assert_eq!(told, "reported");
    }
    let heard = async {
        let call = arena
            .mallory(Declares::Nothing)
            .tool("hostile.reports", arguments);
        call.meta("progressToken", json!("t")).answer().await
    };
    let answer = arena
        .under("a million reports to one who reads them", heard)
        .await;
    let told = answer.notifications.len();
    assert!((50..5_000).contains(&told), "{told}");
}

#[tokio::test]
async fn questions_at_once_have_a_limit_that_is_named() {
    let arena = Arena::start(patient()).await;
    let arguments = json!({"keys": 100_000});
    for told in both(
        &arena,
        "100 000 questions at once",
        "ask_at_once",
        arguments,
    )
    .await
    {
        assert_eq!(told, "invalid: at most 32 requests at once");
    }
}

#[tokio::test]
async fn questions_that_cannot_be_asked_cost_nothing() {
    let arena = Arena::start(patient()).await;
    let arguments = json!({"times": 100_000, "at_once": 1});
    let name = "100 000 questions to a client that takes none";
    for told in both(&arena, name, "ask_in_a_row", arguments).await {
        assert_eq!(told, "0 answered; the last: missing-features");
    }
}

/// Answers what a task asks until it is final, and gives how it ended.
async fn answered(client: &Client, tool: &str, arguments: Value) -> Value {
    let task = client.task(tool, arguments).await;
    let mut listen = client.listen_to(&[&task]).await;
    loop {
        let state = listen.task().await;
        let requests = state["inputRequests"].as_object();
        if let Some(requests) = requests {
            let accepted = requests
                .keys()
                .map(|key| (key.clone(), json!({"action": "accept"})));
            task.update(Value::Object(accepted.collect())).await;
        } else if state["status"] != "working" {
            return state;
        }
    }
}

#[tokio::test]
async fn questions_one_after_the_other_have_a_limit_that_is_named() {
    let arena = Arena::start(patient().set("tasks.journal-bytes", 32 << 10)).await;
    let mallory = arena.mallory(Declares::Everything);
    let tool = "hostile.ask_in_a_row";
    let attack = answered(&mallory, tool, json!({"times": 32, "at_once": 32}));
    let state = arena.under("1 024 questions, answered", attack).await;
    let told = &state["result"]["content"][0]["text"];
    let told = told.as_str().unwrap_or_else(|| panic!("{state}"));
    assert!(
        told.starts_with("992 answered; the last: invalid: "),
        "{told}"
    );
    assert!(told.contains("1000"), "{told}");

    // Each further question is one more entry of the journal, whatever comes of it.
    for same in [true, false] {
        let arguments = json!({"times": 100_000, "at_once": 32, "same": same});
        let attack = answered(&mallory, tool, arguments);
        let state = arena
            .under("100 000 times 32 questions, answered", attack)
            .await;
        End::of_task(&state).refused(&["tasks.journal-bytes", "32768"]);
    }
}

#[tokio::test]
async fn random_bytes_have_a_limit_that_is_named() {
    let arena = Arena::start(patient()).await;
    let mallory = arena.mallory(Declares::Nothing);
    let attack = async {
        for bytes in [65_537, 1 << 30, 1 << 40, u64::MAX] {
            let end = end(&mallory, "random", json!({"bytes": bytes, "times": 1})).await;
            end.refused(&["random bytes", "65536"]);
        }
    };
    arena.under("random bytes by the gigabyte", attack).await;
}

#[tokio::test]
async fn endless_random_bytes_end_with_their_cpu_time() {
    let arena = Arena::start(Terms {
        cpu_ms: 500,
        ..Terms::default()
    })
    .await;
    let mallory = arena.mallory(Declares::Nothing);
    for bytes in [0, 1, 65_536] {
        let arguments = json!({"bytes": bytes, "times": 1_u64 << 60});
        let name = format!("endless random numbers of {bytes} bytes");
        let attack = ends(&mallory, "random", arguments, 4);
        for end in arena.under(&name, attack).await {
            end.refused(&["sandbox.cpu-ms"]);
        }
    }
}

#[tokio::test]
async fn endless_clock_readings_end_with_the_journal() {
    let arena = Arena::start(patient().set("tasks.journal-bytes", 64 << 10)).await;
    let mallory = arena.mallory(Declares::Nothing);
    let attack = ends(&mallory, "clocks", json!({"times": 1_000_000}), 4);
    for end in arena.under("endless clock readings", attack).await {
        end.refused(&["tasks.journal-bytes", "65536"]);
    }
}

#[tokio::test]
async fn handles_have_a_limit_that_is_named() {
    let arena = Arena::start(patient()).await;
    for declares in [Declares::Nothing, Declares::Tasks] {
        let mallory = arena.mallory(declares);
        let attack = ends(&mallory, "hold", json!({"count": 300_000}), 16);
        for end in arena
            .under("300 000 timers that are never dropped", attack)
            .await
        {
            end.refused(&["RESOURCES", "1000"]);
        }
    }
    let mallory = arena.mallory(Declares::Nothing);
    assert_eq!(
        end(&mallory, "hold", json!({"count": 400})).await.text(),
        "400"
    );
}

#[tokio::test]
async fn a_poll_of_many_costs_what_it_hands_over() {
    let arena = Arena::start(Terms::default()).await;
    let mallory = arena.mallory(Declares::Nothing);
    let arguments = json!({"count": 90_000, "times": 1_000_000});
    let attack = ends(&mallory, "poll_many", arguments, 4);
    for end in arena
        .under("polls of 90 000 names of one timer", attack)
        .await
    {
        end.refused(&["sandbox.cpu-ms"]);
    }
    let arguments = json!({"count": 5_000_000, "times": 1});
    let attack = ends(&mallory, "poll_many", arguments, 4);
    for end in arena
        .under("a poll of five million names of one timer", attack)
        .await
    {
        end.refused(&["handle limit exceeded"]);
    }
}

// Looking for what is not there takes no more than a journal may.
#[tokio::test]
async fn keys_that_are_only_recalled_are_bounded() {
    let arena = Arena::start(Terms {
        instances: 2,
        memory_bytes: 16 << 20,
        handed_over: 1 << 20,
        cpu_ms: 6_000,
        ..Terms::default()
    })
    .await;
    let mallory = arena.mallory(Declares::Nothing);
    let attack = ends(&mallory, "recall_many", json!({"keys": u32::MAX}), 2);
    for end in arena.under("four billion keys recalled", attack).await {
        end.refused(&["tasks.journal-bytes", "4194304"]);
    }
}
