//! URI templates (RFC 6570) backwards: which URIs a template stands for, and with what values.
//!
//! Invariants: what a template expands to, it matches, with the same values; matching takes time in
//! proportion to URI and template, whatever they are; a value never goes over a `/`, `?` or `#` unless
//! its variable may (`{+name}`).

use crate::limits::{TEMPLATE_VARIABLES, URI_BYTES};
use percent_encoding::percent_decode_str;
use std::fmt;

/// A template of literals, `{name}` and `{+name}`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct UriTemplate {
    text: Box<str>,
    parts: Vec<Part>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Part {
    Literal(Box<str>),
    Variable {
        name: Box<str>,
        /// It may stand for `/` and the like.
        reserved: bool,
    },
}

/// A variable's name, and what it stands for, with percent-encoding undone.
pub type Variable = (String, String);

/// Why a text is no template.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TemplateError {
    /// It is longer than a URI may be.
    #[error("it has more than {URI_BYTES} bytes")]
    TooLong,
    /// A brace without its other, or a character that no URI has.
    #[error("it is no URI template: {0}")]
    Malformed(&'static str),
    /// An expression that cannot be matched.
    #[error("{{{0}}}: only {{name}} and {{+name}} are supported, name of A-Z a-z 0-9 _ .")]
    Unsupported(String),
    /// A variable that is there twice.
    #[error("the variable {0} is there twice")]
    Twice(String),
    /// Two variables with nothing between them.
    #[error("there is nothing between {0} and the variable before it")]
    Adjacent(String),
    /// Too many variables.
    #[error("it has more than {TEMPLATE_VARIABLES} variables")]
    TooMany,
    /// No variable: it stands for one URI.
    #[error("it has no variable: that is a resource")]
    NoVariable,
}

impl UriTemplate {
    /// Reads a template.
    ///
    /// # Errors
    /// [`TemplateError`].
    pub fn parse(text: &str) -> Result<Self, TemplateError> {
        if text.len() > URI_BYTES {
            return Err(TemplateError::TooLong);
        }
        let mut parts = Vec::new();
        let mut rest = text;
        while !rest.is_empty() {
            let end = rest.find(['{', '}']).unwrap_or(rest.len());
            let (literal, after) = rest.split_at(end);
            if !literal.is_empty() {
                if !literal.chars().all(is_uri_char) {
                    return Err(TemplateError::Malformed("a character that no URI has"));
                }
                parts.push(Part::Literal(literal.into()));
            }
            rest = after;
            let Some(inside) = rest.strip_prefix('{') else {
                if rest.is_empty() {
                    break;
                }
                return Err(TemplateError::Malformed("a } without its {"));
            };
            let (expression, after) = inside
                .split_once('}')
                .ok_or(TemplateError::Malformed("a { without its }"))?;
            parts.push(variable(expression, &parts)?);
            rest = after;
        }
        if !parts
            .iter()
            .any(|part| matches!(part, Part::Variable { .. }))
        {
            return Err(TemplateError::NoVariable);
        }
        if parts.len() > 2 * TEMPLATE_VARIABLES + 1 {
            return Err(TemplateError::TooMany);
        }
        let text = text.into();
        Ok(Self { text, parts })
    }

    /// The template as it was read.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// What every URI begins with that it stands for.
    #[must_use]
    pub fn start(&self) -> &str {
        match self.parts.first() {
            Some(Part::Literal(start)) => start,
            _ => "",
        }
    }

