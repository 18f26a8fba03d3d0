//! Write Cofferdam tools in Rust, and the prompts and resources that come with them.
//!
//! A tool is a typed function. Its parameters are its input schema, its documentation is its
//! description, and what it returns is its result:
//!
//! ```
//! use cofferdam_guest::prelude::*;
//!
//! /// Adds two numbers.
//! #[tool(title = "Add", read_only)]
//! fn add(
//!     a: f64,
//!     /// What to add to it.
//!     b: f64,
//! ) -> String {
//!     format!("{}", a + b)
//! }
//!
//! cofferdam_guest::export!(add);
//! # fn main() {}
//! ```
//!
//! ```toml
//! [lib]
//! crate-type = ["cdylib"]
//!
//! [dependencies]
//! cofferdam-guest = "0.1"
//! # For types of your own in parameters, results and forms:
//! schemars = "1"
//! serde = { version = "1", features = ["derive"] }
//! ```
//!
//! Built for `wasm32-unknown-unknown` or `wasm32-wasip2` this is a component that a Cofferdam server
//! loads. It also compiles natively, so that handlers can be tested with
//! `cargo test` and the scripted host in [`testing`].
//!
//! * [`tool`](macro@tool) lists what the attribute accepts; so do [`prompt`](macro@prompt) and
//!   [`resource`](macro@resource).
//! * [`Call`] holds the verbs of a running call: becoming a task, progress, questions, and so on.
//! * [`IntoToolResult`] lists what a handler may return; [`IntoPromptResult`] and
//!   [`IntoResourceContents`] what prompts and resources may.
//! * [`Error`] says what each kind of failure becomes.
//!
//! # A tool that takes long
//!
//! A handler is straight-line code. For a client that knows tasks, [`Call::start_task`] answers the
//! request at once and the handler goes on; for any other client it does nothing, and the client
//! waits. A question to the user suspends the handler until the answer is there; it may also be asked
//! inline, and before the call is a task.
//!
//! ```
//! use cofferdam_guest::prelude::*;
//!
//! #[derive(Deserialize, JsonSchema)]
//! struct Numbers {
//!     /// What to sum up.
//!     values: Vec<f64>,
//! }
//!
//! #[derive(Deserialize, JsonSchema)]
//! struct Confirm {
//!     /// Really do it?
//!     confirm: bool,
//! }
//!
//! #[derive(Serialize, JsonSchema)]
//! struct Report {
//!     total: f64,
//! }
//!
//! /// Sums up numbers, after asking.
//! #[tool(task = "optional")]
//! fn sum(call: &Call, Args(numbers): Args<Numbers>) -> Result<Structured<Report>> {
//!     call.start_task(TaskOptions::new().ttl(Duration::from_secs(60)))?;
//!     match call.ask_form::<Confirm>("confirm", "Sum them all up?")? {
//!         Answer::Accepted(answer) if answer.confirm => {}
//!         _ => return Err(Error::tool("nobody wanted the sum")),
//!     }
//!     let mut total = 0.0;
//!     for (n, value) in numbers.values.iter().enumerate() {
//!         call.progress(n + 1, Some(numbers.values.len()), "adding")?;
//!         total += value;
//!     }
//!     Ok(Structured(Report { total }))
//! }
//!
//! cofferdam_guest::export!(sum);
//! # fn main() {}
//! ```
//!
//! # Prompts and resources
//!
//! Both are functions, as tools are. A prompt's parameters are its arguments; a resource's are the
//! variables of its URI template. A parameter may have a function that completes it, and a template
//! one that lists what it stands for.
//!
//! ```
//! use cofferdam_guest::prelude::*;
//!
//! const RECIPES: [(&str, &str); 2] = [("bread", "Flour, water, salt."), ("tea", "Leaves, water.")];
//!
//! fn names() -> Vec<&'static str> {
//!     RECIPES.iter().map(|(name, _)| *name).collect()
//! }
//!
//! fn all() -> Vec<ListedResource> {
//!     names().into_iter().map(|name| ListedResource::new(recipe::uri(name), name)).collect()
//! }
//!
//! /// A recipe.
//! #[resource("recipes://{name}", mime_type = "text/plain", list = all)]
//! fn recipe(#[arg(complete = names)] name: String) -> Option<&'static str> {
//!     let (_, text) = RECIPES.iter().find(|(of, _)| *of == name)?;
//!     Some(text)
//! }
//!
//! /// Cooks for a number of people.
//! #[prompt]
//! fn cook(
//!     #[arg(complete = names)] name: String,
//!     /// One if left out.
//!     people: Option<u32>,
//! ) -> Result<String> {
//!     let Some(text) = recipe(name) else {
//!         bail!("there is no such recipe");
//!     };
//!     Ok(format!("Tell me how to cook this for {}: {text}", people.unwrap_or(1)))
//! }
//!
//! cofferdam_guest::export! {
//!     prompts: [cook],
//!     resources: [recipe],
//!     completion,
//! }
//! # fn main() {}
//! ```
//!
//! A component exports what it names here and nothing else. A [`Call`] as the first parameter works as
//! it does in a tool that does not become a task: what must be asked of the user is asked inline.
//! Whatever changes is told with [`changes`](mod@changes).
//!
//! # A handler may be run again
//!
//! A task survives its server. No instance is kept across a crash or a restart, and perhaps none while
//! a task waits for an answer or sleeps. What is kept is what the handler was answered. When the task
//! goes on, the handler is run again from the top, in a fresh instance; every clock, random number,
//! question and sleep answers as it did before, and so the handler gets to where it was. A question
//! that is asked inline works the same way.
//!
//! * A handler is not told when the server stops, and has no time to clean up then.
//! * Running again takes as long as running did, except for the waits. A handler that computes for long
//!   divides its work into steps with [`Call::step`]: a step that is done is recalled, not done again.
//! * [`Call::record`] and [`Call::recall`] are what steps are made of, for loops that count on from where
//!   they were. What is read between a `recall` and its `record` reaches the rest of the program only
//!   through the recorded value.
//! * With several attempts ([`TaskOptions::max_attempts`]), a handler that traps is run again, too. It
//!   keeps its answers and records.
//!
//! [`testing::Script::lost_everywhere`] tests a handler against losses at any place.

