//! MCP 2026-07-28 and the Tasks extension as data: no I/O, no state.
//!
//! Invariant: bytes from outside become a [`Request`] only by way of every check that needs no
//! knowledge of tools or tasks, in the order the specification implies.

mod content;
mod envelope;
mod error;
mod features;
mod headers;
mod id;
mod input;
mod json;
pub mod legacy;
mod level;
mod offers;
mod read;
mod request;
mod schema;
mod template;
mod wire;

pub use content::{
    Annotations, Answer, Blob, Body, Content, ResourceContents, Role, SERVER_INFO_KEY, ServerInfo,
};
pub(crate) use envelope::text;
pub use envelope::{Envelope, Incoming, JsonBounds, Message, Response};
pub use error::{Code, RpcError};
pub use features::ClientFeatures;
pub use headers::{HeaderParam, HeaderParamError, Headers, header_params};
pub use id::{IdError, check_id};
pub use input::{AnswerError, InputRequest, RequestError, check_answer, request_features};
pub use json::{JsonError, check_depth, is_object, json_size, parse_guest_json, raw, scan};
pub use level::Level;
pub use offers::{
    CacheHints, CacheScope, Completion, Kind, ListedPage, ListedResource, PromptAnswer,
    PromptMessage, ReadAnswer, Weighty, written,
};
pub use read::{object, string};
pub(crate) use request::trace;
pub use request::{Meta, Method, Params, Request};
pub use schema::{Schema, SchemaError};
pub use template::{TemplateError, UriTemplate, Variable, is_uri};
pub use wire::{failure, notification, success};

/// The revision of MCP that is served.
pub const PROTOCOL_VERSION: &str = "2026-07-28";

/// The identifier of the Tasks extension (SEP-2663).
pub const TASKS_EXTENSION: &str = "io.modelcontextprotocol/tasks";

/// The `_meta` key that ties a message to its `subscriptions/listen` request.
pub const SUBSCRIPTION_ID_KEY: &str = "io.modelcontextprotocol/subscriptionId";
