//! A resource, and nothing else; it lies where a template of `offers` has its own.

use cofferdam_guest::prelude::*;

/// A room that is another component's.
#[resource("house://rooms/7", mime_type = "text/plain")]
fn room() -> &'static str {
    "Not room 7."
}

cofferdam_guest::export! { resources: [room] }
