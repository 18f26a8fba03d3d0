//! Why a handler has no result, and what the client sees of it.
//!
//! `?` works on every `std::error::Error`: it becomes a tool error, which a model can read and act
//! on. The errors of this crate's verbs are told apart by what they mean.

use crate::bindings::cofferdam::tool::types::CallError;
use crate::{
    ClientFeatures, FinalError, InputError, RecordError, RpcError, StartError, ToolResult,
};
use std::any::Any;
use std::fmt;

/// What a handler returns when it may fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a handler has no result to give.
///
/// It is not a `std::error::Error` itself, so that it can be made from every one of them with `?`.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Error {
    /// The tool could not do what was asked. The client gets a result with `isError` and this text;
    /// a task that ends so is `completed`. Of a prompt or a resource, it gets the JSON-RPC error
    /// -32603 with this text.
    Tool(String),
    /// Something is wrong with the request or the tool. The client gets this JSON-RPC error; a task
    /// that ends so is `failed`.
    Rpc(RpcError),
    /// The client did not declare what the tool needs. It gets the error -32021.
    MissingFeatures(ClientFeatures),
    /// The call is over already: nobody waits for this handler any more.
    Final,
}

impl Error {
    /// A tool error with this text.
    pub fn tool(message: impl fmt::Display) -> Self {
        Self::Tool(message.to_string())
    }

    /// A JSON-RPC error. See [`RpcError`] for the codes that reach the client.
    pub fn rpc(code: i32, message: impl Into<String>) -> Self {
        Self::Rpc(RpcError::new(code, message))
    }

    /// How the handler's return tells the server.
    pub(crate) fn into_answer(self) -> std::result::Result<ToolResult, CallError> {
        match self {
            Self::Tool(message) => Ok(ToolResult::text(message).error()),
            Self::Final => Ok(ToolResult::text("The call is over.").error()),
            Self::Rpc(_) | Self::MissingFeatures(_) => Err(self.into_call_error()),
        }
    }

    /// How it tells the server where a result cannot be an error: of a prompt or a resource.
    pub(crate) fn into_call_error(self) -> CallError {
        match self {
            Self::Tool(message) => CallError::Rpc(RpcError::new(RpcError::INTERNAL, message)),
            Self::Rpc(error) => CallError::Rpc(error),
            Self::MissingFeatures(features) => CallError::MissingFeatures(features),
            Self::Final => CallError::Rpc(RpcError::new(RpcError::INTERNAL, "The call is over.")),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tool(message) => f.write_str(message),
            Self::Rpc(error) => write!(f, "{} ({})", error.message, error.code),
            Self::MissingFeatures(features) => {
                let names: Vec<String> = features
                    .iter_names()
                    .map(|(name, _)| name.to_lowercase().replace('_', "-"))
                    .collect();
                write!(f, "the client lacks {}", names.join(", "))
            }
            Self::Final => f.write_str("the call is over"),
        }
    }
}

impl<E: std::error::Error + 'static> From<E> for Error {
    fn from(error: E) -> Self {
        let any: &dyn Any = &error;
        if let Some(error) = any.downcast_ref::<StartError>() {
            start(error)
        } else if let Some(error) = any.downcast_ref::<InputError>() {
            input(error)
        } else if let Some(error) = any.downcast_ref::<RecordError>() {
            record(error)
        } else if any.is::<FinalError>() {
            Self::Final
        } else {
            Self::Tool(with_causes(&error))
        }
    }
}

impl RpcError {
    /// The arguments are wrong in a way that no schema can say.
    pub const INVALID_PARAMS: i32 = -32602;
    /// The tool is broken.
    pub const INTERNAL: i32 = -32603;

    /// An error with this code: -32602, -32603, or one of the tool's own outside -32768 to -32000.
    /// Any other code reaches the client as -32603.
    pub fn new(code: i32, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            data: None,
        }
    }

    /// Adds `data`.
    #[must_use]
    pub fn with_data(mut self, data: &serde_json::Value) -> Self {
        self.data = Some(data.to_string());
        self
    }
}

impl From<RpcError> for Error {
    fn from(error: RpcError) -> Self {
        Self::Rpc(error)
    }
}

fn internal(message: String) -> Error {
    Error::rpc(RpcError::INTERNAL, message)
}

