//! Tells clients that listen what changed, from any function of the component.
//!
//! A run that goes the way of an earlier one tells nothing twice. Compiled natively, what is told is
//! kept for [`testing::changes`](crate::testing::changes).

pub use crate::bindings::changes::cofferdam::tool::changes::ChangedList;
use std::cell::RefCell;

/// One thing that was told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// What the resource with this URI holds.
    Resource(String),
    /// A list.
    List(ChangedList),
}

thread_local! {
    static TOLD: RefCell<Vec<Change>> = const { RefCell::new(Vec::new()) };
}

/// What a resource of this component holds changed: whoever listens to it and may see it reads it
/// again. A URI that is none of this component's is passed over.
///
/// ```
/// use cofferdam_guest::prelude::*;
///
/// #[resource("notes://{day}")]
/// fn note(day: String) -> Option<String> {
///     # None
///     // …
/// }
///
/// /// Writes a note.
/// #[tool]
/// fn write_note(day: String, text: String) {
///     // …
///     changes::resource_updated(note::uri(day));
/// }
/// ```
pub fn resource_updated(uri: impl AsRef<str>) {
    if cfg!(target_family = "wasm") {
        crate::bindings::changes::cofferdam::tool::changes::resource_updated(uri.as_ref());
    } else {
        TOLD.with_borrow_mut(|told| told.push(Change::Resource(uri.as_ref().to_owned())));
    }
}

/// A list of this component changed, as clients see it: whoever listens lists again.
pub fn list_changed(list: ChangedList) {
    if cfg!(target_family = "wasm") {
        crate::bindings::changes::cofferdam::tool::changes::list_changed(list);
    } else {
        TOLD.with_borrow_mut(|told| told.push(Change::List(list)));
    }
}

/// What was told on this thread since it was last asked.
pub(crate) fn take() -> Vec<Change> {
    TOLD.take()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_told_is_kept_for_tests() {
        resource_updated("notes://today");
        list_changed(ChangedList::Resources);
        let told = [
            Change::Resource("notes://today".to_owned()),
            Change::List(ChangedList::Resources),
        ];
        assert_eq!(crate::testing::changes(), told);
        assert_eq!(crate::testing::changes(), []);
    }
}
