//! What the macros make of a prompt's function, and how a component answers the server with it.

use crate::bindings::cofferdam::tool::types::CallError;
use crate::bindings::prompts::exports::cofferdam::tool::prompts::PromptCall;
use crate::tool::{log_panics, not_named};
use crate::{
    Audio, Call, CompletionResult, Content, EmbeddedResource, Error, Image, PromptDefinition,
    PromptMessage, PromptResult, ResourceLink, Result, Role, RpcError, Typed,
};
use serde_json::Value;
use std::fmt::Display;
use std::str::FromStr;

/// A prompt: what [`prompt`](macro@crate::prompt) makes of a function.
pub trait Prompt {
    /// The name that clients ask for it by.
    const NAME: &'static str;

    /// Some argument has a function that completes it.
    const COMPLETES: bool;

    /// Its description.
    fn definition() -> PromptDefinition;

    /// Makes its messages of arguments, which are names and values.
    ///
    /// # Errors
    /// What the function failed with; [`RpcError::INVALID_PARAMS`] for a value that does not parse.
    fn get(call: &Call, arguments: &[(String, String)]) -> Result<PromptResult>;

    /// Completes an argument; one that nothing completes has no values.
    ///
    /// # Errors
    /// What the function that completes it failed with.
    fn complete(argument: &str, typed: &Typed) -> Result<CompletionResult>;
}

impl PromptMessage {
    /// A message of the user.
    pub fn user(content: impl Into<Content>) -> Self {
        Self {
            role: Role::User,
            content: content.into(),
        }
    }

    /// A message of the model.
    pub fn assistant(content: impl Into<Content>) -> Self {
        Self {
            role: Role::Assistant,
            content: content.into(),
        }
    }
}

impl PromptResult {
    /// A result without messages yet.
    #[must_use]
    pub fn new() -> Self {
        Self {
            description: None,
            messages: Vec::new(),
            meta: None,
        }
    }

    /// Adds a message.
    #[must_use]
    pub fn with(mut self, message: PromptMessage) -> Self {
        self.messages.push(message);
        self
    }

    /// Sets what this use of the prompt is for.
    #[must_use]
    pub fn describe(mut self, description: impl Into<String>) -> Self {
        self.description = Some(description.into());
        self
    }

    /// Sets the result's `_meta`, a JSON object.
    #[must_use]
    pub fn meta(mut self, meta: &serde_json::Map<String, Value>) -> Self {
        // A map of strings to values always has a JSON form.
        self.meta = serde_json::to_string(meta).ok();
        self
    }

    /// Appends another result: its messages after ours, the rest in place of ours if it has any.
    fn merge(mut self, other: Self) -> Self {
        self.messages.extend(other.messages);
        self.description = other.description.or(self.description);
        self.meta = other.meta.or(self.meta);
        self
    }
}

impl Default for PromptResult {
    fn default() -> Self {
        Self::new()
    }
}

/// What a prompt's function may return.
///
/// * `String`, `&str`, [`Content`], [`Image`], [`Audio`], [`EmbeddedResource`], [`ResourceLink`]:
///   a message of the user.
/// * [`PromptMessage`], a `Vec` or an array of them: messages of the user and of the model.
/// * Tuples of two to four of these: all their messages, in order.
/// * [`PromptResult`]: anything else.
/// * `Result` of these, with [`Error`] or any `std::error::Error`. A prompt has no place for an error
///   that a model reads: [`Error::Tool`] becomes the JSON-RPC error -32603 with its text.
pub trait IntoPromptResult {
    /// Makes the result.
    ///
    /// # Errors
    /// What the function failed with.
    fn into_prompt_result(self) -> Result<PromptResult>;
}

impl IntoPromptResult for PromptResult {
    fn into_prompt_result(self) -> Result<PromptResult> {
        Ok(self)
    }
}

impl IntoPromptResult for PromptMessage {
    fn into_prompt_result(self) -> Result<PromptResult> {
        Ok(PromptResult::new().with(self))
    }
}

