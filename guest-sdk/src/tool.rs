//! What the macros make of a function, and how a component answers the server with it.
//!
//! Invariant: a panic leaves its message in the log before the instance traps.

use crate::bindings::cofferdam::tool::types::CallError;
use crate::bindings::exports::cofferdam::tool::handler::ToolCall;
use crate::{Call, Definition, Error, Result, RpcError, ToolResult, log};
use serde::de::DeserializeOwned;
use std::panic::PanicHookInfo;

/// A tool: what [`tool`](macro@crate::tool) makes of a function.
pub trait Tool {
    /// The name that clients call it by.
    const NAME: &'static str;

    /// Its description.
    fn definition() -> Definition;

    /// Runs it with arguments that are a JSON object.
    ///
    /// # Errors
    /// What the function failed with; [`Error::Tool`] for arguments that do not fit its parameters.
    fn run(call: &Call, arguments: &str) -> Result<ToolResult>;
}

/// A parameter that stands for all arguments of the tool at once: `Args(args): Args<MyArgs>`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Args<T>(pub T);

/// One row of a component's table of tools.
type Entry = (&'static str, fn(&Call, &str) -> Result<ToolResult>);

/// Answers `list-tools`.
#[doc(hidden)]
#[must_use]
pub fn list(tools: &[fn() -> Definition]) -> Vec<Definition> {
    log_panics();
    tools.iter().map(|definition| definition()).collect()
}

/// Answers `call-tool`.
#[doc(hidden)]
pub fn call(tools: &[Entry], call: ToolCall) -> std::result::Result<ToolResult, CallError> {
    log_panics();
    let Some((_, run)) = tools.iter().find(|(name, _)| *name == call.name) else {
        return Err(not_named("tool", &call.name));
    };
    run(&Call::of_server(call.features), &call.arguments).or_else(Error::into_answer)
}

/// Reads arguments.
#[doc(hidden)]
pub fn parse<T: DeserializeOwned>(arguments: &str) -> Result<T> {
    serde_json::from_str(arguments)
        .map_err(|error| Error::tool(format!("The arguments do not fit: {error}")))
}

/// The answer to a call of what is not in the table.
pub(crate) fn not_named(kind: &str, name: &str) -> CallError {
    CallError::Rpc(RpcError::new(
        RpcError::INVALID_PARAMS,
        format!("no {kind} is named {name}"),
    ))
}

pub(crate) fn log_panics() {
    if cfg!(target_family = "wasm") {
        std::panic::set_hook(Box::new(|info| log::error(panic_message(info))));
    }
}

fn panic_message(info: &PanicHookInfo<'_>) -> String {
    let payload = info.payload_as_str().unwrap_or("(no message)");
    match info.location() {
        Some(place) => format!("panicked at {}:{}: {payload}", place.file(), place.line()),
        None => format!("panicked: {payload}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Script;
    use crate::{ClientFeatures, Content, IntoToolResult, TaskSupport, ToolHints};
    use serde_json::json;

    /// Adds two numbers.
    ///
    /// Exactly.
    #[crate::tool(title = "Add", read_only, destructive = false)]
    fn add(
        /// The first.
        a: i64,
        b: Option<i64>,
        #[schemars(range(max = 10))]
        #[serde(default)]
        times: u64,
    ) -> String {
        format!(
            "{}",
            (a + b.unwrap_or(0)) * i64::try_from(times.max(1)).unwrap()
        )
    }

    #[crate::tool(
        name = "odd.name",
        description = "Nothing.",
        task = "required",
        schema = r#"{"type":"object","x":1}"#,
        meta = r#"{"a/b":1}"#
    )]
    fn nothing() {}

    #[derive(serde::Deserialize, schemars::JsonSchema)]
    struct Names {
        names: Vec<String>,
    }

    /// Greets.
    #[crate::tool]
    fn greet(call: &Call, Args(args): Args<Names>) -> Result<String> {
        call.progress(1, None, "")?;
        if args.names.is_empty() {
            crate::bail!("nobody");
        }
        Ok(args.names.join(" and "))
    }

    #[test]
    fn parameters_become_properties() {
        let definition = <add as Tool>::definition();
        assert_eq!(definition.name, "add");
        assert_eq!(definition.title.as_deref(), Some("Add"));
        assert_eq!(
            definition.description.as_deref(),
            Some("Adds two numbers.\n\nExactly.")
        );
        assert_eq!(definition.task_support, TaskSupport::None);
        assert_eq!(
            definition.hints,
            Some(ToolHints {
                read_only: Some(true),
                destructive: Some(false),
                idempotent: None,
                open_world: None
            })
        );
        let schema: serde_json::Value = serde_json::from_str(&definition.input_schema).unwrap();
        assert_eq!(
            schema,
            json!({
                "type": "object",
                "properties": {
                    "a": { "type": "integer", "description": "The first." },
                    "b": { "type": ["integer", "null"] },
                    "times": { "type": "integer", "minimum": 0, "maximum": 10, "default": 0 }
                },
                "required": ["a"],
                "additionalProperties": false
            })
        );
    }

    #[test]
    fn options_replace_what_the_function_says() {
        let definition = <nothing as Tool>::definition();
        assert_eq!(definition.name, "odd.name");
        assert_eq!(definition.description.as_deref(), Some("Nothing."));
        assert_eq!(definition.input_schema, r#"{"type":"object","x":1}"#);
        assert_eq!(definition.meta.as_deref(), Some(r#"{"a/b":1}"#));
        assert_eq!(definition.task_support, TaskSupport::Required);
        assert_eq!(definition.hints, None);
    }

    #[test]
    fn arguments_reach_the_function() {
        let call = Script::new().call();
        assert_eq!(
            <add as Tool>::run(&call, r#"{"a":1,"b":2,"times":3}"#),
            "9".into_tool_result()
        );
        assert_eq!(
            <add as Tool>::run(&call, r#"{"a":1}"#),
            "1".into_tool_result()
        );
        assert_eq!(
            <greet as Tool>::run(&call, r#"{"names":["A","B"]}"#),
            "A and B".into_tool_result()
        );
    }

    #[test]
    fn arguments_that_do_not_fit_are_a_tool_error() {
        let call = Script::new().call();
        for wrong in [r#"{"a":"x"}"#, r#"{"a":1,"c":2}"#, "{}"] {
            let Err(Error::Tool(text)) = <add as Tool>::run(&call, wrong) else {
                panic!("{wrong} was accepted")
            };
            assert!(text.starts_with("The arguments do not fit: "), "{text}");
        }
    }

    #[test]
    fn a_component_answers_for_the_tools_in_its_table() {
        let table = [(
            <greet as Tool>::NAME,
            <greet as Tool>::run as fn(&Call, &str) -> _,
        )];
        let unknown = ToolCall {
            name: "x".to_owned(),
            arguments: "{}".to_owned(),
            features: ClientFeatures::empty(),
        };
        assert!(
            matches!(super::call(&table, unknown), Err(CallError::Rpc(error)) if error.code == -32602)
        );
        let unfit = ToolCall {
            name: "greet".to_owned(),
            arguments: "{}".to_owned(),
            features: ClientFeatures::empty(),
        };
        assert!(super::call(&table, unfit).unwrap().is_error);
        assert_eq!(
            list(&[<add as Tool>::definition, <greet as Tool>::definition]).len(),
            2
        );
    }

    #[test]
    fn a_tool_error_is_a_result_for_the_model() {
        let error = <greet as Tool>::run(&Script::new().call(), r#"{"names":[]}"#).unwrap_err();
        let answer = error.into_answer().unwrap();
        assert!(answer.is_error);
        assert_eq!(answer.content, [Content::text("nobody")]);
    }
}
