//! From what was typed, which is text, to the values that a schema wants.
//!
//! Invariant: what comes out fits the schema as far as the client understands it; what does not fit is
//! told with what is wanted, and nothing is sent.

use crate::schema::{check, kind, types, wants};
use crate::{clean, nearest};
use serde_json::{Map, Value};

/// Why arguments do not fit their tool.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub(crate) enum ArgumentError {
    /// No such argument.
    #[error("the tool has no argument {name:?}{}; {known}", nearest::hint(.nearest.as_deref()))]
    Unknown {
        /// As typed.
        name: String,
        /// The one that was meant, perhaps.
        nearest: Option<String>,
        /// All that there are.
        known: String,
    },
    /// Twice.
    #[error(
        "the argument {0:?} is given twice; write an array as JSON, for example --arg '{0}=[1, 2]'"
    )]
    Twice(String),
    /// Another type.
    #[error("the argument {name:?} wants {wants}, not {typed:?}{hint}")]
    Type {
        /// Which.
        name: String,
        /// What it wants.
        wants: String,
        /// What it got.
        typed: String,
        /// How to write it.
        hint: &'static str,
    },
    /// Needed, and not there.
    #[error("the tool needs the argument{} {}", if .0.len() == 1 { "" } else { "s" }, .0.join(", "))]
    Missing(Vec<String>),
    /// Not what the schema wants otherwise.
    #[error("the arguments do not fit the tool's schema: {}", .0.join("; "))]
    Unfit(Vec<String>),
}

/// The arguments of a tool, from names and texts.
///
/// # Errors
/// [`ArgumentError`].
pub(crate) fn arguments(
    schema: &Value,
    given: &[(String, String)],
) -> Result<Map<String, Value>, ArgumentError> {
    let mut arguments = Map::new();
    for (name, text) in given {
        let wanted = property(schema, name)?;
        let value = read(schema, wanted, text).map_err(|hint| ArgumentError::Type {
            name: name.clone(),
            wants: wants(schema, wanted),
            typed: clean::line(text),
            hint,
        })?;
        if arguments.insert(name.clone(), value).is_some() {
            return Err(ArgumentError::Twice(name.clone()));
        }
    }
    fit(schema, &arguments)?;
    Ok(arguments)
}

/// Checks arguments, however they came.
///
/// # Errors
/// [`ArgumentError::Missing`], [`ArgumentError::Unfit`].
pub(crate) fn fit(schema: &Value, arguments: &Map<String, Value>) -> Result<(), ArgumentError> {
    let needed = schema.get("required").and_then(Value::as_array);
    let missing: Vec<String> = needed
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .filter(|name| !arguments.contains_key(*name))
        .map(|name| {
            let wanted = schema.pointer(&format!("/properties/{}", escaped(name)));
            let wanted = wanted.map_or_else(String::new, |it| format!(" ({})", wants(schema, it)));
            format!("{}{wanted}", clean::line(name))
        })
        .collect();
    if !missing.is_empty() {
        return Err(ArgumentError::Missing(missing));
    }
    check(schema, &Value::Object(arguments.clone())).map_err(ArgumentError::Unfit)
}

fn escaped(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

/// The schema of an argument. One that is not named is taken only where the schema says so: most do
/// not, and a name that is mistyped would be ignored.
fn property<'a>(schema: &'a Value, name: &str) -> Result<&'a Value, ArgumentError> {
    let properties = schema.get("properties").and_then(Value::as_object);
    if let Some(wanted) = properties.and_then(|all| all.get(name)) {
        return Ok(wanted);
    }
    let others = schema.get("additionalProperties");
    if let Some(others) = others.filter(|others| **others != Value::Bool(false)) {
        return Ok(others);
    }
    if schema.get("patternProperties").is_some() {
        return Ok(&Value::Bool(true));
    }
    let names: Vec<&str> = properties
        .into_iter()
        .flat_map(Map::keys)
        .map(String::as_str)
        .collect();
    let known = match names.as_slice() {
        [] => "it takes none".to_owned(),
        names => clean::line(&format!("it takes {}", names.join(", "))),
    };
    Err(ArgumentError::Unknown {
        name: name.to_owned(),
        nearest: nearest::nearest(name, names).map(clean::line),
        known,
    })
}

/// One value. Text that is JSON of a type that is wanted counts as that; but where a string will do,
/// `null` is a string, because nothing is said by leaving it out.
///
/// # Errors
/// How to write it, if it is of no type that is wanted.
pub(crate) fn read(root: &Value, schema: &Value, text: &str) -> Result<Value, &'static str> {
    let types = types(root, schema);
    let takes =
        |name: &str| types.contains(&name) || (name == "integer" && types.contains(&"number"));
    let typed: Option<Value> = serde_json::from_str(text.trim()).ok();
    let string = takes("string");
    match typed {
        Some(Value::Null) if string => {}
        // Quotes are a part of a string, but where anything may be.
        Some(Value::String(_)) if !takes("object") => {}
        Some(value) if takes(kind(&value)) => return Ok(value),
        _ => {}
    }
    if string {
        return Ok(Value::from(text));
    }
    Err(match () {
        () if takes("array") => "; write JSON, for example [1, 2]",
        () if takes("object") => "; write JSON, for example {\"key\": 1}",
        () if takes("boolean") => "; write true or false",
        () => "",
    })
}

