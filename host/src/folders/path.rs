//! Where a file is in its folder, and how that is written in a URI.
//!
//! Invariants: a path never leads out of its folder, whatever it is made of; it has one form in a URI,
//! and no other text leads to it, so that whoever may read a URI need not ask what else it could mean.

use crate::limits::{FOLDER_DEPTH, URI_BYTES};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, percent_encode};

/// What is not percent-encoded: the characters of a path (RFC 3986, `pchar`), which `{+path}` of a
/// template leaves as they are, too.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'/')
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~')
    .remove(b'!')
    .remove(b'$')
    .remove(b'&')
    .remove(b'\'')
    .remove(b'(')
    .remove(b')')
    .remove(b'*')
    .remove(b'+')
    .remove(b',')
    .remove(b';')
    .remove(b'=')
    .remove(b':')
    .remove(b'@');

/// A path of a file, relative to its folder: names with a `/` between them.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FilePath(Vec<u8>);

impl FilePath {
    /// These bytes, if each name is one that a served file may have: none is empty, `.` or `..`, none has
    /// a NUL or a backslash (which other systems take for a `/`), and none begins with a dot, unless
    /// `hidden` files are served.
    #[must_use]
    pub fn new(bytes: Vec<u8>, hidden: bool) -> Option<Self> {
        let served = |name: &[u8]| {
            !matches!(name, b"" | b"." | b"..")
                && !name.iter().any(|byte| matches!(byte, 0 | b'\\'))
                && (hidden || !name.starts_with(b"."))
        };
        let names = || bytes.split(|byte| *byte == b'/');
        let fits = bytes.len() <= URI_BYTES && names().count() <= FOLDER_DEPTH;
        (fits && names().all(served)).then_some(Self(bytes))
    }

    /// The path that a URI's end stands for, if it is the one form of it.
    #[must_use]
    pub fn read(text: &str, hidden: bool) -> Option<Self> {
        let path = Self::new(percent_decode_str(text).collect(), hidden)?;
        (path.to_uri() == text).then_some(path)
    }

    /// How it is written at the end of a URI.
    #[must_use]
    pub fn to_uri(&self) -> String {
        percent_encode(&self.0, ENCODED).to_string()
    }

    /// How it is shown to people.
    #[must_use]
    pub fn shown(&self) -> String {
        String::from_utf8_lossy(&self.0).into_owned()
    }

    /// Its bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// The names of the folders that lead to it, and its own.
    pub(super) fn split(&self) -> (impl Iterator<Item = &[u8]>, &[u8]) {
        let name = self.0.rsplit(|byte| *byte == b'/').next();
        let name = name.unwrap_or_default();
        let folders = &self.0[..self.0.len() - name.len()];
        let folders = folders.split(|byte| *byte == b'/');
        (folders.filter(|name| !name.is_empty()), name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::UriTemplate;
    use proptest::prelude::*;

    fn name() -> impl Strategy<Value = Vec<u8>> {
        // Names of everyday characters, and names of any bytes.
        prop_oneof![
            "[a-zA-Z0-9 ._~()'+%?#-]{1,12}".prop_map(String::into_bytes),
            prop::collection::vec(1u8..=255, 1..12),
        ]
    }

    proptest! {
        #[test]
        fn a_path_comes_back_from_its_uri(names in prop::collection::vec(name(), 1..5), hidden: bool) {
            let Some(path) = FilePath::new(names.join(&b'/'), hidden) else {
                return Ok(());
            };
            let written = path.to_uri();
            prop_assert!(written.is_ascii());
            prop_assert_eq!(FilePath::read(&written, hidden), Some(path.clone()));
            let template = UriTemplate::parse("a:///{+path}").unwrap();
            let text = format!("a:///{written}");
            // What a variable stands for is text.
            let is_text = str::from_utf8(path.bytes()).is_ok();
            prop_assert_eq!(template.matches(&text).is_some(), is_text, "{}", text);
            let (folders, name) = path.split();
            let mut all: Vec<_> = folders.collect();
            all.push(name);
            prop_assert_eq!(all.join(&b'/'), path.bytes());
        }

        #[test]
        fn no_text_leads_out(text in r"([a-c]|\.|\.\.|/|%2e|%2E|%2f|%2F|%5c|%5C|\\|%00|%25|é|%c3%a9){0,12}", hidden: bool) {
            if let Some(path) = FilePath::read(&text, hidden) {
                prop_assert_eq!(path.to_uri(), text);
                for name in path.bytes().split(|byte| *byte == b'/') {
                    prop_assert!(!matches!(name, b"" | b"." | b".."));
                    prop_assert!(!name.contains(&0) && !name.contains(&b'\\'));
                    prop_assert!(hidden || name[0] != b'.');
                }
            }
        }
    }

    #[test]
    fn other_forms_lead_nowhere() {
        for good in [
            "a",
            "a/b.md",
            "a%20b",
            "%C3%A9",
            "a(1)+b=c;@:!$&'*,~_-",
            "%FF",
            "%3F%23",
            "..a",
            "a..",
        ] {
            assert!(FilePath::read(good, true).is_some(), "{good}");
        }
        for bad in [
            "",
            "/",
            "/a",
            "a/",
            "a//b",
            ".",
            "..",
            "../a",
            "a/../b",
            "a/./b",
            "%2e%2e/a",
            "%2E%2E/a",
            ".%2e/a",
            "..%2fa",
            "..%2Fa",
            "a%2Fb",
            "a%2fb",
            "%2Fetc/passwd",
            "//etc/passwd",
            "a%00",
            "a\0",
            "a%5Cb",
            "a\\b",
            "..\\a",
            "..%5Ca",
            "%252e%252e/a%",
            "%61",
            "%c3%a9",
            "é",
            "a b",
            "a?b",
            "a#b",
            "a%",
            "a%2",
            "a%zz",
        ] {
            assert!(FilePath::read(bad, true).is_none(), "{bad}");
        }
        assert!(
            FilePath::read(".git/config", false).is_none()
                && FilePath::read(".git/config", true).is_some()
        );
        let deep = "a/".repeat(FOLDER_DEPTH);
        assert!(FilePath::read(&deep[..deep.len() - 1], false).is_some());
        assert!(FilePath::read(&format!("{deep}a"), false).is_none());
    }
}
