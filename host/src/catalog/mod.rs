//! Which component serves which tool, prompt and resource now, and which did.
//!
//! Invariants: a [`Catalog`] never changes; a reload makes another, and [`LiveCatalog`] puts it in
//! place at once. Names are unique. A component that cannot serve is left out with a reason, and the
//! others serve, its older version among them.

mod archive;
mod changes;
mod choose;
mod file;
mod find;
mod live;
mod load;
mod offers;
mod outbox;
mod page;
mod pinned;
mod prompt;
mod resource;
mod shelves;
mod tool;
mod updates;
mod versions;
mod watch;

pub use archive::{Archive, ArchiveError};
pub use changes::{Change, Changes};
pub use find::Look;
pub use live::{CatalogError, CatalogParts, LiveCatalog};
pub use offers::Offers;
pub use outbox::{Outbox, Saying};
pub use page::{FilePage, Page, ResourceCursor, file_cursor, listing_cursor, resource_cursor};
pub use prompt::Prompt;
pub use resource::{Listing, Resource, Route, Template};
pub use tool::{Component, SealError, TaskSupport, Tool};
pub use updates::{Update, UpdateListener, Updates, What};
pub use versions::VersionError;
pub use watch::{Watch, WatchError};

use crate::folders::{Folder, Shelf};
use crate::grants::Grants;
use crate::protocol::Kind;
use crate::signature::Signer;
use archive::Kept;
use indexmap::IndexMap;
use offers::{Name, template_of};
use serde_json::value::RawValue;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;
use std::time::SystemTime;

/// All that a server offers, in the order it is listed.
#[derive(Default)]
pub struct Catalog {
    tools: IndexMap<Arc<str>, Arc<Tool>>,
    prompts: IndexMap<Arc<str>, Arc<Prompt>>,
    resources: IndexMap<Arc<str>, Arc<Resource>>,
    templates: IndexMap<Arc<str>, Arc<Template>>,
    components: Vec<Arc<Served>>,
    shelves: Vec<Arc<Shelf>>,
    /// All templates, of components and of folders.
    families: IndexMap<Arc<str>, Arc<Family>>,
    refused: Vec<Refused>,
}

/// A template that is listed.
pub enum Family {
    /// A component's.
    Component(Arc<Template>),
    /// The files of a folder.
    Folder(Arc<Folder>),
}

impl Family {
    /// MCP's description of it.
    #[must_use]
    pub fn definition(&self) -> &RawValue {
        match self {
            Self::Component(template) => &template.definition,
            Self::Folder(folder) => folder.definition(),
        }
    }
}

/// A component that serves.
pub struct Served {
    /// What the operator calls it: its file.
    pub name: String,
    /// Lower-case hexadecimal sha-256.
    pub digest: String,
    /// When this version was loaded.
    pub since: SystemTime,
    /// What it offers.
    pub offers: Arc<Offers>,
}

impl Served {
    /// What it may reach.
    #[must_use]
    pub fn grants(&self) -> &Grants {
        &self.offers.component.grants
    }