    /// Names of its variables, in their order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| match part {
            Part::Literal(_) => None,
            Part::Variable { name, .. } => Some(&**name),
        })
    }

    /// What its variables stand for in a URI; `None` if it does not match. Of several ways to match, each
    /// variable from the left is as short as it can be. What is not UTF-8 after its percent-encoding is
    /// undone matches nothing.
    #[must_use]
    pub fn matches(&self, uri: &str) -> Option<Vec<Variable>> {
        if uri.len() > URI_BYTES || !uri.chars().all(is_uri_char) {
            return None;
        }
        // Most URIs are another template's.
        if let Some(Part::Literal(start)) = self.parts.first()
            && !uri.starts_with(&**start)
        {
            return None;
        }
        let bytes = uri.as_bytes();
        let fits = self.ends(bytes);
        if !fits[0][0] {
            return None;
        }
        let mut at = 0;
        let mut variables = Vec::new();
        for (part, next) in self.parts.iter().zip(&fits[1..]) {
            match part {
                Part::Literal(text) => at += text.len(),
                Part::Variable { name, .. } => {
                    let end = (at + 1..=bytes.len()).find(|end| next[*end])?;
                    let value = percent_decode_str(uri.get(at..end)?).decode_utf8().ok()?;
                    variables.push((name.to_string(), value.into_owned()));
                    at = end;
                }
            }
        }
        Some(variables)
    }

    /// For each part, and the end: whether it and all after it fit the rest of the URI from each place.
    fn ends(&self, uri: &[u8]) -> Vec<Vec<bool>> {
        let mut all = vec![vec![false; uri.len() + 1]];
        all[0][uri.len()] = true;
        for part in self.parts.iter().rev() {
            let next = &all[all.len() - 1];
            let mut now = vec![false; uri.len() + 1];
            match part {
                Part::Literal(text) => {
                    let text = text.as_bytes();
                    for at in 0..=uri.len().saturating_sub(text.len()) {
                        now[at] =
                            next.get(at + text.len()) == Some(&true) && uri[at..].starts_with(text);
                    }
                }
                Part::Variable { reserved, .. } => {
                    for at in (0..uri.len()).rev() {
                        let may = *reserved || !b"/?#".contains(&uri[at]);
                        now[at] = may && (next[at + 1] || now[at + 1]);
                    }
                }
            }
            all.push(now);
        }
        all.reverse();
        all
    }
}

impl fmt::Display for UriTemplate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

fn variable(expression: &str, before: &[Part]) -> Result<Part, TemplateError> {
    let (name, reserved) = match expression.strip_prefix('+') {
        Some(name) => (name, true),
        None => (expression, false),
    };
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_.".contains(&byte);
    if name.is_empty() || !name.bytes().all(plain) {
        return Err(TemplateError::Unsupported(expression.to_owned()));
    }
    let same = |part: &Part| matches!(part, Part::Variable { name: other, .. } if **other == *name);
    if before.iter().any(same) {
        return Err(TemplateError::Twice(name.to_owned()));
    }
    if matches!(before.last(), Some(Part::Variable { .. })) {
        return Err(TemplateError::Adjacent(name.to_owned()));
    }
    Ok(Part::Variable {
        name: name.into(),
        reserved,
    })
}

/// True for what may stand in a URI; letters of other alphabets are let pass as they come.
fn is_uri_char(char: char) -> bool {
    !char.is_control() && !char.is_whitespace() && !"<>\"{}|\\^`".contains(char)
}

/// True for an absolute URI that is not too long: a scheme, and something after it.
#[must_use]
pub fn is_uri(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once(':') else {
        return false;
    };
    let mut scheme = scheme.bytes();
    text.len() <= URI_BYTES
        && scheme.next().is_some_and(|byte| byte.is_ascii_alphabetic())
        && scheme.all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
        && !rest.is_empty()
        && rest.chars().all(is_uri_char)
}

#[cfg(test)]
mod tests {
    use super::*;
    use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
    use proptest::prelude::*;

    /// What RFC 6570 leaves as it is in `{name}`.
    const SIMPLE: &AsciiSet = &NON_ALPHANUMERIC
        .remove(b'-')
        .remove(b'.')
        .remove(b'_')
        .remove(b'~');

    fn matches(template: &str, uri: &str) -> Option<Vec<String>> {
        let variables = UriTemplate::parse(template).unwrap().matches(uri)?;
        Some(variables.into_iter().map(|(_, value)| value).collect())
    }

    fn values(values: &[&str]) -> Option<Vec<String>> {
        Some(values.iter().map(|it| (*it).to_owned()).collect())
    }