// The macros name this crate by its public name, also from inside it.
extern crate self as cofferdam_guest;

mod ask;
pub mod bindings;
mod call;
pub mod changes;
mod completion;
mod content;
mod contents;
mod error;
#[cfg(all(target_family = "wasm", target_os = "unknown", feature = "heap"))]
mod heap;
mod host;
mod listing;
pub mod log;
mod prompt;
mod resource;
mod result;
pub mod schema;
mod step;
pub mod testing;
mod tool;
mod uri;

pub use ask::{Answer, Answers};
pub use bindings::cofferdam::tool::task::{
    Action, CallStatus, FinalError, InputAnswer, InputError, InputRequest, RecordError, Root,
    SamplingAnswer, SamplingContent, SamplingMessage, SamplingRequest, StartError, Started,
};
pub use bindings::cofferdam::tool::types::{
    Annotations, ClientFeatures, Content, EmbeddedResource, ResourceBody, ResourceLink, Role,
    RpcError, ToolResult,
};
pub use bindings::completion::exports::cofferdam::tool::completion::CompletionResult;
pub use bindings::exports::cofferdam::tool::handler::{TaskSupport, Tool as Definition, ToolHints};
pub use bindings::prompts::exports::cofferdam::tool::prompts::{
    Prompt as PromptDefinition, PromptArgument, PromptMessage, PromptResult,
};
pub use bindings::resources::exports::cofferdam::tool::resources::{
    CacheHint, ListedResource, ResourceContent, ResourceContents, ResourcePage, ResourceSet,
    ResourceTemplate,
};
pub use call::{Amount, Call, TaskOptions};
pub use cofferdam_guest_macros::export;
/// # Examples
///
/// ```
/// use cofferdam_guest::prelude::*;
///
/// fn languages() -> [&'static str; 3] {
///     ["Rust", "JavaScript", "Python"]
/// }
///
/// /// Reviews code.
/// #[prompt(title = "Review")]
/// fn review(
///     /// What to review.
///     code: String,
///     /// What it is written in.
///     #[arg(complete = languages)]
///     language: Option<String>,
/// ) -> String {
///     let language = language.as_deref().unwrap_or("some language");
///     format!("Review this {language}:\n\n{code}")
/// }
///
/// cofferdam_guest::export! {
///     prompts: [review],
///     completion,
/// }
/// # fn main() {}
/// ```
///
pub use cofferdam_guest_macros::prompt;
/// # Examples
///
/// ```
/// use cofferdam_guest::prelude::*;
///
/// const PAGES: [&str; 2] = ["Once upon a time", "The end"];
///
/// /// The whole story.
/// #[resource("story://whole", mime_type = "text/plain")]
/// fn whole() -> String {
///     PAGES.join("\n")
/// }
///
/// /// A page of the story.
/// #[resource("story://pages/{number}", mime_type = "text/plain", list = pages)]
/// fn page(number: usize) -> Option<&'static str> {
///     PAGES.get(number.checked_sub(1)?).copied()
/// }
///
/// fn pages() -> Vec<ListedResource> {
///     let numbers = 1..=PAGES.len();
///     numbers.map(|n| ListedResource::new(page::uri(n), format!("page {n}"))).collect()
/// }
///
/// cofferdam_guest::export!(resources: [whole, page]);
/// assert_eq!(page(2), Some("The end"));
/// assert_eq!(page::uri(2), "story://pages/2");
/// ```
///
pub use cofferdam_guest_macros::resource;
/// # Examples
///
/// ```
/// use cofferdam_guest::prelude::*;
///
/// /// Looks up the weather of the coming days.
/// #[tool(title = "Weather", read_only, open_world)]
/// fn weather(
///     /// A city's name.
///     city: String,
///     /// How many days; today alone if left out.
///     #[schemars(range(min = 1, max = 14))]
///     days: Option<u32>,
/// ) -> Result<String> {
///     if city.is_empty() {
///         bail!("Which city?");
///     }
///     Ok(format!("{} dry days in {city}", days.unwrap_or(1)))
/// }
///
/// assert_eq!(weather("Oslo".to_owned(), None), Ok("1 dry days in Oslo".to_owned()));
/// ```
///
pub use cofferdam_guest_macros::tool;
pub use completion::{Completer, IntoCompletion, Typed};
pub use content::{Audio, Image};
pub use contents::IntoResourceContents;
pub use error::{Error, Result};
pub use host::Host;
pub use listing::{Fallible, Lister};
pub use prompt::{IntoPromptResult, Prompt};
pub use resource::Resource;
pub use result::{IntoToolResult, Structured};
pub use tool::{Args, Tool};

