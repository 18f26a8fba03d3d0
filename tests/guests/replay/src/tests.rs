//! The tools against the scripted host. It does not repeat clocks and random numbers, so the tools
//! that compare those are run undisturbed here.

use crate::{chance, mixed, questions, records, steps, time};
use cofferdam_guest::Tool;
use cofferdam_guest::prelude::*;
use cofferdam_guest::testing::Script;
use serde_json::{Value, json};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// A user who answers each question with its key.
fn script() -> Script {
    ["go", "first", "second", "left", "right", "a", "b", "c"]
        .iter()
        .fold(Script::new(), |script, key| {
            script.accept(key, &json!({ "value": key }))
        })
}

fn run<T: Tool>(call: &Call, arguments: &Value) -> Result<String> {
    let result = T::run(call, &arguments.to_string())?;
    match &result.content[..] {
        [Content::Text(text)] if result.structured.is_none() => Ok(text.text.clone()),
        other => panic!("not one text: {other:?}"),
    }
}

/// The result of a tool in both phases, which must be the same.
fn both<T: Tool>(run: impl Fn(Script, &Value) -> Result<String>) -> Value {
    let inline = run(script(), &json!({}));
    let task = run(script(), &json!({ "phase": "task" }));
    assert_eq!(inline, task, "{}", T::NAME);
    serde_json::from_str(&inline.unwrap()).unwrap()
}

fn undisturbed<T: Tool>() -> Value {
    both::<T>(|script, arguments| run::<T>(&script.call(), arguments))
}

fn lost_everywhere<T: Tool>() -> Value {
    both::<T>(|script, arguments| script.lost_everywhere(|call| run::<T>(call, arguments)))
}

#[test]
fn what_is_read_and_drawn_is_compared() {
    let plain = json!({ "same": true, "answer": "go" });
    assert_eq!(undisturbed::<chance::random>(), plain);
    assert_eq!(undisturbed::<chance::hash_map>(), plain);
    assert_eq!(
        undisturbed::<time::clock>(),
        json!({ "same": true, "ordered": true, "answer": "go" })
    );
    assert_eq!(
        undisturbed::<mixed::mixed>(),
        json!({ "same": true, "fresh": true, "ordered": true, "slept": false, "answers": ["a", "b", "c"] })
    );
}

#[test]
fn a_comparison_can_fail() {
    // Clocks and seeds are others in the second run here, which a server must not let happen.
    for tool in [
        run::<time::clock>,
        run::<chance::random>,
        run::<chance::hash_map>,
        run::<mixed::mixed>,
    ] {
        let script = script();
        let first = tool(&script.call(), &json!({})).unwrap();
        let second = tool(&script.call(), &json!({})).unwrap();
        assert!(first.contains(r#""same":true"#), "{first}");
        assert!(second.contains(r#""same":false"#), "{second}");
    }
}

#[test]
fn a_lost_server_changes_no_result() {
    assert_eq!(
        lost_everywhere::<questions::sequence>(),
        json!({ "first": "first", "second": "second" })
    );
    assert_eq!(
        lost_everywhere::<questions::two_keys>(),
        json!({ "left": "left", "right": "right" })
    );
    assert_eq!(
        lost_everywhere::<records::records>(),
        json!({ "rounds": 45, "answer": "go" })
    );
    let steps: Vec<Value> = [1, 2, 3, 4, 4, 5]
        .map(|step| json!({ "step": step, "fresh": true }))
        .to_vec();
    assert_eq!(
        lost_everywhere::<steps::steps>(),
        json!({ "steps": steps, "answer": "go" })
    );
    // The scripted host does not really sleep.
    assert_eq!(
        lost_everywhere::<time::sleep>(),
        json!({ "answer": "go", "slept": false })
    );
}

#[test]
fn raw_values_are_shown_when_asked_for() {
    for (tool, member, length) in [
        (run::<time::clock> as fn(&Call, &Value) -> _, "readings", 3),
        (run::<chance::random>, "bytes", 2),
        (run::<chance::hash_map>, "order", 50),
        (run::<mixed::mixed>, "seen", 5),
    ] {
        let text = tool(&script().call(), &json!({ "raw": true })).unwrap();
        let result: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(result[member].as_array().unwrap().len(), length, "{text}");
    }
    let text = run::<steps::steps>(&script().call(), &json!({ "raw": true })).unwrap();
    let result: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(result["steps"][0]["drawn"].as_str().unwrap().len(), 16);
}

#[test]
fn a_decline_is_a_tool_error() {
    let script = script().decline("second");
    assert_eq!(
        run::<questions::sequence>(&script.call(), &json!({})),
        Err(Error::tool("second: declined"))
    );
}

#[test]
fn attempts_are_counted_across_traps_and_losses() {
    let script = Script::new();
    let attempt = || {
        catch_unwind(AssertUnwindSafe(|| {
            run::<records::flaky>(&script.call(), &json!({ "fails": 2 }))
        }))
    };
    assert!(attempt().is_err());
    assert!(attempt().is_err());
    let success = Ok(r#"{"tries":3}"#.to_owned());
    assert_eq!(attempt().unwrap(), success);
    // Lost after the last record, the attempt is run again.
    assert_eq!(attempt().unwrap(), success);
}
