//! Requests with faults: a valid one, changed in one place or in several.
//!
//! Invariant: the change is made in the text, so that a value may be one that no JSON library would
//! write; all else stays as it was.

use cofferdam_tests::{Call, Request};
use serde_json::{Value, json};

/// Deepest nesting that the server reads.
pub(super) const DEPTH: usize = 64;

/// A valid request, and what it is called in messages of the tests.
#[derive(Clone)]
pub(super) struct Base {
    pub(super) name: &'static str,
    pub(super) http: Request,
    pub(super) message: Value,
    /// Headers beside those of every request.
    pub(super) headers: &'static [&'static str],
}

impl Base {
    pub(super) fn new(name: &'static str, call: &Call, headers: &'static [&'static str]) -> Self {
        Self {
            name,
            http: call.http(),
            message: call.message().clone(),
            headers,
        }
    }

    /// All changes of one place.
    pub(super) fn changes(&self) -> Vec<Change> {
        let mut changes = Vec::new();
        for path in paths(&self.message) {
            let puts = values()
                .into_iter()
                .map(|text| Change::Put(path.clone(), text));
            changes.extend(puts);
            if !path.is_empty() {
                changes.push(Change::Delete(path.clone()));
            }
            if at(&self.message, &path).is_some_and(Value::is_object) {
                changes.push(Change::Add(path));
            }
        }
        for name in HEADERS.iter().chain(self.headers) {
            changes.push(Change::NoHeader(name));
            for value in header_values() {
                changes.push(Change::Header(name, value.clone()));
                changes.push(Change::MoreHeader(name, value));
            }
        }
        changes
    }
}

/// One change.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Change {
    /// Another value, as text.
    Put(Vec<String>, String),
    /// Without this member or element.
    Delete(Vec<String>),
    /// A member that nobody knows.
    Add(Vec<String>),
    /// A header in place of the right one.
    Header(&'static str, Vec<u8>),
    /// A header beside the right one.
    MoreHeader(&'static str, Vec<u8>),
    /// Without a header.
    NoHeader(&'static str),
}

impl Change {
    /// The change in a few words.
    pub(super) fn describe(&self) -> String {
        let mut text = format!("{self:?}");
        if text.len() > 200 {
            text.truncate(text.floor_char_boundary(200));
            text.push('…');
        }
        text
    }
}

/// The headers that every request has, or that a browser would add.
const HEADERS: [&str; 7] = [
    "MCP-Protocol-Version",
    "Mcp-Method",
    "Content-Type",
    "Accept",
    "Host",
    "Origin",
    "Authorization",
];

/// A request with all these changes, and the body it has then. A change of what an earlier one took
/// away changes nothing.
pub(super) fn changed(base: &Base, changes: &[Change]) -> (Request, String) {
    let mut http = base.http.clone();
    let mut message = base.message.clone();
    let mut texts = Vec::new();
    for change in changes {
        match change {
            Change::Put(path, text) => {
                let mark = format!("\u{e000}{}\u{e000}", texts.len());
                if let Some(place) = at_mut(&mut message, path) {
                    *place = json!(mark);
                    texts.push((mark, text));
                }
            }
            Change::Delete(path) => delete(&mut message, path),
            Change::Add(path) => {
                if let Some(Value::Object(members)) = at_mut(&mut message, path) {
                    members.insert("com.example/unknown".to_owned(), json!({"a": [1, null]}));
                }
            }
            Change::Header(name, value) => http = http.header(name, value),
            Change::MoreHeader(name, value) => http = http.more(name, value),
            Change::NoHeader(name) => http = http.without(name),
        }
    }
    let mut body = message.to_string();
    for (mark, text) in texts {
        body = body.replacen(&format!("\"{mark}\""), text, 1);
    }
    (http.body(body.clone()), body)
}

/// What is put in place of a value: each type, and the extremes of each.
fn values() -> Vec<String> {
    let mut values: Vec<String> = [
        "null",
        "true",
        "false",
        "0",
        "7",
        "-7",
        "1.5",
        "1e2",
        "1e400",
        "-0",
        "123456789012345678901234567890",
        r#""""#,
        r#"" ""#,
        r#""x""#,
        r#""\u0000""#,
        r#""\ud800""#,
        r#""é\u202e😀""#,
        "[]",
        "[null]",
        "{}",
        r#"{"":{}}"#,
        r#"{"a":{"b":[{"c":null}]}}"#,
    ]
    .map(str::to_owned)
    .to_vec();
    values.push(format!("\"{}\"", "x".repeat(100_000)));
    values.push("9".repeat(300));
    // Wherever it is put, one level below the message at least, it is too deep; at the root it is not.
    values.push(format!("{}{}", "[".repeat(DEPTH), "]".repeat(DEPTH)));
    values
}

/// What is put in place of a header's value.
fn header_values() -> Vec<Vec<u8>> {
    let mut values: Vec<Vec<u8>> = [
        "",
        "x",
        "null",
        "0",
        ",",
        "2025-11-25",
        "=?base64?eA==?=",
        "=?base64?!?=",
        "=?base64??=",
        "tools/call",
        "*/*",
        "text/event-stream",
        "application/json",
        "http://evil.example",
    ]
    .map(|value| value.as_bytes().to_vec())
    .to_vec();
    values.push(b"\xff\xfe".to_vec());
    values.push(vec![b'x'; 8_000]);
    values
}

/// The places of all values in a message, the message itself first.
fn paths(value: &Value) -> Vec<Vec<String>> {
    let children: Vec<(String, &Value)> = match value {
        Value::Object(members) => members
            .iter()
            .map(|(key, value)| (key.clone(), value))
            .collect(),
        Value::Array(items) => (0..).map(|n: usize| n.to_string()).zip(items).collect(),
        _ => Vec::new(),
    };
    let below = children.into_iter().flat_map(|(step, value)| {
        paths(value).into_iter().map(move |mut path| {
            path.insert(0, step.clone());
            path
        })
    });
    std::iter::once(Vec::new()).chain(below).collect()
}

fn at<'a>(value: &'a Value, path: &[String]) -> Option<&'a Value> {
    path.iter().try_fold(value, |value, step| match value {
        Value::Array(items) => items.get(step.parse::<usize>().ok()?),
        _ => value.get(step),
    })
}

fn at_mut<'a>(value: &'a mut Value, path: &[String]) -> Option<&'a mut Value> {
    path.iter().try_fold(value, |value, step| match value {
        Value::Array(items) => items.get_mut(step.parse::<usize>().ok()?),
        _ => value.get_mut(step),
    })
}