#[cfg(test)]
mod tests {
    use super::{ArgumentError, arguments, read};
    use proptest::prelude::*;
    use serde_json::{Value, json};

    fn typed(schema: &Value, text: &str) -> Option<Value> {
        read(schema, schema, text).ok()
    }

    #[test]
    fn text_becomes_what_the_schema_wants() {
        for (schema, text, value) in [
            (json!({"type": "string"}), "5", json!("5")),
            (json!({"type": "string"}), "\"x\"", json!("\"x\"")),
            (json!({"type": "string"}), " x ", json!(" x ")),
            (json!({"type": "integer"}), "5", json!(5)),
            (json!({"type": "number"}), "5", json!(5)),
            (json!({"type": "number"}), "-1.5e3", json!(-1500.0)),
            (json!({"type": "boolean"}), "true", json!(true)),
            (json!({"type": ["string", "null"]}), "null", json!("null")),
            (json!({"type": ["integer", "null"]}), "null", json!(null)),
            (json!({"type": ["integer", "string"]}), "5", json!(5)),
            (
                json!({"type": ["integer", "string"]}),
                "five",
                json!("five"),
            ),
            (json!({"type": "array"}), "[1,\"a\"]", json!([1, "a"])),
            (json!({"type": "object"}), "{\"a\":1}", json!({"a": 1})),
            (json!({}), "[1]", json!([1])),
            (json!({}), "hello", json!("hello")),
            (json!({}), "\"5\"", json!("5")),
        ] {
            assert_eq!(typed(&schema, text), Some(value), "{schema} {text}");
        }
        for (kind, text) in [
            ("integer", "1.5"),
            ("integer", "x"),
            ("boolean", "yes"),
            ("array", "1"),
            ("object", "[1]"),
        ] {
            assert_eq!(typed(&json!({"type": kind}), text), None, "{kind} {text}");
        }
    }

    fn told(schema: &Value, given: &[(&str, &str)]) -> String {
        let given: Vec<_> = given
            .iter()
            .map(|(a, b)| ((*a).to_owned(), (*b).to_owned()))
            .collect();
        arguments(schema, &given)
            .expect_err("does not fit")
            .to_string()
    }

    #[test]
    fn what_does_not_fit_is_told_with_what_is_wanted() {
        let schema = json!({
            "type": "object",
            "properties": {
                "word": {"type": "string", "maxLength": 5},
                "number": {"type": "integer", "minimum": 1},
                "list": {"type": "array", "items": {"type": "boolean"}},
            },
            "required": ["word", "number"],
        });
        for (given, reason) in [
            (
                &[("wrod", "x")][..],
                "the tool has no argument \"wrod\" (do you mean \"word\"?); it takes word, number, list",
            ),
            (
                &[("number", "x")],
                "the argument \"number\" wants integer, at least 1, not \"x\"",
            ),
            (
                &[("list", "true")],
                "the argument \"list\" wants array, of boolean, not \"true\"; write JSON, for example [1, 2]",
            ),
            (
                &[("word", "x")],
                "the tool needs the argument number (integer, at least 1)",
            ),
            (
                &[("word", "x"), ("word", "y")],
                "the argument \"word\" is given twice; write an array as JSON, for example --arg 'word=[1, 2]'",
            ),
        ] {
            assert_eq!(told(&schema, given), reason);
        }
        let unfit = told(&schema, &[("word", "too long"), ("number", "0")]);
        assert!(
            unfit.contains("word: ") && unfit.contains("number: "),
            "{unfit}"
        );
    }

    #[test]
    fn what_is_not_named_is_taken_where_the_schema_says_so() {
        let open = json!({"type": "object", "additionalProperties": {"type": "integer"}});
        let given = [("n".to_owned(), "5".to_owned())];
        assert_eq!(
            arguments(&open, &given).map(Value::Object),
            Ok(json!({"n": 5}))
        );
        let closed = json!({"type": "object", "additionalProperties": false});
        assert!(matches!(
            arguments(&closed, &given),
            Err(ArgumentError::Unknown { .. })
        ));
    }

    proptest! {
        #[test]
        fn a_string_is_what_was_typed(text in any::<String>()) {
            prop_assert_eq!(typed(&json!({"type": "string"}), &text), Some(Value::from(text)));
        }

        #[test]
        fn what_is_read_is_of_a_type_that_is_wanted(text in "[-0-9a-z.\\[\\]{}\", ]{0,12}", at in 0..5_usize) {
            let wanted = ["boolean", "integer", "number", "array", "object"][at];
            let schema = json!({"type": wanted});
            if let Some(value) = typed(&schema, &text) {
                prop_assert!(crate::schema::check(&schema, &value).is_ok(), "{} {}", wanted, value);
            }
        }

        #[test]
        fn integers_come_through(number in any::<i64>()) {
            prop_assert_eq!(typed(&json!({"type": "integer"}), &number.to_string()), Some(json!(number)));
        }
    }
}
