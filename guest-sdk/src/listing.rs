//! Pages of what templates stand for.
//!
//! Invariant: a cursor is what a page before gave, or it is refused.

use crate::{Call, Error, ListedResource, ResourcePage, Result, RpcError};

/// Most resources of a page.
const PAGE: usize = 1000;

/// What lists one template.
pub(crate) type List = fn(&Call, Option<&str>) -> Result<ResourcePage>;

impl ResourcePage {
    /// A page with nothing on it, and none after it.
    #[must_use]
    pub fn new() -> Self {
        Self {
            resources: Vec::new(),
            next_cursor: None,
        }
    }
}

impl Default for ResourcePage {
    fn default() -> Self {
        Self::new()
    }
}

/// A function that lists what a template stands for: `#[resource(…, list = path)]`.
///
/// * `fn() -> Vec<ListedResource>`, `fn(&Call) -> Vec<ListedResource>`: all of them, which are paged
///   by this library. So two runs must give the same order.
/// * `fn(&Call, Option<&str>) -> ResourcePage`: a page, from a cursor of the function's own on; at
///   most 1 000 resources, and a cursor of at most 1 000 bytes.
///
/// Each may return a `Result`, with [`Error`] or any `std::error::Error`. Nothing can be asked of the
/// client meanwhile.
pub trait Lister<Form> {
    /// The page that begins here.
    ///
    /// # Errors
    /// What the function failed with; [`RpcError::INVALID_PARAMS`] for a cursor that nobody gave.
    fn page(&self, call: &Call, cursor: Option<&str>) -> Result<ResourcePage>;
}

/// What may fail, or may not.
pub trait Fallible {
    /// What it gives.
    type Output;

    /// What it gave, or why not.
    ///
    /// # Errors
    /// What it failed with.
    fn outcome(self) -> Result<Self::Output>;
}

impl<T, E: Into<Error>> Fallible for std::result::Result<T, E> {
    type Output = T;

    fn outcome(self) -> Result<T> {
        self.map_err(Into::into)
    }
}

impl Fallible for Vec<ListedResource> {
    type Output = Self;

    fn outcome(self) -> Result<Self> {
        Ok(self)
    }
}

impl Fallible for ResourcePage {
    type Output = Self;

    fn outcome(self) -> Result<Self> {
        Ok(self)
    }
}

impl<F: Fn() -> R, R: Fallible<Output = Vec<ListedResource>>> Lister<fn() -> R> for F {
    fn page(&self, _: &Call, cursor: Option<&str>) -> Result<ResourcePage> {
        page_of(self().outcome()?, cursor)
    }
}

impl<F: Fn(&Call) -> R, R: Fallible<Output = Vec<ListedResource>>> Lister<fn(&Call) -> R> for F {
    fn page(&self, call: &Call, cursor: Option<&str>) -> Result<ResourcePage> {
        page_of(self(call).outcome()?, cursor)
    }
}

impl<F, R> Lister<fn(&Call, Option<&str>) -> R> for F
where
    F: Fn(&Call, Option<&str>) -> R,
    R: Fallible<Output = ResourcePage>,
{
    fn page(&self, call: &Call, cursor: Option<&str>) -> Result<ResourcePage> {
        self(call, cursor).outcome()
    }
}

/// One page of all; the cursor is how many are on those before it.
fn page_of(mut all: Vec<ListedResource>, cursor: Option<&str>) -> Result<ResourcePage> {
    let before = match cursor {
        Some(cursor) => cursor.parse().map_err(|_| bad_cursor())?,
        None => 0,
    };
    all.drain(..all.len().min(before));
    let more = all.len() > PAGE;
    all.truncate(PAGE);
    Ok(ResourcePage {
        resources: all,
        next_cursor: more.then(|| (before + PAGE).to_string()),
    })
}

pub(crate) fn bad_cursor() -> Error {
    Error::rpc(RpcError::INVALID_PARAMS, "no page begins at this cursor")
}

/// Lists by a function.
#[doc(hidden)]
pub fn listed<Form>(
    by: impl Lister<Form>,
    call: &Call,
    cursor: Option<&str>,
) -> Result<ResourcePage> {
    by.page(call, cursor)
}

/// The cursor is the number of the list, and its own cursor if its page is not the first.
pub(crate) fn page_of_lists(
    lists: &[List],
    call: &Call,
    cursor: Option<&str>,
) -> Result<ResourcePage> {
    let (mut number, mut inner) = match cursor {
        None => (0, None),
        Some(cursor) => {
            let (number, inner) = match cursor.split_once(':') {
                Some((number, inner)) => (number, Some(inner)),
                None => (cursor, None),
            };
            let number: usize = number.parse().map_err(|_| bad_cursor())?;
            if number >= lists.len() {
                return Err(bad_cursor());
            }
            (number, inner)
        }
    };
    while let Some(list) = lists.get(number) {
        let mut page = list(call, inner.take())?;
        match page.next_cursor {
            Some(next) => page.next_cursor = Some(format!("{number}:{next}")),
            None => {
                number += 1;
                page.next_cursor = (number < lists.len()).then(|| number.to_string());
            }
        }
        if !page.resources.is_empty() || page.next_cursor.is_none() {
            return Ok(page);
        }
    }
    Ok(ResourcePage::new())
}