impl IntoPromptResult for Vec<PromptMessage> {
    fn into_prompt_result(self) -> Result<PromptResult> {
        Ok(PromptResult {
            messages: self,
            ..PromptResult::new()
        })
    }
}

impl<const N: usize> IntoPromptResult for [PromptMessage; N] {
    fn into_prompt_result(self) -> Result<PromptResult> {
        Vec::from(self).into_prompt_result()
    }
}

impl<T: IntoPromptResult, E: Into<Error>> IntoPromptResult for std::result::Result<T, E> {
    fn into_prompt_result(self) -> Result<PromptResult> {
        self.map_err(Into::into)?.into_prompt_result()
    }
}

macro_rules! one_message {
    ($($kind:ty),+) => {$(
        impl IntoPromptResult for $kind {
            fn into_prompt_result(self) -> Result<PromptResult> {
                PromptMessage::user(self).into_prompt_result()
            }
        }
    )+};
}
one_message!(
    String,
    &str,
    Content,
    Image,
    Audio,
    EmbeddedResource,
    ResourceLink
);

macro_rules! tuple {
    ($($part:ident),+) => {
        impl<$($part: IntoPromptResult),+> IntoPromptResult for ($($part,)+) {
            #[allow(non_snake_case)]
            fn into_prompt_result(self) -> Result<PromptResult> {
                let ($($part,)+) = self;
                Ok(PromptResult::new()$(.merge($part.into_prompt_result()?))+)
            }
        }
    };
}
tuple!(A, B);
tuple!(A, B, C);
tuple!(A, B, C, D);

/// One row of a component's table of prompts.
type Entry = (
    &'static str,
    fn(&Call, &[(String, String)]) -> Result<PromptResult>,
);

/// Answers `list-prompts`.
#[doc(hidden)]
#[must_use]
pub fn list_prompts(prompts: &[fn() -> PromptDefinition]) -> Vec<PromptDefinition> {
    log_panics();
    prompts.iter().map(|definition| definition()).collect()
}

/// Answers `get-prompt`.
#[doc(hidden)]
pub fn get_prompt(
    prompts: &[Entry],
    call: PromptCall,
) -> std::result::Result<PromptResult, CallError> {
    log_panics();
    let Some((_, get)) = prompts.iter().find(|(name, _)| *name == call.name) else {
        return Err(not_named("prompt", &call.name));
    };
    get(&Call::of_server(call.features), &call.arguments).map_err(Error::into_call_error)
}

/// Reads an argument that must be there.
#[doc(hidden)]
pub fn required<T: FromStr<Err: Display>>(arguments: &[(String, String)], name: &str) -> Result<T> {
    optional(arguments, name)?.ok_or_else(|| {
        Error::rpc(
            RpcError::INVALID_PARAMS,
            format!("the argument \"{name}\" is missing"),
        )
    })
}

