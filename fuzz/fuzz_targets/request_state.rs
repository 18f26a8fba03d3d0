//! What a client brings back as `requestState`. The first byte says how: 0, the rest is its text; else
//! it is what would be inside, if a client could break the seal.
//!
//! Text that the server did not make is refused. What is inside is read, answered, asked for again, and
//! resumed, in memory in proportion to it, and comes through a new seal as it was.

#![no_main]

use cofferdam::call::{Call, SealedCall, Sealer, StateError, Target};
use cofferdam::journal::Origin;
use cofferdam::limits::REQUEST_STATE_BYTES;
use cofferdam::protocol::raw;
use cofferdam::task::Principal;
use cofferdam_fuzz::{memory, world};
use libfuzzer_sys::{Corpus, fuzz_target};
use serde_json::{Map, Value, json};
use std::sync::{Arc, LazyLock};

static WORLD: LazyLock<world::World> = LazyLock::new(world::World::new);

fuzz_target!(init: setup(), |data: &[u8]| -> Corpus {
    let Some((form, data)) = data.split_first() else {
        return Corpus::Reject;
    };
    let owner = Principal::anonymous();
    let arguments = raw(&json!({ "a": [1, "two"] }));
    let target = Target::Tool(Arc::clone(WORLD.tool("asks")));
    let call = Call::of(&owner, &target, &arguments);
    let sealer = Sealer::new(world::KEY);
    let most = (1 << 20) + 256 * data.len();
    memory::within(most, || match form {
        0 => text(&sealer, &call, data),
        _ => inside(&sealer, &call, data),
    })
});

/// What the first input would else be taken to have reached.
fn setup() {
    LazyLock::force(&WORLD);
}

fn text(sealer: &Sealer, call: &Call<'_>, data: &[u8]) -> Corpus {
    let Ok(text) = std::str::from_utf8(data) else {
        return Corpus::Reject;
    };
    let opened = SealedCall::open(sealer, call, text, 0);
    assert!(matches!(opened, Err(StateError::Unverified)));
    Corpus::Keep
}

fn inside(sealer: &Sealer, call: &Call<'_>, data: &[u8]) -> Corpus {
    let Ok(mut sealed) = postcard::from_bytes::<SealedCall>(data) else {
        return Corpus::Reject;
    };
    let plain = postcard::to_allocvec(&sealed).expect("a state is plain data");
    match sealed.question(sealer, call) {
        Ok(question) => {
            let question = serde_json::to_value(&question).expect("a question is JSON");
            let state = question["requestState"].as_str().expect("it has a state");
            let opened = SealedCall::open(sealer, call, state, i64::MIN);
            match opened {
                Ok(opened) => assert_eq!(postcard::to_allocvec(&opened).ok(), Some(plain)),
                Err(error) => assert!(sealed.expires_at == i64::MIN, "{error}"),
            }
        }
        Err(error) => assert!(plain.len() > REQUEST_STATE_BYTES, "{error}"),
    }

    // Answers of each kind that a client gives, whatever is asked.
    let kinds = [
        json!({ "action": "accept", "content": { "name": "x" } }),
        json!({ "action": "decline" }),
        json!({ "roots": [{ "uri": "file:///a" }] }),
        json!({ "role": "assistant", "content": { "type": "text", "text": "x" }, "model": "m" }),
    ];
    let keys = question_keys(&sealed);
    for kind in &kinds {
        let responses: Map<String, Value> =
            keys.iter().map(|key| (key.clone(), kind.clone())).collect();
        // One that does not fit is refused, and nothing is taken.
        let _ = sealed.answer(&responses);
    }
    let _ = sealed.needed();
    let answers = sealed.answers();
    let answered = sealed.all_answered();
    assert!(answers.iter().all(|(key, _)| answered.contains_key(key)));
    let limit = sealed.setup.limits.journal_bytes;
    if let Ok(resumed) = sealed.resume(&Origin::Live) {
        assert!(
            resumed.journal.is_replaying(),
            "the answers are an entry at least"
        );
        assert_eq!(resumed.journal.options().limit, limit);
        assert_eq!(resumed.answered, answered);
    }
    Corpus::Keep
}

/// The keys of what is asked: of the questions as the client sees them.
fn question_keys(sealed: &SealedCall) -> Vec<String> {
    let open = serde_json::to_value(&sealed.open).expect("texts are JSON");
    let open: Vec<(String, String)> = serde_json::from_value(open).expect("keys and texts");
    open.into_iter().map(|(key, _)| key).collect()
}
