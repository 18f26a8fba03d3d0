//! URIs and URI templates, checked where they are written.
//!
//! The grammar is that of `wit/resources.wit`: literals, `{name}` and `{+name}`, with text between
//! them.

use syn::{LitStr, Result};

/// Most bytes of a URI or a template.
const BYTES: usize = 4096;
/// Most variables of a template.
const VARIABLES: usize = 16;

/// The names of a template's variables, in order; none if it is a plain URI.
pub(crate) fn variables(uri: &LitStr) -> Result<Vec<String>> {
    read(&uri.value()).map_err(|fault| syn::Error::new(uri.span(), fault))
}

fn read(uri: &str) -> std::result::Result<Vec<String>, &'static str> {
    let scheme = uri.split_once(':').map_or("", |(scheme, _)| scheme);
    let is_scheme = scheme.starts_with(|first: char| first.is_ascii_alphabetic())
        && scheme
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.'));
    if !is_scheme {
        return Err("a resource has an absolute URI, for example \"notes://today\"");
    }
    if uri.len() > BYTES {
        return Err("a URI has at most 4096 bytes");
    }
    if uri.contains(char::is_whitespace) {
        return Err("a URI has no spaces");
    }
    let mut names: Vec<String> = Vec::new();
    let mut rest = uri;
    let mut between = true;
    while let Some((before, opened)) = rest.split_once('{') {
        between |= !before.is_empty();
        if before.contains('}') {
            return Err("a `}` without its `{`");
        }
        if !between {
            return Err("two variables need text between them");
        }
        let (inside, after) = opened.split_once('}').ok_or("a `{` without its `}`")?;
        let name = inside.strip_prefix('+').unwrap_or(inside);
        let is_name = !name.is_empty()
            && name
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.'));
        if !is_name {
            return Err("a variable is `{name}` or `{+name}`, of A-Z a-z 0-9 _ .");
        }
        if names.iter().any(|known| known == name) {
            return Err("each variable has a name of its own");
        }
        names.push(name.to_owned());
        rest = after;
        between = false;
    }
    if rest.contains('}') {
        return Err("a `}` without its `{`");
    }
    if names.len() > VARIABLES {
        return Err("a template has at most 16 variables");
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_found_in_order() {
        assert_eq!(read("notes://today"), Ok(vec![]));
        assert_eq!(
            read("notes://{year}/{+path}?at={t.x}"),
            Ok(vec!["year".into(), "path".into(), "t.x".into()])
        );
    }

    #[test]
    fn mistakes_are_named() {
        for (uri, word) in [
            ("today", "absolute"),
            ("1x:a", "absolute"),
            ("n://a b", "spaces"),
            ("n://{a}{b}", "between"),
            ("n://{a", "without"),
            ("n://a}", "without"),
            ("n://a}/{b}", "without"),
            ("n://{}", "variable"),
            ("n://{a*}", "variable"),
            ("n://{?a}", "variable"),
            ("n://{a}/{a}", "of its own"),
        ] {
            assert!(read(uri).unwrap_err().contains(word), "{uri}");
        }
        let many: String = (0..17).map(|n| format!("/{{a{n}}}")).collect();
        assert!(read(&format!("n:{many}")).unwrap_err().contains("16"));
        assert!(
            read(&format!("n:{}", "a".repeat(4096)))
                .unwrap_err()
                .contains("4096")
        );
    }
}