/// Reads an argument that may be there.
#[doc(hidden)]
pub fn optional<T: FromStr<Err: Display>>(
    arguments: &[(String, String)],
    name: &str,
) -> Result<Option<T>> {
    let Some((_, value)) = arguments.iter().find(|(of, _)| of == name) else {
        return Ok(None);
    };
    value.parse().map(Some).map_err(|error| {
        Error::rpc(
            RpcError::INVALID_PARAMS,
            format!("the argument \"{name}\" does not fit: {error}"),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Script;
    use crate::{ClientFeatures, PromptArgument};

    fn cities() -> Vec<&'static str> {
        vec!["Bergen", "Oslo", "New Berlin"]
    }

    /// Plans a trip.
    #[crate::prompt(title = "Trip")]
    fn trip(
        /// Where to.
        #[arg(title = "City", complete = cities)]
        city: String,
        #[arg(name = "dayCount")] days: Option<u8>,
    ) -> (String, PromptMessage) {
        (
            format!("{} days in {city}", days.unwrap_or(1)),
            PromptMessage::assistant("When?"),
        )
    }

    #[crate::prompt(name = "odd.name", description = "Asks.", meta = r#"{"a/b":1}"#)]
    fn asks(call: &Call) -> Result<String> {
        #[derive(serde::Deserialize, schemars::JsonSchema)]
        struct Name {
            name: String,
        }
        match call.ask_form::<Name>("who", "Who?")?.accepted() {
            Some(Name { name }) => Ok(name),
            None => crate::bail!("nobody"),
        }
    }

    fn call_of(name: &str, arguments: &[(&str, &str)]) -> PromptCall {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        PromptCall {
            name: name.to_owned(),
            arguments: arguments.iter().map(owned).collect(),
            features: ClientFeatures::empty(),
        }
    }

    const TABLE: [Entry; 2] = [
        (<trip as Prompt>::NAME, <trip as Prompt>::get),
        (<asks as Prompt>::NAME, <asks as Prompt>::get),
    ];

    #[test]
    fn parameters_become_arguments() {
        let definition = <trip as Prompt>::definition();
        assert_eq!(definition.name, "trip");
        assert_eq!(definition.title.as_deref(), Some("Trip"));
        assert_eq!(definition.description.as_deref(), Some("Plans a trip."));
        let argument =
            |name: &str, title: Option<&str>, description: Option<&str>, required| PromptArgument {
                name: name.to_owned(),
                title: title.map(str::to_owned),
                description: description.map(str::to_owned),
                required,
            };
        assert_eq!(
            definition.arguments,
            [
                argument("city", Some("City"), Some("Where to."), true),
                argument("dayCount", None, None, false),
            ]
        );
        let odd = <asks as Prompt>::definition();
        assert_eq!(odd.name, "odd.name");
        assert_eq!(odd.description.as_deref(), Some("Asks."));
        assert_eq!(odd.meta.as_deref(), Some(r#"{"a/b":1}"#));
        assert_eq!(odd.arguments, []);
    }

    #[test]
    fn arguments_become_messages() {
        let result = get_prompt(
            &TABLE,
            call_of("trip", &[("dayCount", "3"), ("city", "Oslo")]),
        );
        let expected = PromptResult::new()
            .with(PromptMessage::user("3 days in Oslo"))
            .with(PromptMessage::assistant("When?"));
        assert_eq!(result, Ok(expected));
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let refused = |name: &str, arguments: &[(&str, &str)]| match get_prompt(
            &TABLE,
            call_of(name, arguments),
        ) {
            Err(CallError::Rpc(error)) if error.code == RpcError::INVALID_PARAMS => error.message,
            other => panic!("{other:?}"),
        };
        assert_eq!(refused("x", &[]), "no prompt is named x");
        assert_eq!(refused("trip", &[]), "the argument \"city\" is missing");
        let text = refused("trip", &[("city", "Oslo"), ("dayCount", "many")]);
        assert!(
            text.starts_with("the argument \"dayCount\" does not fit: invalid digit"),
            "{text}"
        );
    }

    #[test]
    fn a_prompt_may_ask() {
        let script = Script::new().accept("who", &serde_json::json!({ "name": "Ada" }));
        let told = script.lost_everywhere(|call| <asks as Prompt>::get(call, &[]));
        assert_eq!(told, "Ada".into_prompt_result());
        let refused = <asks as Prompt>::get(&Script::new().decline("who").call(), &[]);
        assert_eq!(
            refused.unwrap_err().into_call_error(),
            CallError::Rpc(RpcError::new(RpcError::INTERNAL, "nobody"))
        );
    }

    #[test]
    fn arguments_complete() {
        const { assert!(<trip as Prompt>::COMPLETES && !<asks as Prompt>::COMPLETES) };
        let values = |argument: &str| {
            <trip as Prompt>::complete(argument, &Typed::new("ber"))
                .unwrap()
                .values
        };
        assert_eq!(values("city"), ["Bergen"]);
        assert_eq!(values("dayCount"), [""; 0]);
    }
}
