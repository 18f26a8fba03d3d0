//! Pages of lists, and the cursors between them.
//!
//! Invariant: a cursor says where a page begins and nothing else; what it leads to is looked up, and
//! checked, anew. A text that no page ended with is no cursor.

use super::load;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use indexmap::IndexMap;
use serde_json::value::RawValue;
use std::sync::Arc;

/// One page of something.
pub struct Page<'a, T> {
    /// What is on it.
    pub items: Vec<&'a T>,
    /// Where the next page begins, if there is one.
    pub next: Option<String>,
}

/// One page of the files of folders.
pub struct FilePage<'a> {
    /// Their URIs, and MCP's descriptions of them.
    pub files: Vec<(&'a Arc<str>, &'a RawValue)>,
    /// There are more.
    pub more: bool,
}

impl<'a, T> Page<'a, T> {
    /// A page of at most `size` of what is `seen`, from the start or from a cursor of an earlier page.
    /// `None` if the cursor is none that a page ended with. A cursor of an earlier catalog goes on at what
    /// it names, or, if that is gone, about where it was.
    pub(super) fn of(
        all: &'a IndexMap<Arc<str>, Arc<T>>,
        cursor: Option<&str>,
        size: usize,
        seen: impl Fn(&T) -> bool,
    ) -> Option<Self> {
        let start = match cursor {
            None => 0,
            Some(cursor) => {
                let place = read(cursor)?;
                let (index, name) = place.split_once(':')?;
                let index = index.parse().ok()?;
                match all.get_full(name) {
                    Some((now, _, item)) => seen(item).then_some(now)?,
                    None => index,
                }
            }
        };
        let mut visible = all
            .iter()
            .enumerate()
            .skip(start)
            .filter(|(_, (_, item))| seen(item));
        let items = visible.by_ref().take(size).map(|(_, (_, item))| &**item);
        let items = items.collect();
        let next = visible
            .next()
            .map(|(index, (name, _))| write(&format!("{index}:{name}")));
        Some(Self { items, next })
    }
}

/// What the place of a file begins with.
const FILES: &str = ">:";

/// Where a page of resources begins.
#[derive(Debug, PartialEq, Eq)]
pub enum ResourceCursor {
    /// Among those that were told at load.
    Told,
    /// Among the files of folders, after this URI, or at the first.
    Files(Option<String>),
    /// In the list of the component with this digest, where its own cursor says.
    Listed(String, Option<String>),
}

/// What a cursor of a page of resources says; `None` if it is none.
#[must_use]
pub fn resource_cursor(cursor: &str) -> Option<ResourceCursor> {
    let place = read(cursor)?;
    if let Some(after) = place.strip_prefix(FILES) {
        let after = Some(after).filter(|it| !it.is_empty());
        return Some(ResourceCursor::Files(after.map(str::to_owned)));
    }
    let Some(listed) = place.strip_prefix("*:") else {
        return Some(ResourceCursor::Told);
    };
    Some(match listed.split_once(':') {
        None => ResourceCursor::Listed(listed.to_owned(), None),
        Some((digest, own)) => ResourceCursor::Listed(digest.to_owned(), Some(own.to_owned())),
    })
}

/// The cursor to the files after the one with this URI, or to all of them.
#[must_use]
pub fn file_cursor(after: Option<&str>) -> String {
    write(&format!("{FILES}{}", after.unwrap_or_default()))
}

/// The cursor to the list of a component, where its own cursor says.
#[must_use]
pub fn listing_cursor(digest: &str, own: Option<&str>) -> String {
    write(&match own {
        None => format!("*:{digest}"),
        Some(own) => format!("*:{digest}:{own}"),
    })
}

/// A place in a list.
fn write(place: &str) -> String {
    let check = check(place);
    URL_SAFE_NO_PAD.encode(format!("{check}:{place}"))
}

fn read(cursor: &str) -> Option<String> {
    let text = String::from_utf8(URL_SAFE_NO_PAD.decode(cursor).ok()?).ok()?;
    let (given, place) = text.split_once(':')?;
    (given == check(place)).then(|| place.to_owned())
}

/// Tells a cursor from a text that is none.
fn check(place: &str) -> String {
    format!("{:.8}", load::digest(place.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_leads_to_where_its_page_ended() {
        let all: IndexMap<Arc<str>, Arc<u32>> = (0..5)
            .map(|n| (n.to_string().into(), Arc::new(n)))
            .collect();
        let seen = |n: &u32| *n != 1;
        let first = Page::of(&all, None, 2, seen).unwrap();
        assert_eq!(first.items, [&0, &2]);
        let second = Page::of(&all, first.next.as_deref(), 2, seen).unwrap();
        assert_eq!((second.items, second.next), (vec![&3, &4], None));
        for none in ["", "a", "AAAA", &write("x:3"), &write("1:1")] {
            assert!(Page::of(&all, Some(none), 2, seen).is_none(), "{none}");
        }
        assert_eq!(
            resource_cursor(&first.next.unwrap()),
            Some(ResourceCursor::Told)
        );
    }

    #[test]
    fn a_component_gets_its_own_cursor_back() {
        for own in [None, Some(""), Some("a:b"), Some("é")] {
            let cursor = listing_cursor("0af", own);
            let expected = ResourceCursor::Listed("0af".to_owned(), own.map(str::to_owned));
            assert_eq!(resource_cursor(&cursor), Some(expected));
        }
        assert_eq!(resource_cursor("*:0af"), None);
    }

    #[test]
    fn a_file_is_where_a_page_may_begin() {
        for after in [None, Some("a:///b/c:d"), Some("*:0af")] {
            let cursor = file_cursor(after);
            let expected = ResourceCursor::Files(after.map(str::to_owned));
            assert_eq!(resource_cursor(&cursor), Some(expected));
        }
        assert_eq!(resource_cursor(">:a:///b"), None);
    }
}