fn delete(message: &mut Value, path: &[String]) {
    let Some((last, parent)) = path.split_last() else {
        return;
    };
    match at_mut(message, parent) {
        Some(Value::Object(members)) => drop(members.shift_remove(last)),
        Some(Value::Array(items)) => {
            if let Some(index) = last.parse().ok().filter(|index| *index < items.len()) {
                items.remove(index);
            }
        }
        _ => {}
    }
}

/// Pseudo-random numbers from a seed (SplitMix64): the same cases in every run with the same seed.
pub(super) struct Random(pub(super) u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// One of them.
    pub(super) fn pick<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        let count = u64::try_from(all.len()).expect("a length is a number");
        let index = usize::try_from(self.next() % count).expect("less than a length");
        &all[index]
    }
}

#[test]
fn changes_are_made_where_they_say() {
    let base = Base {
        name: "x",
        http: Request::new("POST", "/mcp"),
        message: json!({"id": 1, "params": {"a": [1, 2], "b": {}}}),
        headers: &[],
    };
    let path = |steps: &[&str]| steps.iter().map(ToString::to_string).collect::<Vec<_>>();
    let body = |change: Change| changed(&base, &[change]).1;
    let put = body(Change::Put(path(&["params", "a", "1"]), "1e400".to_owned()));
    assert!(put.contains(r#""a":[1,1e400],"b":{}"#), "{put}");
    let less = body(Change::Delete(path(&["params", "a", "0"])));
    assert!(less.contains(r#""a":[2],"b":{}"#), "{less}");
    let more = body(Change::Add(path(&["params", "b"])));
    assert!(more.contains(r#""b":{"com.example/unknown":"#), "{more}");
    assert_eq!(body(Change::Put(path(&[]), "null".to_owned())), "null");
    assert!(base.changes().len() > 400);
}
