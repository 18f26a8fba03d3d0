//! The state machine under every order of events.

use super::record::{Fence, Millis, Outcome, Principal, Status, Task, Wait};
use super::state::{Change, Event, Failure, Refusal, apply};
use crate::limits::{IDLE_RUNS, STATUS_MESSAGE_BYTES};
use crate::protocol::{ClientFeatures, raw};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::HashSet;

pub(crate) fn task(ttl_ms: Option<u64>) -> Task {
    Task {
        owner: Principal::anonymous(),
        tool: "tool".to_owned(),
        served_as: "tool".to_owned(),
        source: "tools".to_owned(),
        digest: "00".to_owned(),
        features: ClientFeatures::all(),
        status: Status::Working,
        message: None,
        created_at: 1_000,
        updated_at: 1_000,
        ttl_ms,
        poll_interval_ms: 1_000,
        attempt: 1,
        max_attempts: 1,
        attempt_started_at: 1_000,
        wall_ms: u64::MAX,
        lease: 0,
        idle_runs: 0,
        wait: Wait::Nothing,
        inputs: Default::default(),
        trace: None,
        outcome: None,
    }
}

const FIRST: Fence = Fence {
    attempt: 1,
    lease: 0,
};

fn failure(message: &str) -> Failure {
    Failure {
        error: raw(&json!({ "code": -32603, "message": message })),
        message: message.to_owned(),
    }
}

fn claim() -> Event {
    Event::Claim {
        lost: failure("lost"),
    }
}

fn request(key: &str) -> (String, Value) {
    (key.to_owned(), json!({ "method": "roots/list" }))
}

fn answer(key: &str) -> Event {
    Event::Answer {
        responses: vec![(key.to_owned(), json!({}))],
    }
}

/// Events of any run: the present one, or one that was.
fn events() -> impl Strategy<Value = Event> {
    let fence = || (1..4u32, 0..4u64).prop_map(|(attempt, lease)| Fence { attempt, lease });
    let keys = || prop::collection::vec("[a-d]", 1..4);
    prop_oneof![
        (fence(), "[a-z]{0,2}").prop_map(|(fence, message)| Event::Progress { fence, message }),
        (fence(), keys()).prop_map(|(fence, keys)| Event::AskInput {
            fence,
            requests: keys.iter().map(|key| request(key)).collect(),
        }),
        fence().prop_map(|fence| Event::Keep { fence }),
        (fence(), 1_000..1_100i64).prop_map(|(fence, until)| Event::Sleep { fence, until }),
        fence().prop_map(|fence| Event::Complete {
            fence,
            result: raw(&json!({}))
        }),
        (fence(), any::<bool>()).prop_map(|(fence, retry)| Event::Fail {
            fence,
            failure: failure("x"),
            retry
        }),
        keys().prop_map(|keys| Event::Answer {
            responses: keys.into_iter().map(|key| (key, Value::Null)).collect(),
        }),
        Just(claim()),
        Just(Event::Cancel),
        Just(Event::Expire {
            ttl: failure("expired"),
            wall: failure("too long"),
        }),
    ]
}

fn fence_of(event: &Event) -> Option<Fence> {
    match event {
        Event::Progress { fence, .. }
        | Event::AskInput { fence, .. }
        | Event::Keep { fence }
        | Event::Sleep { fence, .. }
        | Event::Complete { fence, .. }
        | Event::Fail { fence, .. } => Some(*fence),
        Event::Answer { .. } | Event::Claim { .. } | Event::Cancel | Event::Expire { .. } => None,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn every_order_of_events_keeps_the_invariants(
        ttl in prop::option::of(0..200u64),
        wall in 50..10_000u64,
        max_attempts in 1..4u32,
        events in prop::collection::vec((events(), 0..900i64), 0..40),
    ) {
        let mut task = task(ttl);
        task.max_attempts = max_attempts;
        task.wall_ms = wall;
        let mut now = 1_000;
        let (mut used, mut asked) = (HashSet::new(), HashSet::new());
        for (event, pause) in events {
            now += pause;
            let before = task.clone();
            let keys: Vec<String> = match &event {
                Event::AskInput { requests, .. } => requests.iter().map(|(key, _)| key.clone()).collect(),
                _ => Vec::new(),
            };
            let stale = fence_of(&event).is_some_and(|fence| fence != before.fence());
            let is_claim = matches!(event, Event::Claim { .. });
            let result = apply(&mut task, event, now);

            if before.status.is_final() || stale || result == Ok(Change::Unchanged) || result.is_err() {
                prop_assert_eq!(json!(task), json!(before));
            }
            prop_assert!(!stale || result.is_err(), "a run of the past changes nothing");
            if result == Ok(Change::Quiet) {
                prop_assert_eq!(task.status, before.status);
                prop_assert_eq!(task.updated_at, before.updated_at);
                prop_assert_eq!(&task.message, &before.message);
                prop_assert_eq!(&task.inputs.open, &before.inputs.open);
            }
            if task.attempt != before.attempt {
                used.clear();
                prop_assert_eq!(task.attempt, before.attempt + 1);
            }
            if result.is_ok() && !keys.is_empty() {
                for key in keys {
                    prop_assert!(used.insert(key), "an attempt used a key twice");
                }
            }
            for key in task.inputs.open.keys().filter(|key| !before.inputs.open.contains_key(*key)) {
                prop_assert!(asked.insert(key.clone()), "the client was asked twice");
            }
            if !task.status.is_final() {
                prop_assert!(before.inputs.answered.keys().all(|key| task.inputs.answered.contains_key(key)));
            }
            if is_claim && result == Ok(Change::Quiet) {
                prop_assert!(task.lease > before.lease && before.ready_at().is_some_and(|time| time <= now));
            }
            prop_assert!(task.lease >= before.lease && task.attempt <= max_attempts);
            prop_assert!(task.updated_at >= before.updated_at);
            prop_assert_eq!(task.status == Status::InputRequired, !task.inputs.open.is_empty());
            prop_assert_eq!(matches!(task.outcome, Some(Outcome::Result(_))), task.status == Status::Completed);
            prop_assert_eq!(matches!(task.outcome, Some(Outcome::Error(_))), task.status == Status::Failed);
            prop_assert!(task.inputs.open.keys().all(|key| !task.inputs.answered.contains_key(key)));
            if let Wait::Input(keys) = &task.wait {
                prop_assert!(!task.inputs.have(keys), "it waits for nothing");
            }
        }
    }
}

#[test]
fn a_partial_answer_leaves_the_rest_open() {
    let mut task = task(None);
    let ask = Event::AskInput {
        fence: FIRST,
        requests: vec![request("a"), request("b")],
    };
    apply(&mut task, ask, 1_001).unwrap();
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
        fence: FIRST,
        requests: vec![request("c"), request("a")],
    };
    assert_eq!(
        apply(&mut task, again, 1_006),
        Err(Refusal::DuplicateKeys(vec!["a".into()]))
    );
    assert!(task.inputs.open.is_empty());
}

