//! Text on a terminal.
//!
//! Invariant: a line has at most [`WIDTH`] columns, and what others wrote moves no cursor.

use serde::Serialize;
use std::fmt::Write as _;

/// Columns of a terminal.
pub(super) const WIDTH: usize = 80;

/// The first columns of a text.
pub(super) fn beginning(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let kept: String = text.chars().take(most - 1).collect();
    format!("{kept}…")
}

/// The last columns of a text: of a path, what tells it from others.
pub(super) fn ending(text: &str, most: usize) -> String {
    let length = text.chars().count();
    if length <= most {
        return text.to_owned();
    }
    let kept: String = text.chars().skip(length + 1 - most).collect();
    format!("…{kept}")
}

/// Lines that begin with so many spaces, broken between words where that can be.
pub(super) fn wrapped(text: &str, indent: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in text.split_whitespace() {
        let word = beginning(word, WIDTH - indent);
        if !line.is_empty() && indent + line.chars().count() + 1 + word.chars().count() > WIDTH {
            lines.push(std::mem::take(&mut line));
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line += &word;
    }
    lines.push(line);
    let indent = " ".repeat(indent);
    lines.iter().map(|line| format!("{indent}{line}")).collect()
}

/// JSON for scripts, with nothing in it that a terminal would obey.
pub(super) fn json_text(value: &impl Serialize) -> String {
    let text = serde_json::to_string_pretty(value).unwrap_or_default();
    let mut safe = String::with_capacity(text.len());
    for char in text.chars() {
        // Those below the space are escaped already, but for the line ends between values.
        match char {
            '\n' => safe.push(char),
            char if super::is_hidden(char) => {
                let _ = write!(safe, "\\u{:04x}", u32::from(char));
            }
            char => safe.push(char),
        }
    }
    safe
}

/// A size, for people.
pub(super) fn size(bytes: u64) -> String {
    let bytes_f = bytes as f64;
    match bytes {
        0..1_024 => format!("{bytes} bytes"),
        1_024..1_048_576 => format!("{:.1} KiB", bytes_f / 1_024.0),
        _ => format!("{:.1} MiB", bytes_f / 1_048_576.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_the_same_and_moves_no_cursor() {
        let value = serde_json::json!({"a\u{1b}[2J": "\u{9b}31m\u{7f}\u{202e}é\n"});
        let text = json_text(&value);
        assert!(
            !text.replace('\n', "").contains(crate::commands::is_hidden),
            "{text:?}"
        );
        assert_eq!(
            serde_json::from_str::<serde_json::Value>(&text).unwrap(),
            value
        );
    }

    #[test]
    fn sizes_have_the_units_of_people() {
        let sizes = [0, 1_023, 1_536, 5 << 20].map(size);
        assert_eq!(sizes, ["0 bytes", "1023 bytes", "1.5 KiB", "5.0 MiB"]);
    }
}
