//! Which component serves which tool now, and which did.
//!
//! Invariants: a [`Catalog`] never changes; a reload makes another, and [`LiveCatalog`] puts it in
//! place at once. Names are unique. A component that cannot serve is left out with a reason, and the
//! others serve, its older version among them.

mod archive;
mod changes;
mod choose;
mod find;
mod live;
mod load;
mod tool;
mod versions;
mod watch;

pub use archive::{Archive, ArchiveError};
pub use changes::{Change, Changes};
pub use find::Look;
pub use live::{CatalogError, CatalogParts, LiveCatalog};
pub use tool::{Component, SealError, TaskSupport, Tool};
pub use versions::VersionError;
pub use watch::{Watch, WatchError};

use crate::grants::Grants;
use crate::signature::Signer;
use archive::Kept;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use indexmap::IndexMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::{Arc, LazyLock};
use std::time::SystemTime;

/// The tools of a server, in the order they are listed.
#[derive(Default)]
pub struct Catalog {
    tools: IndexMap<Arc<str>, Arc<Tool>>,
    components: Vec<Arc<Served>>,
    refused: Vec<Refused>,
}

/// A component that serves.
pub struct Served {
    /// What the operator calls it: its file.
    pub name: String,
    /// Lower-case hexadecimal sha-256.
    pub digest: String,
    /// When this version was loaded.
    pub since: SystemTime,
    /// Its tools, at least one.
    pub tools: Vec<Arc<Tool>>,
}

impl Served {
    /// What it may reach.
    #[must_use]
    pub fn grants(&self) -> &Grants {
        static NONE: LazyLock<Grants> = LazyLock::new(Grants::default);
        let tool = self.tools.first();
        tool.map_or(&NONE, |tool| &tool.component.grants)
    }

    /// Who signed it, of those who are trusted.
    #[must_use]
    pub fn signer(&self) -> Option<&Signer> {
        let tool = self.tools.first();
        tool.and_then(|tool| tool.component.signer.as_ref())
    }
}

/// A file that does not serve as it is.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Refused {
    /// What the operator calls it.
    pub name: String,
    /// Why.
    pub reason: String,
    /// The digest of the version that serves in its place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub serving: Option<String>,
}

/// One page of tools.
pub struct Page<'a> {
    /// The tools.
    pub tools: Vec<&'a Tool>,
    /// Where the next page begins, if there is one.
    pub next: Option<String>,
}

impl Catalog {
    /// Of components whose tools have unique names.
    fn new(components: Vec<Arc<Served>>, refused: Vec<Refused>) -> Self {
        let tools = components.iter().flat_map(|component| &component.tools);
        Self {
            tools: tools
                .map(|tool| (Arc::clone(&tool.name), Arc::clone(tool)))
                .collect(),
            components,
            refused,
        }
    }

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

    /// All tools, in their order.
    pub fn tools(&self) -> impl Iterator<Item = &Arc<Tool>> {
        self.tools.values()
    }

    /// The components that serve.
    #[must_use]
    pub fn components(&self) -> &[Arc<Served>] {
        &self.components
    }

    /// The files that do not serve as they are, and why.
    #[must_use]
    pub fn refused(&self) -> &[Refused] {
        &self.refused
    }

    /// What stands for everything that a list of the tools that are `seen` shows: another list has
    /// another number.
    #[must_use]
    pub fn view(&self, seen: impl Fn(&Tool) -> bool) -> u64 {
        let mut hasher = DefaultHasher::new();
        for tool in self.tools.values().filter(|tool| seen(tool)) {
            tool.definition.get().hash(&mut hasher);
        }
        hasher.finish()
    }

    /// A page of at most `size` of the tools that are `seen`, from the start or from a cursor of an
    /// earlier page. `None` if the cursor is none that a catalog gave. A cursor of an earlier catalog
    /// goes on at the tool that it names, or, if that is gone, about where it was.
    #[must_use]
    pub fn page(
        &self,
        cursor: Option<&str>,
        size: usize,
        seen: impl Fn(&Tool) -> bool,
    ) -> Option<Page<'_>> {
        let start = match cursor {
            None => 0,
            Some(cursor) => {
                let (index, name) = read_cursor(cursor)?;
                match self.tools.get_full(&*name) {
                    Some((now, _, tool)) => seen(tool).then_some(now)?,
                    None => index,
                }
            }
        };
        let mut visible = self
            .tools
            .values()
            .enumerate()
            .skip(start)
            .filter(|(_, tool)| seen(tool));
        let tools = visible.by_ref().take(size).map(|(_, tool)| &**tool);
        let tools = tools.collect();
        let next = visible
            .next()
            .map(|(index, tool)| write_cursor(index, &tool.name));
        Some(Page { tools, next })
    }
}

/// A place in the list: a tool, and where it was.
fn write_cursor(index: usize, name: &str) -> String {
    let place = format!("{index}:{name}");
    let check = check(&place);
    URL_SAFE_NO_PAD.encode(format!("{check}:{place}"))
}

fn read_cursor(cursor: &str) -> Option<(usize, String)> {
    let text = String::from_utf8(URL_SAFE_NO_PAD.decode(cursor).ok()?).ok()?;
    let (given, place) = text.split_once(':')?;
    let (index, name) = place.split_once(':')?;
    (given == check(place)).then_some((index.parse().ok()?, name.to_owned()))
}

/// Tells a cursor from a text that is none.
fn check(place: &str) -> String {
    format!("{:.8}", load::digest(place.as_bytes()))
}
