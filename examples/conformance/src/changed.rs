//! Tools that tell of changes, for clients that listen.

use cofferdam_guest::changes::ChangedList;
use cofferdam_guest::prelude::*;

use crate::resources::watched_resource;

/// Tells that the list of tools changed.
#[tool]
pub fn test_trigger_tool_change() -> &'static str {
    changes::list_changed(ChangedList::Tools);
    "Whoever listens lists the tools again."
}

/// Tells that the list of prompts changed.
#[tool]
pub fn test_trigger_prompt_change() -> &'static str {
    changes::list_changed(ChangedList::Prompts);
    "Whoever listens lists the prompts again."
}

/// Tells that the watched resource changed.
#[tool]
pub fn test_trigger_resource_change() -> &'static str {
    changes::resource_updated(watched_resource::uri());
    "Whoever listens to it reads the resource again."
}
