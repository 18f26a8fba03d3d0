//! Resources that are text, bytes, and what a template makes of its variable.

use cofferdam_guest::prelude::*;

use crate::content::PIXEL;

/// A text that never changes.
#[resource("test://static-text", mime_type = "text/plain", ttl_ms = 60_000)]
pub fn static_text() -> &'static str {
    "This is the content of the static text resource."
}

/// One red pixel.
#[resource("test://static-binary", mime_type = "image/png", ttl_ms = 60_000)]
pub fn static_binary() -> Vec<u8> {
    PIXEL.to_vec()
}

/// A text that clients subscribe to. `test_trigger_resource_change` says that it changed.
#[resource("test://watched-resource", mime_type = "text/plain")]
pub fn watched_resource() -> &'static str {
    "This is the content of the watched resource."
}

/// Data under any id.
#[resource("test://template/{id}/data", mime_type = "application/json")]
pub fn template(#[arg(complete = ids)] id: String) -> String {
    let data = format!("Data for ID: {id}");
    serde_json::json!({ "id": id, "templateTest": true, "data": data }).to_string()
}

fn ids() -> [&'static str; 2] {
    ["1", "123"]
}
