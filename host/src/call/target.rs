//! What a call is of: a tool, or something else that a component offers.
//!
//! Invariant: what is true of calls is true of all of them (their instance, limits, grants, journal,
//! questions); what differs between them is here, and nowhere else in this folder.

use crate::catalog::{Component, Listing, Prompt, Route, SealError, TaskSupport, Tool};
use crate::protocol::{CacheScope, Code, RpcError, written};
use crate::runtime::{Invocation, Output, Reference};
use serde_json::json;
use serde_json::value::RawValue;
use std::sync::Arc;
use std::time::Duration;

/// What a call is of.
pub enum Target {
    /// `tools/call`.
    Tool(Arc<Tool>),
    /// `prompts/get`, with these arguments.
    Prompt(Arc<Prompt>, Vec<(String, String)>),
    /// `resources/read`.
    Read(Box<Read>),
    /// `resources/list`, as far as a component lists its resources itself; from there.
    List(Arc<Listing>, Option<String>),
    /// `completion/complete`.
    Complete(Box<Complete>),
}

/// A read of a resource.
pub struct Read {
    /// What is read.
    pub uri: String,
    /// Where that leads to.
    pub route: Route,
    /// Every caller of the server sees the same.
    pub shared: bool,
}

/// A completion.
pub struct Complete {
    /// The component that completes.
    pub component: Arc<Component>,
    /// What it is counted and logged under.
    pub label: Arc<str>,
    /// What the argument belongs to.
    pub reference: Reference,
    /// Its name, and what was typed.
    pub argument: (String, String),
    /// Arguments that have a value.
    pub context: Vec<(String, String)>,
}

/// Why what a guest gave is no result.
pub(super) enum Unfit {
    /// The client is answered so.
    Error(RpcError),
    /// It is too large: what is wrong, without the limit.
    TooLarge(String),
}

impl Target {
    /// What it is counted and logged under: a tool's name, or a word for what else it is and its name.
    #[must_use]
    pub fn label(&self) -> &Arc<str> {
        match self {
            Self::Tool(tool) => &tool.name,
            Self::Prompt(prompt, _) => &prompt.label,
            Self::Read(read) => read.route.label(),
            Self::List(listing, _) => &listing.label,
            Self::Complete(complete) => &complete.label,
        }
    }

    /// The component that is called.
    #[must_use]
    pub fn component(&self) -> &Arc<Component> {
        match self {
            Self::Tool(tool) => &tool.component,
            Self::Prompt(prompt, _) => &prompt.component,
            Self::Read(read) => read.route.component(),
            Self::List(listing, _) => &listing.component,
            Self::Complete(complete) => &complete.component,
        }
    }

    /// The method of the requests that make such calls.
    #[must_use]
    pub fn method(&self) -> &'static str {
        match self {
            Self::Tool(_) => "tools/call",
            Self::Prompt(..) => "prompts/get",
            Self::Read(_) => "resources/read",
            Self::List(..) => "resources/list",
            Self::Complete(_) => "completion/complete",
        }
    }

    /// Its name in the component.
    #[must_use]
    pub fn own_name(&self) -> &str {
        match self {
            Self::Tool(tool) => &tool.own_name,
            Self::Prompt(prompt, _) => &prompt.own_name,
            Self::Read(read) => &read.uri,
            Self::List(..) | Self::Complete(_) => "",
        }
    }

    /// What the client calls it by.
    pub(super) fn name(&self) -> &str {
        match self {
            Self::Tool(tool) => &tool.name,
            Self::Prompt(prompt, _) => &prompt.name,
            other => other.own_name(),
        }
    }

    /// Whether calls may become tasks.
    #[must_use]
    pub fn task_support(&self) -> TaskSupport {
        match self {
            Self::Tool(tool) => tool.task_support,
            _ => TaskSupport::None,
        }
    }

    /// When the server makes a task of a call by itself.
    #[must_use]
    pub fn detach_after(&self) -> Option<Duration> {
        match self {
            Self::Tool(tool) => tool.detach_after,
            _ => None,
        }
    }

    /// True if its client may be asked: the methods whose answer may be `input_required`.
    #[must_use]
    pub fn may_ask(&self) -> bool {
        matches!(self, Self::Tool(_) | Self::Prompt(..) | Self::Read(_))
    }

    /// What is called in the component. `arguments` are a tool's.
    pub(super) fn invocation(&self, arguments: &RawValue) -> Invocation {
        match self {
            Self::Tool(tool) => Invocation::Tool {
                name: tool.own_name.clone(),
                arguments: arguments.get().to_owned(),
            },
            Self::Prompt(prompt, arguments) => Invocation::Prompt {
                name: prompt.own_name.clone(),
                arguments: arguments.clone(),
            },
            Self::Read(read) => {
                let (template, variables) = match &read.route {
                    Route::Resource(_) => (None, Vec::new()),
                    Route::Template(it, variables) => {
                        (Some(it.text.to_string()), variables.clone())
                    }
                };
                Invocation::Read {
                    uri: read.uri.clone(),
                    template,
                    variables,
                }
            }
            Self::List(_, cursor) => Invocation::List {
                cursor: cursor.clone(),
            },
            Self::Complete(complete) => Invocation::Complete {
                reference: complete.reference.clone(),
                argument: complete.argument.clone(),
                context: complete.context.clone(),
            },
        }
    }

    /// Checks what a guest gave, and gives it its final form, of at most `limit` bytes.
    pub(super) fn seal(&self, output: Output, limit: usize) -> Result<Box<RawValue>, Unfit> {
        let large = |what: &'static str| {
            move |size: usize| Unfit::TooLarge(format!("The {what}'s result has {size} bytes"))
        };
        match (self, output) {
            (Self::Tool(tool), Output::Tool(answer)) => {
                tool.seal(answer, limit).map_err(|error| match error {
                    SealError::Unfit(_) => Unfit::Error(RpcError::internal(error.to_string())),
                    SealError::TooLarge(_) => Unfit::TooLarge(error.to_string()),
                })
            }
            (Self::Prompt(..), Output::Prompt(answer)) => {
                written(&answer, limit).map_err(large("prompt"))
            }
            (Self::Read(read), Output::Read(mut answer)) => {
                if answer.contents.is_empty() {
                    return Err(Unfit::Error(unknown_resource(&read.uri)));
                }
                if !read.shared {
                    answer.cache.cache_scope = CacheScope::Private;
                }
                written(&answer, limit).map_err(large("resource"))
            }
            (Self::List(listing, _), Output::Page(page)) => {
                let stray = page.resources.iter().find(|it| !listing.may_list(&it.uri));
                if let Some(stray) = stray {
                    let reason = format!(
                        "The component lists the resource {:?}, which is none that it told at load \
                         and matches no template of its own",
                        stray.uri
                    );
                    return Err(Unfit::Error(RpcError::internal(reason)));
                }
                written(&page, limit).map_err(large("list"))
            }
            (Self::Complete(_), Output::Completion(values)) => {
                written(&values, limit).map_err(large("completion"))
            }
            _ => Err(Unfit::Error(RpcError::internal(
                "What came of the call is no result of its kind",
            ))),
        }
    }
}

/// The answer to a read of what is not there, or not for this caller.
#[must_use]
pub fn unknown_resource(uri: &str) -> RpcError {
    RpcError {
        code: Code::UnknownResource,
        message: "Resource not found".into(),
        data: Some(json!({ "uri": uri })),
    }
}
