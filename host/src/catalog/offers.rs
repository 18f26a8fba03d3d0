//! All that one component offers.
//!
//! Invariant: names are unique among what is of one kind, also within a component.

use super::{Component, Listing, Prompt, Resource, Route, Template, Tool};
use crate::limits::{
    PROMPTS_PER_COMPONENT, RESOURCES_PER_COMPONENT, TEMPLATES_PER_COMPONENT, TOOLS_PER_COMPONENT,
    TaskLimits,
};
use crate::protocol::UriTemplate;
use crate::runtime::Told;
use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

/// All that one component offers: a tool, a prompt, a resource or a template at least, or a list.
pub struct Offers {
    /// The component.
    pub component: Arc<Component>,
    /// Its tools.
    pub tools: Vec<Arc<Tool>>,
    /// Its prompts.
    pub prompts: Vec<Arc<Prompt>>,
    /// The resources that it told at load.
    pub resources: Vec<Arc<Resource>>,
    /// Its templates.
    pub templates: Vec<Arc<Template>>,
    /// That it lists more.
    pub listing: Option<Arc<Listing>>,
}

/// What no two components may serve.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Name<'a> {
    Tool(&'a str),
    Prompt(&'a str),
    Resource(&'a str),
    Template(&'a UriTemplate),
}

impl Name<'_> {
    /// True if one stands for what the other is.
    pub(super) fn shadows(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Resource(uri), Self::Template(template))
            | (Self::Template(template), Self::Resource(uri)) => template.matches(uri).is_some(),
            _ => false,
        }
    }
}

impl fmt::Display for Name<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tool(name) => write!(f, "tool {name:?}"),
            Self::Prompt(name) => write!(f, "prompt {name:?}"),
            Self::Resource(uri) => write!(f, "resource {uri:?}"),
            Self::Template(it) => write!(f, "resource template {:?}", it.as_str()),
        }
    }
}

impl Offers {
    /// Checks what a component told of itself.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(super) fn new(
        told: Told,
        prefix: &str,
        component: Arc<Component>,
        tasks: &TaskLimits,
    ) -> Result<Self, String> {
        let lists = told.resources.as_ref().is_some_and(|set| set.dynamic);
        let (listed, templates) = match told.resources {
            Some(set) => (set.resources, set.templates),
            None => Default::default(),
        };
        few(told.tools.len(), TOOLS_PER_COMPONENT, "tools")?;
        few(told.prompts.len(), PROMPTS_PER_COMPONENT, "prompts")?;
        few(listed.len(), RESOURCES_PER_COMPONENT, "resources")?;
        few(
            templates.len(),
            TEMPLATES_PER_COMPONENT,
            "resource templates",
        )?;
        let tools = each(
            "tool",
            told.tools,
            |it| it.name.clone(),
            |tool| Tool::new(tool, prefix, Arc::clone(&component), tasks),
        )?;
        let prompts = each(
            "prompt",
            told.prompts,
            |it| it.name.clone(),
            |prompt| Prompt::new(prompt, prefix, Arc::clone(&component)),
        )?;
        let resources = each(
            "resource",
            listed,
            |it| it.uri.clone(),
            |resource| Resource::new(resource, Arc::clone(&component)),
        )?;
        let text = |it: &crate::runtime::wit::resources::ResourceTemplate| it.uri_template.clone();
        let templates = each("resource template", templates, text, |template| {
            Template::new(template, Arc::clone(&component))
        })?;
        let listing = lists.then(|| {
            Arc::new(Listing {
                label: format!("resources:{}", component.name).into(),
                component: Arc::clone(&component),
                told: resources.iter().map(|it| Arc::clone(&it.uri)).collect(),
                templates: templates.clone(),
            })
        });
        let offers = Self {
            component,
            tools,
            prompts,
            resources,
            templates,
            listing,
        };
        if offers.names().next().is_none() {
            return Err("it offers no tool, no prompt and no resource".to_owned());
        }
        if offers.listing.is_some() && offers.templates.is_empty() {
            let reason = "it lists resources that were not told at load, and has no template by which \
                          they could be read";
            return Err(reason.to_owned());
        }
        Ok(offers)
    }

    /// The names that it takes.
    pub(super) fn names(&self) -> impl Iterator<Item = Name<'_>> {
        let tools = self.tools.iter().map(|it| Name::Tool(&it.name));
        let prompts = self.prompts.iter().map(|it| Name::Prompt(&it.name));
        let resources = self.resources.iter().map(|it| Name::Resource(&it.uri));
        let templates = self.templates.iter().map(|it| Name::Template(&it.template));
        tools.chain(prompts).chain(resources).chain(templates)
    }

    /// What its calls are counted under.
    pub fn labels(&self) -> impl Iterator<Item = &Arc<str>> {
        let tools = self.tools.iter().map(|it| &it.name);
        let prompts = self.prompts.iter().map(|it| &it.label);
        let resources = self.resources.iter().map(|it| &it.label);
        let templates = self.templates.iter().map(|it| &it.label);
        let listing = self.listing.iter().map(|it| &it.label);
        tools
            .chain(prompts)
            .chain(resources)
            .chain(templates)
            .chain(listing)
    }

    /// What a URI leads to in this component.
    #[must_use]
    pub fn route(&self, uri: &str) -> Option<Route> {
        let exact = self.resources.iter().find(|it| *it.uri == *uri);
        let exact = exact.map(|it| Route::Resource(Arc::clone(it)));
        exact.or_else(|| template_of(&self.templates, uri))
    }

    /// The prompt with that name in the component.
    #[must_use]
    pub fn prompt(&self, own_name: &str) -> Option<&Arc<Prompt>> {
        self.prompts.iter().find(|it| it.own_name == own_name)
    }
}

/// The first template that matches.
pub(super) fn template_of<'a>(
    templates: impl IntoIterator<Item = &'a Arc<Template>>,
    uri: &str,
) -> Option<Route> {
    templates.into_iter().find_map(|it| {
        let variables = it.template.matches(uri)?;
        Some(Route::Template(Arc::clone(it), variables))
    })
}

fn few(count: usize, most: usize, what: &str) -> Result<(), String> {
    match count > most {
        true => Err(format!("it offers {count} {what}; the limit is {most}")),
        false => Ok(()),
    }
}

/// Checks each, and that no name is there twice.
fn each<T, U>(
    what: &str,
    told: Vec<T>,
    name: impl Fn(&T) -> String,
    checked: impl Fn(T) -> Result<U, String>,
) -> Result<Vec<Arc<U>>, String> {
    let mut names = HashSet::with_capacity(told.len());
    let one = |it: T| {
        let name = name(&it);
        let shown: String = name.chars().take(128).collect();
        if !names.insert(name) {
            return Err(format!("it offers the {what} {shown:?} twice"));
        }
        let it = checked(it).map_err(|reason| format!("{what} {shown:?}: {reason}"))?;
        Ok(Arc::new(it))
    };
    told.into_iter().map(one).collect()
}
