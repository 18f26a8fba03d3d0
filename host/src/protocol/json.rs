//! JSON text: bounds that are checked before anything is built from it.

use crate::limits;
use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;
use std::io;

/// Why JSON text was refused.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum JsonError {
    /// Nested too deeply.
    #[error("nested deeper than {0} levels")]
    TooDeep(usize),
    /// Too much of it.
    #[error("more than {0} values")]
    TooMany(usize),
    /// Not JSON.
    #[error("not JSON: {0}")]
    Malformed(String),
    /// JSON, but not an object.
    #[error("not a JSON object")]
    NotAnObject,
}

/// Checks that arrays and objects nest at most `limit` deep. One pass, no allocation; the text
/// need not be valid JSON.
///
/// # Errors
/// [`JsonError::TooDeep`].
pub fn check_depth(text: &[u8], limit: usize) -> Result<(), JsonError> {
    scan(text, limit).map(|_| ())
}

/// The same, and gives how many values there are, counted by brackets and commas: an empty array or
/// object counts as two.
///
/// # Errors
/// [`JsonError::TooDeep`].
pub fn scan(text: &[u8], limit: usize) -> Result<usize, JsonError> {
    let (mut depth, mut values, mut at) = (0usize, 1, 0);
    while let Some(byte) = text.get(at) {
        at += 1;
        match byte {
            b'"' => at = string_end(text, at),
            b',' => values += 1,
            b'{' | b'[' => {
                depth += 1;
                values += 1;
                if depth > limit {
                    return Err(JsonError::TooDeep(limit));
                }
            }
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    Ok(values)
}

/// The byte after a string that is open at `at`; the end of the text if nothing closes it.
fn string_end(text: &[u8], mut at: usize) -> usize {
    while let Some(found) = memchr::memchr2(b'"', b'\\', text.get(at..).unwrap_or_default()) {
        at += found + 1;
        if text[at - 1] == b'"' {
            return at;
        }
        // Whatever is escaped ends nothing.
        at += 1;
    }
    text.len()
}

/// Takes JSON text from a guest.
///
/// # Errors
/// Not JSON, or nested deeper than [`limits::GUEST_JSON_DEPTH`].
pub fn parse_guest_json(text: String) -> Result<Box<RawValue>, JsonError> {
    check_depth(text.as_bytes(), limits::GUEST_JSON_DEPTH)?;
    check_surrogates(text.as_bytes())?;
    RawValue::from_string(text).map_err(|error| JsonError::Malformed(error.to_string()))
}

/// Checks that the escapes of UTF-16 surrogates come in pairs: half a pair is no text, and one reader
/// in two refuses all that it is in. The text need not be valid JSON.
fn check_surrogates(text: &[u8]) -> Result<(), JsonError> {
    let unit = |rest: &[u8]| -> Option<u16> {
        let digits = rest.strip_prefix(b"\\u")?.get(..4)?;
        u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
    };
    let mut at = 0;
    while let Some(found) = memchr::memchr(b'\\', &text[at..]) {
        at += found;
        at += match unit(&text[at..]) {
            Some(0xD800..=0xDBFF) => match unit(&text[at + 6..]) {
                Some(0xDC00..=0xDFFF) => 12,
                _ => return Err(half_a_pair(at)),
            },
            Some(0xDC00..=0xDFFF) => return Err(half_a_pair(at)),
            _ => 2,
        };
        if at > text.len() {
            break;
        }
    }
    Ok(())
}

fn half_a_pair(at: usize) -> JsonError {
    JsonError::Malformed(format!("half a surrogate pair at byte {at}"))
}

/// How many bytes of JSON text a value makes. Nothing is kept of them.
#[must_use]
pub fn json_size<T: Serialize + ?Sized>(value: &T) -> usize {
    struct Count(usize);
    impl io::Write for Count {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut count = Count(0);
    match serde_json::to_writer(&mut count, value) {
        Ok(()) => count.0,
        // What cannot be written has no size that would fit.
        Err(_) => usize::MAX,
    }
}

/// True if a JSON text is an object.
#[must_use]
pub fn is_object(value: &RawValue) -> bool {
    value.get().starts_with('{')
}

/// Writes a value as JSON text.
///
/// # Panics
/// If the value's own `Serialize` fails, which no type of this crate does.
#[must_use]
pub fn raw<T: Serialize + ?Sized>(value: &T) -> Box<RawValue> {
    #[expect(clippy::expect_used, reason = "maps with non-string keys do not occur")]
    serde_json::value::to_raw_value(value).expect("value serializes")
}

/// Depth of a parsed value is bounded by the parser; this is for schemas, whose bound is their own.
pub(crate) fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Value::Object(members) => 1 + members.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn depth_counts_brackets_outside_strings() {
        assert!(check_depth(br#"{"a":["[[[[","\"[["]}"#, 2).is_ok());
        assert_eq!(check_depth(b"[[[]]]", 2), Err(JsonError::TooDeep(2)));
        assert!(check_depth("[".repeat(1_000_000).as_bytes(), 64).is_err());
    }

    #[test]
    fn values_are_counted_outside_strings() {
        let counted = |text: &str| scan(text.as_bytes(), 64).unwrap();
        assert_eq!(counted("1"), 1);
        assert_eq!(counted(r#"{"a":["x,[,{",2],"b":"\"," }"#), 5);
        assert_eq!(counted("[[],[]]"), 5);
    }

    #[test]
    fn half_a_surrogate_pair_is_no_text() {
        let taken = |text: &str| parse_guest_json(text.to_owned()).is_ok();
        assert!(taken(r#""\ud83d\ude00 \\ud800 \u00e9""#));
        for bad in [
            r#""\ud800""#,
            r#""\ude00""#,
            r#"["\ud800\u0041"]"#,
            r#""\\\ud800""#,
            r#""\ud800\"#,
        ] {
            assert!(!taken(bad), "{bad}");
        }
    }

    #[test]
    fn the_size_of_json_is_that_of_its_text() {
        let value = serde_json::json!({"a": ["\u{1}é", 1.5, null]});
        assert_eq!(json_size(&value), value.to_string().len());
    }

    fn count(value: &Value) -> usize {
        match value {
            Value::Array(items) => 1 + items.iter().map(count).sum::<usize>(),
            Value::Object(members) => 1 + members.values().map(count).sum::<usize>(),
            _ => 1,
        }
    }

    proptest! {
        #[test]
        fn depth_agrees_with_the_parser(text in r#"(\[|\]|\{"a":|\}|"x\\"\["|1|,){0,12}"#) {
            if let Ok(value) = serde_json::from_str::<Value>(&text) {
                prop_assert!(scan(text.as_bytes(), 64).unwrap() >= count(&value));
                let depth = depth(&value);
                prop_assert!(check_depth(text.as_bytes(), depth).is_ok());
                if depth > 0 {
                    prop_assert!(check_depth(text.as_bytes(), depth - 1).is_err());
                }
            }
        }
    }
}
