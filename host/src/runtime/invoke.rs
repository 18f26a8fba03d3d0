//! One call of an export: which one, with what, and what came of it.
//!
//! Invariant: what a guest gives is checked here, by `convert`, before the rest of the server sees it.

use super::convert;
use super::exports::{CallTool, Complete, GetPrompt, ListResources, ReadResource};
use super::imports::Guest;
use super::offers;
use super::program::{Program, Returned, RunError};
use super::wit::{completion, handler, prompts, resources, types};
use crate::protocol::{
    Answer, ClientFeatures, Completion, ListedPage, PromptAnswer, ReadAnswer, Variable,
};
use wasmtime::Store;
use wasmtime::component::Instance;

/// Which export is called, and with what.
#[derive(Clone, Debug)]
pub enum Invocation {
    /// `call-tool`.
    Tool {
        /// The tool's name in its component.
        name: String,
        /// A JSON object.
        arguments: String,
    },
    /// `get-prompt`.
    Prompt {
        /// The prompt's name in its component.
        name: String,
        /// Names and values.
        arguments: Vec<(String, String)>,
    },
    /// `list-resources`.
    List {
        /// Where the page begins.
        cursor: Option<String>,
    },
    /// `read-resource`.
    Read {
        /// What is read.
        uri: String,
        /// The template that matched.
        template: Option<String>,
        /// What its variables stand for.
        variables: Vec<Variable>,
    },
    /// `complete-argument`.
    Complete {
        /// What the argument belongs to.
        reference: Reference,
        /// Its name, and what was typed.
        argument: (String, String),
        /// Arguments that have a value.
        context: Vec<(String, String)>,
    },
}

/// What an argument that is completed belongs to, as its component calls it.
#[derive(Clone, Debug)]
pub enum Reference {
    /// A prompt.
    Prompt(String),
    /// A resource template.
    Template(String),
}

/// What came of a call that came to a result.
#[derive(Debug)]
pub enum Output {
    /// Of a tool.
    Tool(Answer),
    /// Of a prompt.
    Prompt(PromptAnswer),
    /// A page of a component's resources.
    Page(ListedPage),
    /// Of a resource.
    Read(ReadAnswer),
    /// Values.
    Completion(Completion),
}

/// What a guest returned, before it is looked at.
pub(super) enum Raw {
    Tool(Result<types::ToolResult, types::CallError>),
    Prompt(Result<prompts::PromptResult, types::CallError>),
    Page(Result<resources::ResourcePage, types::CallError>),
    Read(Result<resources::ResourceContents, types::CallError>),
    Completion(Result<completion::CompletionResult, types::CallError>),
}

impl Raw {
    pub(super) fn checked(self) -> Result<Returned, RunError> {
        fn returned<T>(
            result: Result<T, types::CallError>,
            output: impl FnOnce(T) -> Result<Output, String>,
        ) -> Result<Returned, String> {
            match result {
                Ok(result) => output(result).map(Returned::Output),
                Err(error) => convert::call_error(error).map(Returned::Error),
            }
        }
        match self {
            Self::Tool(it) => returned(it, |it| convert::answer(it).map(Output::Tool)),
            Self::Prompt(it) => returned(it, |it| offers::prompt(it).map(Output::Prompt)),
            Self::Page(it) => returned(it, |it| offers::page(it).map(Output::Page)),
            Self::Read(it) => returned(it, |it| offers::contents(it).map(Output::Read)),
            Self::Completion(it) => {
                returned(it, |it| Ok(Output::Completion(offers::completion(it))))
            }
        }
        .map_err(RunError::Malformed)
    }
}

/// Calls an export of an instance.
pub(super) async fn invoke(
    program: &Program,
    what: Invocation,
    features: ClientFeatures,
    instance: &Instance,
    store: &mut Store<Guest>,
) -> wasmtime::Result<Raw> {
    let missing = || wasmtime::Error::msg("the component does not export what was called");
    let exports = &program.exports;
    let features = convert::features_to_wit(features);
    Ok(match what {
        Invocation::Tool { name, arguments } => {
            let at = exports.handler.as_ref().ok_or_else(missing)?.call;
            let function: CallTool<'_> = instance.get_typed_func(&mut *store, at)?;
            let call = handler::ToolCall {
                name,
                arguments,
                features,
            };
            Raw::Tool(function.call_async(store, (&call,)).await?.0)
        }
        Invocation::Prompt { name, arguments } => {
            let at = exports.prompts.as_ref().ok_or_else(missing)?.get;
            let function: GetPrompt<'_> = instance.get_typed_func(&mut *store, at)?;
            let call = prompts::PromptCall {
                name,
                arguments,
                features,
            };
            Raw::Prompt(function.call_async(store, (&call,)).await?.0)
        }
        Invocation::List { cursor } => {
            let at = exports.resources.as_ref().ok_or_else(missing)?.list;
            let function: ListResources<'_> = instance.get_typed_func(&mut *store, at)?;
            let call = resources::ListCall { cursor, features };
            Raw::Page(function.call_async(store, (&call,)).await?.0)
        }
        Invocation::Read {
            uri,
            template,
            variables,
        } => {
            let at = exports.resources.as_ref().ok_or_else(missing)?.read;
            let function: ReadResource<'_> = instance.get_typed_func(&mut *store, at)?;
            let call = resources::ResourceCall {
                uri,
                template,
                variables,
                features,
            };
            Raw::Read(function.call_async(store, (&call,)).await?.0)
        }
        Invocation::Complete {
            reference,
            argument: (name, value),
            context,
        } => {
            let at = exports.completion.ok_or_else(missing)?;
            let function: Complete<'_> = instance.get_typed_func(&mut *store, at)?;
            let call = completion::CompletionCall {
                reference: match reference {
                    Reference::Prompt(name) => completion::Reference::Prompt(name),
                    Reference::Template(text) => completion::Reference::Resource(text),
                },
                argument: completion::CompletionArgument { name, value },
                context,
            };
            Raw::Completion(function.call_async(store, (&call,)).await?.0)
        }
    })
}
