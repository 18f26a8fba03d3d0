//! What callers of a tenant see of what is served.
//!
//! Invariant: what a caller does not see is not there: it is neither listed nor told apart from what does
//! not exist.

use crate::catalog::{Catalog, Component, Listing, Prompt, Resource, Route, Sight, Template, Tool};
use crate::folders::{FilePath, Folder, Shelf};
use crate::protocol::Kind;
use crate::tenants::Tenant;
use std::sync::Arc;

impl Sight for Tenant {
    fn tool(&self, tool: &Tool) -> bool {
        self.sees(&tool.name) && self.trusts(tool.component.signer.as_ref())
    }

    fn prompt(&self, prompt: &Prompt) -> bool {
        let component = &prompt.component;
        trusts(self, component) && self.sees_prompt(&prompt.name, &component.tool_names)
    }

    fn resource(&self, resource: &Resource) -> bool {
        let component = &resource.component;
        trusts(self, component) && self.sees_resource(&resource.uri, &component.tool_names)
    }

    fn template(&self, template: &Template) -> bool {
        let (component, start) = (&template.component, template.template.start());
        trusts(self, component) && self.sees_template(start, &component.tool_names)
    }

    fn listing(&self, listing: &Listing) -> bool {
        // What it lists is looked at one by one.
        let component = &listing.component;
        trusts(self, component) && self.sees_template("", &component.tool_names)
    }

    fn file(&self, uri: &str) -> bool {
        // Nobody signed it, and no tool goes with it.
        self.trusts(None) && self.sees_resource(uri, &[])
    }

    fn folder(&self, folder: &Folder) -> bool {
        self.trusts(None) && self.sees_template(folder.uri(), &[])
    }
}

fn trusts(tenant: &Tenant, component: &Component) -> bool {
    tenant.trusts(component.signer.as_ref())
}

/// What a URI leads to.
pub(super) enum Found {
    /// What a component serves.
    Component(Route),
    /// A file of a folder, if it is there.
    File(Arc<Shelf>, FilePath),
}

impl Found {
    /// What its reads are counted and logged under.
    pub(super) fn label(&self) -> &Arc<str> {
        match self {
            Self::Component(route) => route.label(),
            Self::File(shelf, _) => shelf.folder().label(),
        }
    }

    /// Stands for the source that it is of.
    pub(super) fn source(&self) -> &Arc<str> {
        match self {
            Self::Component(route) => &route.component().source,
            Self::File(shelf, _) => shelf.folder().source(),
        }
    }
}

/// What a URI leads to, if callers of the tenant may read it.
pub(super) fn find(catalog: &Catalog, tenant: &Tenant, uri: &str) -> Option<Found> {
    if let Some(shelf) = catalog.shelf(uri) {
        let path = shelf.file(uri).filter(|_| tenant.file(uri))?;
        return Some(Found::File(Arc::clone(shelf), path));
    }
    let route = catalog.route(uri)?;
    let component = route.component();
    let seen = trusts(tenant, component) && tenant.sees_resource(uri, &component.tool_names);
    seen.then_some(Found::Component(route))
}

/// True if there is something of a kind for callers of the tenant.
pub(super) fn offers(catalog: &Catalog, tenant: &Tenant, kind: Kind) -> bool {
    match kind {
        // Whether there are tools or not, their list is served.
        Kind::Tools => true,
        Kind::Prompts => catalog.prompts().any(|it| tenant.prompt(it)),
        Kind::Resources => {
            catalog.resources().any(|it| tenant.resource(it))
                || catalog.templates().any(|it| tenant.template(it))
                || catalog
                    .shelves()
                    .iter()
                    .any(|it| tenant.folder(it.folder()))
        }
    }
}

/// True if some prompt or template that callers of the tenant see is of a component that completes.
pub(super) fn completes(catalog: &Catalog, tenant: &Tenant) -> bool {
    let prompts = catalog.prompts().filter(|it| tenant.prompt(it));
    let templates = catalog.templates().filter(|it| tenant.template(it));
    let components = prompts.map(|it| &it.component);
    let mut components = components.chain(templates.map(|it| &it.component));
    components.any(|component| component.program.completes())
}

/// True if callers of the tenant see something of a kind from a source.
pub(super) fn sees_of(catalog: &Catalog, tenant: &Tenant, kind: Kind, source: &str) -> bool {
    let of = |component: &Component| *component.source == *source;
    match kind {
        Kind::Tools => {
            let mut tools = catalog.tools();
            tools.any(|it| of(&it.component) && tenant.tool(it))
        }
        Kind::Prompts => {
            let mut prompts = catalog.prompts();
            prompts.any(|it| of(&it.component) && tenant.prompt(it))
        }
        Kind::Resources => {
            let mut resources = catalog.resources();
            let mut templates = catalog.templates();
            resources.any(|it| of(&it.component) && tenant.resource(it))
                || templates.any(|it| of(&it.component) && tenant.template(it))
        }
    }
}