fn expire() -> Event {
    Event::Expire {
        ttl: failure("expired"),
        wall: failure("too long"),
    }
}

#[test]
fn a_task_never_expires_before_its_ttl() {
    let mut task = task(Some(10));
    assert_eq!(apply(&mut task, expire(), 1_009), Ok(Change::Unchanged));
    assert_eq!(apply(&mut task, expire(), 1_010), Ok(Change::Changed));
    assert_eq!(task.status, Status::Failed);
    assert_eq!(task.message.as_deref(), Some("expired"));
}

#[test]
fn an_attempts_wall_time_counts_from_its_start() {
    let mut task = task(None);
    (task.wall_ms, task.max_attempts) = (10, 2);
    assert_eq!(apply(&mut task, expire(), 1_009), Ok(Change::Unchanged));
    assert_eq!(apply(&mut task, expire(), 1_010), Ok(Change::Changed));
    assert_eq!((task.status, task.attempt), (Status::Working, 2));
    assert_eq!(apply(&mut task, expire(), 2_019), Ok(Change::Unchanged));
    assert_eq!(apply(&mut task, expire(), 2_020), Ok(Change::Changed));
    assert_eq!(task.message.as_deref(), Some("too long"));
}

#[test]
fn a_later_attempt_finds_answers_and_joins_open_questions() {
    let mut task = task(None);
    task.max_attempts = 2;
    let ask = |task: &mut Task, requests: Vec<(String, Value)>, now: Millis| {
        let fence = task.fence();
        apply(task, Event::AskInput { fence, requests }, now)
    };
    ask(&mut task, vec![request("a"), request("b")], 1_001).unwrap();
    apply(&mut task, answer("a"), 1_002).unwrap();
    let fail = Event::Fail {
        fence: FIRST,
        failure: failure("trap"),
        retry: true,
    };
    apply(&mut task, fail, 1_003).unwrap();
    assert_eq!(task.status, Status::InputRequired, "b is still asked");
    apply(&mut task, claim(), 3_000).unwrap();
    assert_eq!(ask(&mut task, vec![request("a")], 3_001), Ok(Change::Quiet));
    assert_eq!(task.wait, Wait::Nothing, "a is answered");
    assert_eq!(ask(&mut task, vec![request("b")], 3_002), Ok(Change::Quiet));
    assert_eq!(task.wait, Wait::Input(vec!["b".to_owned()]));
    apply(&mut task, answer("b"), 3_003).unwrap();
    assert_eq!((task.status, &task.wait), (Status::Working, &Wait::Nothing));
    let other = (
        "a".to_owned(),
        json!({ "method": "sampling/createMessage" }),
    );
    assert_eq!(
        ask(&mut task, vec![other], 3_004),
        Err(Refusal::DuplicateKeys(vec!["a".to_owned()])),
    );
}

#[test]
fn an_attempt_that_is_always_lost_ends() {
    let mut task = task(None);
    for _ in 0..IDLE_RUNS {
        assert_eq!(apply(&mut task, claim(), 2_000), Ok(Change::Quiet));
    }
    let fence = task.fence();
    apply(&mut task, Event::Keep { fence }, 2_000).unwrap();
    for _ in 0..IDLE_RUNS {
        assert_eq!(apply(&mut task, claim(), 2_000), Ok(Change::Quiet));
    }
    assert_eq!(apply(&mut task, claim(), 2_000), Ok(Change::Changed));
    assert_eq!(task.status, Status::Failed);
    assert_eq!(task.message.as_deref(), Some("lost"));
}

#[test]
fn a_failed_attempts_message_is_cut() {
    let mut task = task(None);
    task.max_attempts = 2;
    let fail = Event::Fail {
        fence: FIRST,
        failure: failure(&"ä".repeat(2_000)),
        retry: true,
    };
    apply(&mut task, fail, 2_000).unwrap();
    assert!(task.message.unwrap().len() <= STATUS_MESSAGE_BYTES);
}
