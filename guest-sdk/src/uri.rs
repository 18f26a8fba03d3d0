//! URIs made of templates (RFC 6570, the part that `wit/resources.wit` names).

use std::fmt::Write;

/// A template with its variables in place: of `{name}`, all but letters, digits and `-._~` is
/// percent-encoded; of `{+name}`, what has no place in a URI.
#[doc(hidden)]
#[must_use]
pub fn expand(template: &str, values: &[(&str, String)]) -> String {
    let mut uri = String::with_capacity(template.len());
    let mut rest = template;
    while let Some((before, opened)) = rest.split_once('{') {
        let (variable, after) = opened.split_once('}').unwrap_or((opened, ""));
        uri.push_str(before);
        let (name, kept) = match variable.strip_prefix('+') {
            Some(name) => (name, ":/?#[]@!$&'()*+,;="),
            None => (variable, ""),
        };
        for (_, value) in values.iter().filter(|(of, _)| *of == name) {
            encode(value, kept, &mut uri);
        }
        rest = after;
    }
    uri.push_str(rest);
    uri
}

/// Percent-encodes bytes that are neither unreserved nor kept.
fn encode(value: &str, kept: &str, uri: &mut String) {
    for byte in value.bytes() {
        let unreserved = byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
        if unreserved || kept.as_bytes().contains(&byte) {
            uri.push(char::from(byte));
        } else {
            // Writing to a string does not fail.
            let _ = write!(uri, "%{byte:02X}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_encoded_by_their_kind() {
        let values = [("a", "x/ä ~".to_owned()), ("b", "y/ä?%".to_owned())];
        assert_eq!(
            expand("n://{a}/{+b}.md", &values),
            "n://x%2F%C3%A4%20~/y/%C3%A4?%25.md"
        );
        assert_eq!(expand("n://plain", &[]), "n://plain");
    }
}