    /// Who signed it, of those who are trusted.
    #[must_use]
    pub fn signer(&self) -> Option<&Signer> {
        self.offers.component.signer.as_ref()
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

impl Catalog {
    /// Of components and folders that serve unique names.
    fn new(components: Vec<Arc<Served>>, shelves: Vec<Arc<Shelf>>, refused: Vec<Refused>) -> Self {
        fn all<'a, T: 'a>(
            components: &'a [Arc<Served>],
            of: impl Fn(&'a Offers) -> &'a Vec<Arc<T>>,
            name: impl Fn(&T) -> &Arc<str>,
        ) -> IndexMap<Arc<str>, Arc<T>> {
            let all = components.iter().flat_map(|it| of(&it.offers));
            all.map(|it| (Arc::clone(name(it)), Arc::clone(it)))
                .collect()
        }
        let templates = all(&components, |it| &it.templates, |it| &it.text);
        let families = templates.iter().map(|(text, it)| {
            let family = Family::Component(Arc::clone(it));
            (Arc::clone(text), Arc::new(family))
        });
        let folders = shelves.iter().map(|it| {
            let folder = it.folder();
            let family = Family::Folder(Arc::clone(folder));
            (Arc::clone(folder.text()), Arc::new(family))
        });
        Self {
            families: families.chain(folders).collect(),
            tools: all(&components, |it| &it.tools, |it| &it.name),
            prompts: all(&components, |it| &it.prompts, |it| &it.name),
            resources: all(&components, |it| &it.resources, |it| &it.uri),
            templates,
            components,
            shelves,
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

    /// The prompt of that name.
    #[must_use]
    pub fn prompt(&self, name: &str) -> Option<&Arc<Prompt>> {
        self.prompts.get(name)
    }

    /// The template with that text.
    #[must_use]
    pub fn template(&self, text: &str) -> Option<&Arc<Template>> {
        self.templates.get(text)
    }

    /// What a URI leads to: the resource that was told at load under it, or else the first template that
    /// matches.
    #[must_use]
    pub fn route(&self, uri: &str) -> Option<Route> {
        let exact = self.resources.get(uri);
        let exact = exact.map(|it| Route::Resource(Arc::clone(it)));
        exact.or_else(|| template_of(self.templates.values(), uri))
    }

    /// All prompts, in their order.
    pub fn prompts(&self) -> impl Iterator<Item = &Arc<Prompt>> {
        self.prompts.values()
    }

    /// The resources that were told at load, in their order.
    pub fn resources(&self) -> impl Iterator<Item = &Arc<Resource>> {
        self.resources.values()
    }

    /// All templates, in their order.
    pub fn templates(&self) -> impl Iterator<Item = &Arc<Template>> {
        self.templates.values()
    }

    /// The components that list more resources, in their order.
    pub fn listings(&self) -> impl Iterator<Item = &Arc<Listing>> {
        let components = self.components.iter();
        components.filter_map(|it| it.offers.listing.as_ref())
    }

    /// What calls are counted under.
    pub fn labels(&self) -> impl Iterator<Item = &Arc<str>> {
        let components = self.components.iter().flat_map(|it| it.offers.labels());
        components.chain(self.shelves.iter().map(|it| it.folder().label()))
    }

    /// The folder that a URI belongs to, whether there is such a file in it or not.
    #[must_use]
    pub fn shelf(&self, uri: &str) -> Option<&Arc<Shelf>> {
        let rest = |it: &&Arc<Shelf>| uri.strip_prefix(it.folder().uri());
        let mut shelves = self.shelves.iter();
        shelves.find(|it| rest(it).is_some_and(|rest| !rest.is_empty()))
    }

    /// The folders whose files are served.
    #[must_use]
    pub fn shelves(&self) -> &[Arc<Shelf>] {
        &self.shelves
    }

    /// A page of at most `size` of the files that are `seen`, by their URIs, from the first or after one;
    /// and whether there are more. `None` if that one is of no folder.
    #[must_use]
    pub fn files(
        &self,
        after: Option<&str>,
        size: usize,
        seen: impl Fn(&str) -> bool,
    ) -> Option<FilePage<'_>> {
        let first = match after {
            None => 0,
            Some(uri) => self
                .shelves
                .iter()
                .position(|it| uri.starts_with(it.folder().uri()))?,
        };
        let shelves = self.shelves[first..].iter().enumerate();
        let files = shelves.flat_map(|(index, shelf)| {
            let after = after.filter(|_| index == 0);
            shelf.files_after(after)
        });
        let mut files = files.filter(|(uri, _)| seen(uri));
        let page = files.by_ref().take(size).collect();
        Some(FilePage {
            files: page,
            more: files.next().is_some(),
        })
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

    /// What stands for everything that a list shows to whoever sees what is `seen`: another list has
    /// another number.
    #[must_use]
    pub fn view(&self, kind: Kind, seen: &impl Sight) -> u64 {
        let mut hasher = DefaultHasher::new();
        match kind {
            Kind::Tools => {
                for tool in self.tools().filter(|it| seen.tool(it)) {
                    tool.definition.get().hash(&mut hasher);
                }
            }
            Kind::Prompts => {
                for prompt in self.prompts().filter(|it| seen.prompt(it)) {
                    prompt.definition.get().hash(&mut hasher);
                }
            }
            Kind::Resources => {
                for resource in self.resources().filter(|it| seen.resource(it)) {
                    resource.definition.get().hash(&mut hasher);
                }
                for family in self.families.values().filter(|it| seen.family(it)) {
                    family.definition().get().hash(&mut hasher);
                }
                // What a file holds is told to whoever listens to it.
                let files = self.shelves.iter().flat_map(|it| it.files_after(None));
                for (uri, _) in files.filter(|(uri, _)| seen.file(uri)) {
                    uri.hash(&mut hasher);
                }
                // Another version may list others.
                for listing in self.listings().filter(|it| seen.listing(it)) {
                    listing.component.digest.hash(&mut hasher);
                }
            }
        }
        hasher.finish()
    }

    /// A page of at most `size` of the tools that are `seen`; `None` if no page ended with that cursor.
    #[must_use]
    pub fn page(
        &self,
        cursor: Option<&str>,
        size: usize,
        seen: impl Fn(&Tool) -> bool,
    ) -> Option<Page<'_, Tool>> {
        Page::of(&self.tools, cursor, size, seen)
    }

    /// A page of prompts, likewise.
    #[must_use]
    pub fn page_of_prompts(
        &self,
        cursor: Option<&str>,
        size: usize,
        seen: impl Fn(&Prompt) -> bool,
    ) -> Option<Page<'_, Prompt>> {
        Page::of(&self.prompts, cursor, size, seen)
    }

    /// A page of the resources that were told at load, likewise.
    #[must_use]
    pub fn page_of_resources(
        &self,
        cursor: Option<&str>,
        size: usize,
        seen: impl Fn(&Resource) -> bool,
    ) -> Option<Page<'_, Resource>> {
        Page::of(&self.resources, cursor, size, seen)
    }

    /// A page of templates, likewise.
    #[must_use]
    pub fn page_of_templates(
        &self,
        cursor: Option<&str>,
        size: usize,
        seen: impl Fn(&Family) -> bool,
    ) -> Option<Page<'_, Family>> {
        Page::of(&self.families, cursor, size, seen)
    }
}

/// What somebody sees of a catalog.
pub trait Sight {
    /// Is it a tool that they see?
    fn tool(&self, tool: &Tool) -> bool;
    /// A prompt?
    fn prompt(&self, prompt: &Prompt) -> bool;
    /// A resource?
    fn resource(&self, resource: &Resource) -> bool;
    /// A template?
    fn template(&self, template: &Template) -> bool;
    /// Something that a component lists?
    fn listing(&self, listing: &Listing) -> bool;
    /// A file of a folder?
    fn file(&self, uri: &str) -> bool;
    /// Something of a folder?
    fn folder(&self, folder: &Folder) -> bool;

    /// A template of either?
    fn family(&self, family: &Family) -> bool {
        match family {
            Family::Component(template) => self.template(template),
            Family::Folder(folder) => self.folder(folder),
        }
    }
}