/// What a tool's source file usually needs.
///
/// The derives of `serde` and `schemars` expand to code that names those crates, so a crate that
/// uses them lists both among its dependencies.
pub mod prelude {
    pub use crate::{
        Answer, Args, Audio, Call, CompletionResult, Content, EmbeddedResource, Error, Image,
        InputRequest, IntoToolResult, ListedResource, PromptMessage, PromptResult,
        ResourceContents, ResourceLink, ResourcePage, Result, RpcError, Started, Structured,
        TaskOptions, ToolResult, Typed, bail, changes, log, prompt, resource, tool,
    };
    pub use schemars::JsonSchema;
    pub use serde::{Deserialize, Serialize};
    pub use std::time::Duration;
}

/// What the macros expand to. Not part of the interface.
#[doc(hidden)]
pub mod __private {
    pub use crate::completion::{complete, completed};
    pub use crate::contents::filled;
    pub use crate::listing::listed;
    pub use crate::log::field;
    pub use crate::prompt::{get_prompt, list_prompts, optional, required};
    pub use crate::resource::{
        ResourceEntry, describe_resources, list_resources, read_resource, variable,
    };
    pub use crate::tool::{call, list, parse};
    pub use crate::uri::expand;
    pub use schemars;
    pub use serde;
    pub use serde_json;
    pub use wit_bindgen;
}