    #[test]
    fn variables_are_what_stands_in_their_place() {
        let id = "test://template/{id}/data";
        assert_eq!(matches(id, "test://template/123/data"), values(&["123"]));
        assert_eq!(matches(id, "test://template/a%20b/data"), values(&["a b"]));
        for other in [
            "test://template//data",
            "test://template/1/2/data",
            "test://template/1/data/",
            "test://template/1",
            "test://template/a b/data",
            "test://template/%ff/data",
            "",
        ] {
            assert_eq!(matches(id, other), None, "{other}");
        }
        assert_eq!(matches("a:{+p}", "a:b/c?d"), values(&["b/c?d"]));
        assert_eq!(
            matches("a:{+p}/x/{q}", "a:1/x/2/x/3"),
            values(&["1/x/2", "3"])
        );
        assert_eq!(matches("a:{p}-{q}", "a:1-2-3"), values(&["1", "2-3"]));
        assert_eq!(matches("a:{p}.txt", "a:x.txt.txt"), values(&["x.txt"]));
        assert_eq!(matches("a:{p}", "a:é"), values(&["é"]));
    }

    #[test]
    fn mistakes_are_named() {
        let fault = |text: &str| UriTemplate::parse(text).unwrap_err().to_string();
        for (text, word) in [
            ("a:{b", "without its }"),
            ("a:b}", "without its {"),
            ("a:{}", "{}"),
            ("a:{?q}", "{?q}"),
            ("a:{x*}", "{x*}"),
            ("a:{x:3}", "{x:3}"),
            ("a:{x}/{x}", "twice"),
            ("a:{x}{y}", "between y"),
            ("a:b", "no variable"),
            ("a b:{x}", "character"),
        ] {
            assert!(fault(text).contains(word), "{text}: {}", fault(text));
        }
        let many: String = (0..=TEMPLATE_VARIABLES)
            .map(|n| format!("/{{v{n}}}"))
            .collect();
        assert!(fault(&format!("a:{many}")).contains("16 variables"));
        assert!(fault(&format!("a:{}{{x}}", "b".repeat(URI_BYTES))).contains("4096"));
    }

    #[test]
    fn an_absolute_uri_has_a_scheme() {
        for uri in ["a:b", "test://static-text", "urn:isbn:1", "file:///a%20b"] {
            assert!(is_uri(uri), "{uri}");
        }
        let long = format!("a:{}", "b".repeat(URI_BYTES));
        for text in ["", "a", "a:", ":b", "1a:b", "a/b:c", "a:b c", "a:\n", &long] {
            assert!(!is_uri(text), "{text}");
        }
    }

    #[test]
    fn many_variables_and_a_long_uri_take_no_time() {
        let template: String = (0..TEMPLATE_VARIABLES)
            .map(|n| format!("a{{+v{n}}}"))
            .collect();
        let template = UriTemplate::parse(&template).unwrap();
        let uri = "a".repeat(URI_BYTES - 1) + "/";
        assert!(template.matches(&uri).is_some());
        let never = UriTemplate::parse(&format!("{template}b")).unwrap();
        assert!(never.matches(&uri).is_none());
    }

    proptest! {
        #[test]
        fn what_a_template_expands_to_it_matches(
            // Literals that no value has in it, so that there is one way to match.
            parts in prop::collection::vec((any::<bool>(), "[^\u{0}]{1,12}"), 1..6),
        ) {
            let mut template = "x:".to_owned();
            let mut uri = template.clone();
            for (n, (_, value)) in parts.iter().enumerate() {
                template += &format!("/@{{v{n}}}");
                uri += &format!("/@{}", utf8_percent_encode(value, SIMPLE));
            }
            let found = matches(&template, &uri);
            let expected: Vec<_> = parts.iter().map(|(_, value)| value.clone()).collect();
            prop_assert_eq!(found, Some(expected));
        }

        #[test]
        fn what_matches_is_made_of_the_literals_and_the_values(
            template in "a:[a-c/]{0,4}(\\{\\+?[xyz]\\}[a-c/]{1,3}){1,3}",
            uri in "a:[a-c/]{0,16}",
        ) {
            let Ok(template) = UriTemplate::parse(&template) else { return Ok(()) };
            let found = template.matches(&uri);
            if let Some(variables) = &found {
                let mut again = template.as_str().to_owned();
                for (name, value) in variables {
                    prop_assert!(!value.is_empty());
                    if template.as_str().contains(&format!("{{{name}}}")) {
                        prop_assert!(!value.contains('/'), "{}", value);
                    }
                    again = again
                        .replace(&format!("{{{name}}}"), value)
                        .replace(&format!("{{+{name}}}"), value);
                }
                prop_assert_eq!(again, uri);
            }
        }
    }
}
