//! Which component serves which tool now.
//!
//! Invariants: a catalog never changes; a reload makes another. Names are unique. A component that
//! cannot serve is left out with a reason, and the others serve.

mod archive;
mod load;
mod tool;
mod versions;

pub use archive::{Archive, ArchiveError};
pub use load::{CatalogError, Refused};
pub use tool::{Component, TaskSupport, Tool};
pub use versions::{VersionError, Versions};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use indexmap::IndexMap;
use std::sync::Arc;

/// The tools of a server, in the order they are listed.
#[derive(Clone, Default)]
pub struct Catalog {
    tools: IndexMap<Arc<str>, Arc<Tool>>,
    components: usize,
    refused: Vec<Refused>,
}

/// One page of tools.
pub struct Page<'a> {
    /// The tools.
    pub tools: Vec<&'a Tool>,
    /// Where the next page begins, if there is one.
    pub next: Option<String>,
}

impl Catalog {
    /// The tool of that name.
    #[must_use]
    pub fn tool(&self, name: &str) -> Option<&Arc<Tool>> {
        self.tools.get(name)
    }

    /// The tool with that name in the component with this digest, if it serves. Of several sources
    /// with the same component, that which serves it under this name.
    #[must_use]
    pub fn tool_of(&self, digest: &str, own_name: &str, served_as: &str) -> Option<&Arc<Tool>> {
        let fits = |tool: &&Arc<Tool>| tool.own_name == own_name && tool.component.digest == digest;
        let same = self.tool(served_as).filter(fits);
        same.or_else(|| self.tools.values().find(fits))
    }

    /// True if a component with this digest serves.
    #[must_use]
    pub fn serves(&self, digest: &str) -> bool {
        self.tools
            .values()
            .any(|tool| tool.component.digest == digest)
    }

    /// How many tools there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.tools.len()
    }

    /// True without tools.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.tools.is_empty()
    }

    /// How many components serve.
    #[must_use]
    pub fn components(&self) -> usize {
        self.components
    }

    /// The files that do not serve, and why.
    #[must_use]
    pub fn refused(&self) -> &[Refused] {
        &self.refused
    }

    /// A page of at most `size` of the tools that are `seen`, from the start or from a cursor of an
    /// earlier page. `None` if the cursor is none that this catalog gave.
    #[must_use]
    pub fn page(
        &self,
        cursor: Option<&str>,
        size: usize,
        seen: impl Fn(&str) -> bool,
    ) -> Option<Page<'_>> {
        let start = match cursor {
            None => 0,
            Some(cursor) => {
                let name = URL_SAFE_NO_PAD.decode(cursor).ok()?;
                let name = std::str::from_utf8(&name).ok().filter(|name| seen(name))?;
                self.tools.get_index_of(name)?
            }
        };
        let mut visible = self
            .tools
            .values()
            .skip(start)
            .filter(|tool| seen(&tool.name));
        let tools = visible.by_ref().take(size).map(|tool| &**tool).collect();
        let next = visible
            .next()
            .map(|tool| URL_SAFE_NO_PAD.encode(&*tool.name));
        Some(Page { tools, next })
    }
}
