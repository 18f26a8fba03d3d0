//! Answers that are none, and ends in the middle of everything: the client is told in the protocol's
//! own form, whatever the tool gave.

use cofferdam_tests::{Arena, Declares, Terms};
use serde_json::json;

use crate::end::{End, end, ends};

/// What is wrong with an answer, and what the error says.
const WRONG: [(&str, &str); 9] = [
    ("structured", "structured: not JSON"),
    (
        "structured-deep",
        "structured: nested deeper than 64 levels",
    ),
    ("structured-tail", "structured: not JSON"),
    ("meta", "meta: not JSON"),
    ("meta-list", "meta: not a JSON object"),
    ("meta-deep", "meta: nested deeper than 64 levels"),
    ("priority", "annotations: priority"),
    ("error-data", "data: not JSON"),
    ("error-data-deep", "data: nested deeper than 64 levels"),
];

#[tokio::test]
async fn a_malformed_answer_is_an_error_that_names_the_fault() {
    let arena = Arena::start(Terms::default()).await;
    for (declares, name) in [
        (Declares::Nothing, "malformed answers"),
        (Declares::Tasks, "malformed answers of tasks"),
    ] {
        let mallory = arena.mallory(declares);
        let attack = async {
            for (wrong, named) in WRONG {
                for end in ends(&mallory, "malformed", json!({"wrong": wrong}), 8).await {
                    end.refused(&["malformed", named]);
                }
            }
            end(&mallory, "promise", json!({})).await
        };
        let broken = arena.under(name, attack).await;
        broken.refused(&["does not fit its output schema"]);
    }
}

// Half of a surrogate pair is an escape that JSON's grammar allows and parsers refuse: with the whole
// response, and with the whole stream of a listener.
#[tokio::test]
async fn structured_content_is_json_for_every_client() {
    let arena = Arena::start(Terms::default()).await;
    for declares in [Declares::Nothing, Declares::Tasks] {
        let mallory = arena.mallory(declares);
        let arguments = json!({"wrong": "structured-surrogate"});
        let attack = end(&mallory, "malformed", arguments);
        let end = arena.under("half of a surrogate pair", attack).await;
        end.refused(&["malformed", "structured: not JSON"]);
    }
}

// What belongs to the protocol and to the server is theirs, whatever a tool says.
#[tokio::test]
async fn nobody_speaks_in_the_servers_name() {
    let arena = Arena::start(Terms::default()).await;
    let attack = async {
        for declares in [Declares::Nothing, Declares::Tasks] {
            let mallory = arena.mallory(declares);
            let code = end(&mallory, "malformed", json!({"wrong": "error-code"})).await;
            code.refused(&["no"]);
            let name = end(&mallory, "malformed", json!({"wrong": "server-info"})).await;
            let server = &name.result()["_meta"]["io.modelcontextprotocol/serverInfo"];
            assert_eq!(server["name"], "cofferdam");
        }
    };
    arena.under("false names", attack).await;
}

// A line of a tool stays one line of the log, under the tool's name, and is no command to a terminal.
#[tokio::test]
async fn nobody_writes_the_servers_log() {
    let arena = Arena::start(Terms::default()).await;
    let mallory = arena.mallory(Declares::Nothing);
    let attack = async {
        for through in ["log", "fields", "stdout", "stderr"] {
            for new_line in ["\n", "\r\n", "\r", "\u{85}", "\u{2028}"] {
                let forged = format!("{new_line}FORGED \u{1b}[2J\u{9b}2J\u{7}");
                let arguments = json!({
                    "through": through, "bytes": 1, "around": [format!("a line{forged}"), ""],
                });
                end(&mallory, "shout", arguments).await.text();
            }
        }
    };
    arena.under("forged lines of the log", attack).await;
    let log = arena.server().log();
    log.line(&["FORGED", "stderr"]).await;
    let log = log.text();
    for line in log.split(['\n', '\r', '\u{85}', '\u{2028}']) {
        let ours = line.is_empty() || line.starts_with("20") && line.contains('Z');
        assert!(ours, "the log has a line {line:?} that is nobody's");
        assert!(!line.contains(['\u{1b}', '\u{9b}', '\u{7}']), "{line:?}");
    }
}

#[tokio::test]
async fn a_panic_ends_its_own_call() {
    let arena = Arena::start(Terms::default()).await;
    for declares in [Declares::Nothing, Declares::Tasks] {
        let mallory = arena.mallory(declares);
        for when in ["at-once", "busy", "panicking"] {
            let attack = ends(&mallory, "panics", json!({"when": when}), 32);
            for end in arena.under(&format!("32 panics: {when}"), attack).await {
                end.refused(&["unreachable"]);
            }
        }
        // The call had its end before.
        let attack = ends(&mallory, "panics", json!({"when": "ended"}), 32);
        for end in arena.under("32 panics after the end", attack).await {
            assert_eq!(end.text(), "the end");
        }
    }
    // What was printed before is in the log, and so is the panic.
    let log = arena.server().log();
    log.line(&["half a line", "hostile.panics"]).await;
    log.line(&["with 100 timers", "hostile.panics"]).await;
}

#[tokio::test]
async fn a_panic_after_an_answer_fails_the_task() {
    let arena = Arena::start(Terms::default()).await;
    let mallory = arena.mallory(Declares::Everything);
    let attack = async {
        for _ in 0..16 {
            let task = mallory
                .task("hostile.panics", json!({"when": "answered"}))
                .await;
            task.until("input_required").await;
            task.update(json!({"go": {"action": "accept"}})).await;
            End::of_task(&task.end().await).refused(&["unreachable"]);
        }
    };
    arena.under("panics with an answer in hand", attack).await;
}