fn start(error: &StartError) -> Error {
    match error {
        StartError::AlreadyStarted => internal("the call is a task already".to_owned()),
        StartError::NotAllowed => {
            internal("this tool does not declare that it may become a task".to_owned())
        }
        StartError::InvalidOption(text) => internal(format!("task option: {text}")),
        StartError::LimitReached => internal("Task limit reached".to_owned()),
        StartError::StoreFailed(text) => internal(format!("the task could not be stored: {text}")),
        StartError::Final => Error::Final,
    }
}

fn input(error: &InputError) -> Error {
    match error {
        InputError::Invalid(text) => internal(format!("input request: {text}")),
        InputError::DuplicateKeys(keys) => {
            internal(format!("input request: used before: {}", keys.join(", ")))
        }
        InputError::MissingFeatures(features) => Error::MissingFeatures(*features),
        InputError::Unavailable => Error::tool(
            "This tool needs an answer from its user, but nothing can be asked in this call.",
        ),
        InputError::StoreFailed(text) => {
            internal(format!("the input request could not be stored: {text}"))
        }
        InputError::Final => Error::Final,
    }
}

fn record(error: &RecordError) -> Error {
    match error {
        RecordError::InvalidKey => internal("record: the key is empty or too long".to_owned()),
        RecordError::TooLarge(text) => internal(format!("record: {text}")),
        RecordError::StoreFailed(text) => {
            internal(format!("the record could not be stored: {text}"))
        }
        RecordError::Final => Error::Final,
    }
}

/// An error's text and those of what caused it, unless they repeat it.
fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text.push_str(": ");
            text.push_str(&cause_text);
        }
        source = cause.source();
    }
    text
}

/// Returns a tool error with a formatted text.
///
/// ```
/// # use cofferdam_guest::prelude::*;
/// fn half(n: u32) -> Result<u32> {
///     if n % 2 == 1 {
///         bail!("{n} is odd");
///     }
///     Ok(n / 2)
/// }
/// assert_eq!(half(3), Err(Error::tool("3 is odd")));
/// ```
#[macro_export]
macro_rules! bail {
    ($($text:tt)+) => {
        return ::std::result::Result::Err($crate::Error::tool(::std::format!($($text)+)).into())
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<u8> {
        Ok(text.parse::<u8>()?)
    }

    #[test]
    fn any_error_becomes_a_tool_error() {
        assert_eq!(
            parse("x"),
            Err(Error::tool("invalid digit found in string"))
        );
        let answer = parse("x").unwrap_err().into_answer().unwrap();
        assert!(answer.is_error);
        assert_eq!(
            answer.content,
            ToolResult::text("invalid digit found in string").content
        );
    }

    #[test]
    fn causes_are_told_once() {
        #[derive(Debug)]
        struct Outer(std::num::ParseIntError);
        impl fmt::Display for Outer {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("no width")
            }
        }
        impl std::error::Error for Outer {
            fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
                Some(&self.0)
            }
        }
        let error = Outer("".parse::<u8>().unwrap_err());
        assert_eq!(
            Error::from(error),
            Error::tool("no width: cannot parse integer from empty string")
        );
    }

    #[test]
    fn verb_errors_keep_their_meaning() {
        assert_eq!(Error::from(FinalError::Final), Error::Final);
        assert_eq!(Error::from(InputError::Final), Error::Final);
        assert_eq!(
            Error::from(InputError::MissingFeatures(ClientFeatures::SAMPLING)).into_answer(),
            Err(CallError::MissingFeatures(ClientFeatures::SAMPLING))
        );
        assert!(matches!(
            Error::from(InputError::Unavailable),
            Error::Tool(_)
        ));
        let refused = Error::from(StartError::InvalidOption("ttl is 0".to_owned()));
        assert_eq!(
            refused,
            Error::rpc(RpcError::INTERNAL, "task option: ttl is 0")
        );
    }

    #[test]
    fn missing_features_are_named() {
        let error =
            Error::MissingFeatures(ClientFeatures::SAMPLING | ClientFeatures::ELICITATION_URL);
        assert_eq!(
            error.to_string(),
            "the client lacks elicitation-url, sampling"
        );
    }
}
