//! What can be read: resources, templates of resources, and what lists those that are not told at load.

use super::Component;
use crate::protocol::{UriTemplate, Variable};
use crate::runtime::wit::resources;
use crate::runtime::{resource_definition, template_definition};
use serde_json::value::RawValue;
use std::collections::HashSet;
use std::sync::Arc;

/// A resource that was told at load.
pub struct Resource {
    /// What it is read by.
    pub uri: Arc<str>,
    /// What its reads are counted and logged under.
    pub label: Arc<str>,
    /// The component that serves it.
    pub component: Arc<Component>,
    /// MCP's description of it.
    pub definition: Box<RawValue>,
}

/// A family of resources.
pub struct Template {
    /// Its text.
    pub text: Arc<str>,
    /// Which URIs it stands for.
    pub template: UriTemplate,
    /// What its reads are counted and logged under.
    pub label: Arc<str>,
    /// The component that serves it.
    pub component: Arc<Component>,
    /// MCP's description of it.
    pub definition: Box<RawValue>,
}

/// A component that lists more resources than it told at load.
pub struct Listing {
    /// What its lists are counted and logged under.
    pub label: Arc<str>,
    /// The component.
    pub component: Arc<Component>,
    pub(super) told: HashSet<Arc<str>>,
    pub(super) templates: Vec<Arc<Template>>,
}

impl Listing {
    /// True for what leads back to the component: what it told at load, and what its templates stand for.
    #[must_use]
    pub fn may_list(&self, uri: &str) -> bool {
        let mut templates = self.templates.iter();
        self.told.contains(uri) || templates.any(|it| it.template.matches(uri).is_some())
    }
}

/// What a URI leads to.
#[derive(Clone)]
pub enum Route {
    /// A resource that was told at load.
    Resource(Arc<Resource>),
    /// A template that matches, and what its variables stand for.
    Template(Arc<Template>, Vec<Variable>),
}

impl Resource {
    /// Checks what a component says of a resource.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn new(
        resource: resources::ListedResource,
        component: Arc<Component>,
    ) -> Result<Self, String> {
        let uri: Arc<str> = resource.uri.as_str().into();
        Ok(Self {
            definition: resource_definition(resource)?,
            label: format!("resource:{uri}").into(),
            uri,
            component,
        })
    }
}

impl Template {
    /// Checks what a component says of a template.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn new(
        template: resources::ResourceTemplate,
        component: Arc<Component>,
    ) -> Result<Self, String> {
        let text: Arc<str> = template.uri_template.as_str().into();
        let parsed = UriTemplate::parse(&text).map_err(|error| error.to_string())?;
        Ok(Self {
            definition: template_definition(template)?,
            label: format!("resource:{text}").into(),
            template: parsed,
            text,
            component,
        })
    }
}

impl Route {
    /// The component that serves it.
    #[must_use]
    pub fn component(&self) -> &Arc<Component> {
        match self {
            Self::Resource(resource) => &resource.component,
            Self::Template(template, _) => &template.component,
        }
    }

    /// What its reads are counted and logged under.
    #[must_use]
    pub fn label(&self) -> &Arc<str> {
        match self {
            Self::Resource(resource) => &resource.label,
            Self::Template(template, _) => &template.label,
        }
    }
}
