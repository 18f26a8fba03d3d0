//! Write Cofferdam tools in Rust.
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
//! * [`tool`](macro@tool) lists what the attribute accepts.
//! * [`Call`] holds the verbs of a running call: becoming a task, progress, questions, and so on.
//! * [`IntoToolResult`] lists what a handler may return.
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
mod content;
mod error;
#[cfg(all(target_family = "wasm", target_os = "unknown", feature = "heap"))]
mod heap;
mod host;
pub mod log;
mod result;
pub mod schema;
mod step;
pub mod testing;
mod tool;

pub use ask::{Answer, Answers};
pub use bindings::cofferdam::tool::task::{
    Action, CallStatus, FinalError, InputAnswer, InputError, InputRequest, RecordError, Root,
    SamplingAnswer, SamplingContent, SamplingMessage, SamplingRequest, StartError, Started,
};
pub use bindings::cofferdam::tool::types::{
    Annotations, ClientFeatures, Content, EmbeddedResource, ResourceBody, ResourceLink, Role,
    RpcError, ToolResult,
};
pub use bindings::exports::cofferdam::tool::handler::{TaskSupport, Tool as Definition, ToolHints};
pub use call::{Amount, Call, TaskOptions};
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
pub use content::{Audio, Image};
pub use error::{Error, Result};
pub use host::Host;
pub use result::{IntoToolResult, Structured};
pub use tool::{Args, Tool};

/// What a tool's source file usually needs.
///
/// The derives of `serde` and `schemars` expand to code that names those crates, so a crate that
/// uses them lists both among its dependencies.
pub mod prelude {
    pub use crate::{
        Answer, Args, Audio, Call, Content, EmbeddedResource, Error, Image, InputRequest,
        IntoToolResult, ResourceLink, Result, RpcError, Started, Structured, TaskOptions,
        ToolResult, bail, log, tool,
    };
    pub use schemars::JsonSchema;
    pub use serde::{Deserialize, Serialize};
    pub use std::time::Duration;
}

/// What the macros expand to. Not part of the interface.
#[doc(hidden)]
pub mod __private {
    pub use crate::log::field;
    pub use crate::tool::{call, list, parse};
    pub use schemars;
    pub use serde;
    pub use serde_json;
    pub use wit_bindgen;
}

/// Makes the named functions the tools of this component. Once in a crate.
///
/// Each is a function with the [`tool`](macro@tool) attribute, and may be named by a path. Clients
/// see the tools in this order.
#[macro_export]
macro_rules! export {
    ($($tool:ty),+ $(,)?) => {
        #[allow(unsafe_code)]
        const _: () = {
            struct Component;

            impl $crate::bindings::exports::cofferdam::tool::handler::Guest for Component {
                fn list_tools() -> ::std::vec::Vec<$crate::Definition> {
                    $crate::__private::list(&[$(<$tool as $crate::Tool>::definition),+])
                }

                fn call_tool(
                    call: $crate::bindings::exports::cofferdam::tool::handler::ToolCall,
                ) -> ::std::result::Result<
                    $crate::ToolResult,
                    $crate::bindings::cofferdam::tool::types::CallError,
                > {
                    $crate::__private::call(
                        &[$((<$tool as $crate::Tool>::NAME, <$tool as $crate::Tool>::run)),+],
                        call,
                    )
                }
            }

            $crate::bindings::export_handler!(Component with_types_in $crate::bindings);
        };
    };
}
