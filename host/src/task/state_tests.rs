//! The state machine under every order of events.

use super::record::{Outcome, Principal, Status, Task};
use super::state::{Change, Event, Refusal, apply};
use crate::protocol::{ClientFeatures, raw};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::HashSet;

pub(crate) fn task(ttl_ms: Option<u64>) -> Task {
    Task {
        owner: Principal::anonymous(),
        tool: "tool".to_owned(),
        digest: "00".to_owned(),
        features: ClientFeatures::all(),
        status: Status::Working,
        message: None,
        created_at: 1_000,
        updated_at: 1_000,
        ttl_ms,
        poll_interval_ms: 1_000,
        attempt: 1,
        inputs: Default::default(),
        outcome: None,
    }
}

fn events() -> impl Strategy<Value = Event> {
    let attempt = 1..3u32;
    let keys = || prop::collection::vec("[a-d]", 1..4);
    let error = || raw(&json!({ "code": -32603, "message": "x" }));
    prop_oneof![
        (attempt.clone(), "[a-z]{0,2}")
            .prop_map(|(attempt, message)| Event::Progress { attempt, message }),
        (attempt.clone(), keys()).prop_map(|(attempt, keys)| Event::AskInput {
            attempt,
            requests: keys
                .into_iter()
                .map(|key| (key, json!({ "method": "roots/list" })))
                .collect(),
        }),
        attempt.clone().prop_map(|attempt| Event::Complete {
            attempt,
            result: raw(&json!({}))
        }),
        attempt.prop_map(move |attempt| Event::Fail {
            attempt,
            error: error(),
            message: "x".into()
        }),
        keys().prop_map(|keys| Event::Answer {
            responses: keys.into_iter().map(|key| (key, Value::Null)).collect(),
        }),
        Just(Event::Cancel),
        Just(Event::Expire {
            error: error(),
            message: "expired".into()
        }),
        Just(Event::Lose {
            error: error(),
            message: "lost".into()
        }),
    ]
}

proptest! {
    #[test]
    fn every_order_of_events_keeps_the_invariants(
        ttl in prop::option::of(0..20u64),
        events in prop::collection::vec((events(), 0..3i64), 0..40),
    ) {
        let mut task = task(ttl);
        let mut now = 1_000;
        let mut asked = HashSet::new();
        for (event, pause) in events {
            now += pause;
            let before = task.clone();
            let keys: Vec<String> = match &event {
                Event::AskInput { requests, .. } => requests.iter().map(|(key, _)| key.clone()).collect(),
                _ => Vec::new(),
            };
            let stale = matches!(&event,
                Event::Progress { attempt, .. } | Event::AskInput { attempt, .. }
                | Event::Complete { attempt, .. } | Event::Fail { attempt, .. } if *attempt != 1);
            let result = apply(&mut task, event, now);

            if before.status.is_final() || stale || result != Ok(Change::Changed) {
                prop_assert_eq!(task.status, before.status);
                prop_assert_eq!(&task.message, &before.message);
                prop_assert_eq!(task.updated_at, before.updated_at);
                prop_assert_eq!(&task.inputs, &before.inputs);
                prop_assert_eq!(task.outcome.is_some(), before.outcome.is_some());
            }
            if result == Ok(Change::Changed) {
                for key in keys {
                    prop_assert!(asked.insert(key), "a key was asked twice");
                }
            }
            prop_assert!(task.updated_at >= before.updated_at);
            prop_assert_eq!(task.status == Status::InputRequired, !task.inputs.open.is_empty());
            prop_assert_eq!(matches!(task.outcome, Some(Outcome::Result(_))), task.status == Status::Completed);
            prop_assert_eq!(matches!(task.outcome, Some(Outcome::Error(_))), task.status == Status::Failed);
            prop_assert!(task.inputs.open.keys().all(|key| !task.inputs.answered.contains_key(key)));
        }
    }
}

#[test]
fn a_partial_answer_leaves_the_rest_open() {
    let mut task = task(None);
    let request = |key: &str| (key.to_owned(), json!({ "method": "roots/list" }));
    let ask = Event::AskInput {
        attempt: 1,
        requests: vec![request("a"), request("b")],
    };
    apply(&mut task, ask, 1_001).unwrap();
    let answer = |key: &str| Event::Answer {
        responses: vec![(key.to_owned(), json!({}))],
    };
    assert_eq!(
        apply(&mut task, answer("zzz"), 1_002),
        Ok(Change::Unchanged)
    );
    assert_eq!(apply(&mut task, answer("a"), 1_003), Ok(Change::Changed));
    assert_eq!(task.status, Status::InputRequired);
    assert_eq!(task.inputs.open.keys().collect::<Vec<_>>(), ["b"]);
    assert_eq!(
        apply(&mut task, answer("a"), 1_004),
        Ok(Change::Unchanged),
        "the first answer wins"
    );
    assert_eq!(apply(&mut task, answer("b"), 1_005), Ok(Change::Changed));
    assert_eq!(task.status, Status::Working);
    let again = Event::AskInput {
        attempt: 1,
        requests: vec![request("c"), request("a")],
    };
    assert_eq!(
        apply(&mut task, again, 1_006),
        Err(Refusal::DuplicateKeys(vec!["a".into()]))
    );
    assert!(task.inputs.open.is_empty());
}

#[test]
fn a_task_never_expires_before_its_ttl() {
    let mut task = task(Some(10));
    let expire = || Event::Expire {
        error: raw(&json!({})),
        message: "expired".into(),
    };
    assert_eq!(apply(&mut task, expire(), 1_009), Ok(Change::Unchanged));
    assert_eq!(apply(&mut task, expire(), 1_010), Ok(Change::Changed));
    assert_eq!(task.status, Status::Failed);
}
