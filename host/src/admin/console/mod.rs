//! The console: one page, which asks this address for all that it shows.
//!
//! Invariants: the page is the same for everybody, and tells nothing; a browser runs and loads what is in
//! it and nothing else, whatever gets into it, and shows it in no other page's frame.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use hyper::header::HeaderValue;
use sha2::{Digest as _, Sha256};
use std::sync::LazyLock;

const STYLE: &str = include_str!("style.css");
/// In the order they run.
const SCRIPTS: [&str; 4] = [
    include_str!("elements.js"),
    include_str!("charts.js"),
    include_str!("tables.js"),
    include_str!("console.js"),
];

/// The page, and what a browser is told of it.
pub(super) struct Console {
    /// HTML.
    pub(super) page: Bytes,
    /// `Content-Security-Policy`.
    pub(super) policy: HeaderValue,
}

/// The one console.
pub(super) static CONSOLE: LazyLock<Console> = LazyLock::new(|| {
    // One after the other, as one script: what is strict in the first is in all.
    let script = SCRIPTS.concat();
    let page = include_str!("page.html")
        .replace("/*style*/", STYLE)
        .replace("/*script*/", &script);
    let policy = format!(
        "default-src 'none'; script-src '{}'; style-src '{}'; img-src data:; connect-src 'self'; \
         base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
         require-trusted-types-for 'script'; trusted-types 'none'",
        hash(&script),
        hash(STYLE)
    );
    Console {
        page: page.into(),
        policy: HeaderValue::try_from(policy)
            .unwrap_or_else(|_| HeaderValue::from_static("default-src 'none'; sandbox")),
    }
});

/// As a policy names the content of an element.
fn hash(content: &str) -> String {
    format!("sha256-{}", STANDARD.encode(Sha256::digest(content)))
}
