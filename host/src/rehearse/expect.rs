//! What a case should come to.
//!
//! Invariant: only what is written down is looked at; a difference says what was expected and what came.

use super::conversation::{Came, End};
use serde::Deserialize;
use serde_json::Value;

/// What a case should come to. Each member is looked at if it is there.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Expect {
    /// How it ends.
    end: Option<End>,
    /// Whether the call becomes a task.
    task: Option<bool>,
    /// The keys of its questions, in the order asked.
    asks: Option<Vec<String>>,
    /// The text of the result, its text blocks in lines after one another.
    text: Option<String>,
    /// What that text has in it.
    contains: Vec<String>,
    /// The structured content.
    structured: Option<Value>,
    /// The number of the error.
    code: Option<i64>,
    /// What the error's message has in it.
    message: Option<String>,
}

impl Expect {
    /// What is different.
    pub(super) fn differences(&self, came: &Came) -> Vec<String> {
        let mut differences = Vec::new();
        let mut check = |what: &str, expected: Value, got: Value| {
            if expected != got {
                differences.push(format!("{what}: expected {expected}, got {got}"));
            }
        };
        let outcome: Value = serde_json::from_str(&came.outcome).unwrap_or_default();
        if let Some(end) = self.end {
            check("end", end.name().into(), came.end.name().into());
        }
        if let Some(task) = self.task {
            check("task", task.into(), came.task.into());
        }
        if let Some(asks) = &self.asks {
            check("asks", asks.clone().into(), came.asked.clone().into());
        }
        if let Some(text) = &self.text {
            check("text", text.clone().into(), text_of(&outcome).into());
        }
        if let Some(structured) = &self.structured {
            let got = outcome["structuredContent"].clone();
            check("structured", structured.clone(), got);
        }
        if let Some(code) = self.code {
            check("code", code.into(), outcome["code"].clone());
        }
        let mut within = |what: &str, part: &String, whole: &str| {
            if !whole.contains(part) {
                differences.push(format!("{what}: expected {part:?} in {whole:?}"));
            }
        };
        for part in &self.contains {
            within("text", part, &text_of(&outcome));
        }
        if let Some(part) = &self.message {
            within(
                "message",
                part,
                outcome["message"].as_str().unwrap_or_default(),
            );
        }
        differences
    }
}

fn text_of(outcome: &Value) -> String {
    let blocks = outcome["content"].as_array();
    let texts = blocks
        .into_iter()
        .flatten()
        .filter_map(|it| it["text"].as_str());
    texts.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_down_is_compared_and_nothing_else() {
        let came = Came {
            outcome: r#"{"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}],
                         "structuredContent":{"n":1}}"#
                .to_owned(),
            end: End::Completed,
            task: true,
            asked: vec!["go".to_owned()],
        };
        let differences = |text: &str| {
            let expect: Expect = toml::from_str(text).unwrap();
            expect.differences(&came)
        };
        for fits in [
            "",
            "end = 'completed'\ntask = true\nasks = ['go']",
            "text = \"a\\nb\"\ncontains = ['a', 'b']\nstructured = { n = 1 }",
        ] {
            assert_eq!(differences(fits), Vec::<String>::new(), "{fits}");
        }
        for (other, word) in [
            (
                "end = 'failed'",
                "end: expected \"failed\", got \"completed\"",
            ),
            ("task = false", "task"),
            ("asks = []", "asks"),
            ("text = 'a'", "text"),
            ("contains = ['c']", "\"c\" in \"a\\nb\""),
            ("structured = { n = 2 }", "structured"),
            ("code = -32603", "code"),
            ("message = 'x'", "message"),
        ] {
            let told = differences(other);
            assert!(
                told.len() == 1 && told[0].contains(word),
                "{other}: {told:?}"
            );
        }
        assert!(toml::from_str::<Expect>("ends = 'completed'").is_err());
    }
}
