//! Text of others, made harmless for a terminal.
//!
//! Invariant: nothing that comes out holds a control character but those that the function names, nor
//! a character that changes the direction of text: no server moves the cursor, sets a title, or makes
//! a line look like another one.

use crate::limits::LINE_CHARS;
use std::fmt::Write as _;

/// What stands for a character that is not shown.
const HIDDEN: char = '\u{fffd}';

/// Text of several lines. Line feeds and tabs stay, the end of a line is a line feed.
pub(crate) fn text(text: &str) -> String {
    let text = text.replace("\r\n", "\n");
    let visible = |char: char| match char {
        '\n' | '\t' => char,
        char if is_hostile(char) => HIDDEN,
        char => char,
    };
    text.chars().map(visible).collect()
}

/// Text of one line, at most [`LINE_CHARS`] of it. Line feeds and tabs become spaces.
pub(crate) fn line(text: &str) -> String {
    let visible = |char: char| match char {
        '\n' | '\t' => ' ',
        char if is_hostile(char) => HIDDEN,
        char => char,
    };
    let text = text.trim().replace("\r\n", "\n");
    let mut line: String = text.chars().take(LINE_CHARS).map(visible).collect();
    if text.chars().nth(LINE_CHARS).is_some() {
        line.push('…');
    }
    line
}

/// JSON with the same meaning, whose strings escape what a terminal would obey.
pub(crate) fn json(json: &str) -> String {
    let mut clean = String::with_capacity(json.len());
    for char in json.chars() {
        // Outside of strings, JSON has no such character but line feeds; in them, it has escapes.
        if char != '\n' && is_hostile(char) {
            let _ = write!(clean, "\\u{:04x}", u32::from(char));
        } else {
            clean.push(char);
        }
    }
    clean
}

/// Control characters of C0 and C1, and those that turn the direction of what follows.
fn is_hostile(char: char) -> bool {
    char.is_control()
        || matches!(char,
            '\u{061c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::{json, line, text};
    use proptest::prelude::*;
    use serde_json::Value;

    #[test]
    fn escapes_are_seen_and_not_obeyed() {
        assert_eq!(
            text("a\x1b[2Jb\r\nc\td\u{9b}31m"),
            "a\u{fffd}[2Jb\nc\td\u{fffd}31m"
        );
        assert_eq!(line(" one\ntwo\x07 "), "one two\u{fffd}");
        assert_eq!(line("safe\u{202e}gpj.exe"), "safe\u{fffd}gpj.exe");
        assert_eq!(json("\"\u{9b}1m\""), r#""\u009b1m""#);
    }

    #[test]
    fn a_long_line_is_cut_and_says_so() {
        let cut = line(&"x".repeat(5_000));
        assert!(cut.ends_with('…') && cut.chars().count() == 2_001);
    }

    fn harmless(text: &str) -> bool {
        let allowed = |char: char| char == '\n' || char == '\t' || !super::is_hostile(char);
        text.chars().all(allowed)
    }

    proptest! {
        #[test]
        fn nothing_hostile_is_left(any in "\\PC*|[\\x00-\\x{a0}\\x{2020}-\\x{2070}]*") {
            prop_assert!(harmless(&text(&any)));
            prop_assert!(harmless(&line(&any)) && !line(&any).contains(['\n', '\t']));
        }

        #[test]
        fn json_means_the_same(any in "[\\x00-\\x{a0}\\x{2020}-\\x{2070}\"\\\\]*") {
            let value = Value::String(any);
            let clean = json(&value.to_string());
            prop_assert!(harmless(&clean));
            prop_assert_eq!(serde_json::from_str::<Value>(&clean).ok(), Some(value));
        }
    }
}
