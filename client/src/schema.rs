//! What a JSON Schema wants, told to people, and whether a value fits it.
//!
//! Invariant: a schema is read as far as it is understood, and whatever is in it, reading ends: no
//! reference is followed beyond the schema, nor in circles. What is not understood is left to the
//! server, which checks again.

use crate::clean;
use crate::limits::{REASONS, REFERENCES};
use jsonschema::{Draft, PatternOptions};
use serde_json::Value;

/// The types of JSON Schema.
const TYPES: [&str; 7] = [
    "null", "boolean", "integer", "number", "string", "array", "object",
];

/// The schema behind references within the document.
pub(crate) fn resolve<'a>(root: &'a Value, schema: &'a Value) -> &'a Value {
    let mut schema = schema;
    for _ in 0..REFERENCES {
        let Some(reference) = schema.get("$ref").and_then(Value::as_str) else {
            return schema;
        };
        let place = reference
            .strip_prefix('#')
            .and_then(|place| root.pointer(place));
        let Some(next) = place else { return schema };
        schema = next;
    }
    &Value::Bool(true)
}

/// The types of the values that it takes: all, if it does not say.
pub(crate) fn types(root: &Value, schema: &Value) -> Vec<&'static str> {
    let mut found = Vec::new();
    collect(root, schema, REFERENCES, &mut found);
    if found.is_empty() {
        return TYPES.to_vec();
    }
    found
}

fn collect(root: &Value, schema: &Value, depth: usize, found: &mut Vec<&'static str>) {
    let mut add = |name: &str| {
        let known = TYPES.iter().find(|known| **known == name);
        if let Some(known) = known.filter(|known| !found.contains(known)) {
            found.push(known);
        }
    };
    let schema = resolve(root, schema);
    match schema.get("type") {
        Some(Value::String(name)) => return add(name),
        Some(Value::Array(names)) => return names.iter().filter_map(Value::as_str).for_each(add),
        _ => {}
    }
    let constants = schema.get("enum").and_then(Value::as_array);
    let constants = constants.into_iter().flatten().chain(schema.get("const"));
    constants.for_each(|value| add(kind(value)));
    for word in ["anyOf", "oneOf", "allOf"] {
        let inner = schema.get(word).and_then(Value::as_array);
        for schema in inner.into_iter().flatten() {
            if depth > 0 {
                collect(root, schema, depth - 1, found);
            }
        }
    }
}

/// The type of a value.
pub(crate) fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.as_f64().is_some_and(|it| it.fract() == 0.0) => "integer",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// What it wants, in a few words: the type, and what bounds it.
pub(crate) fn wants(root: &Value, schema: &Value) -> String {
    let schema = resolve(root, schema);
    if let Some(values) = constants(root, schema) {
        return clean::line(&format!("one of {}", values.join(", ")));
    }
    let mut types = types(root, schema);
    let nullable = types.len() < TYPES.len() && types.contains(&"null");
    types.retain(|name| *name != "null");
    let mut words = vec![match types.as_slice() {
        types if types.len() >= TYPES.len() - 1 => "anything".to_owned(),
        types => types.join(" or "),
    }];
    let schema = only(root, schema);
    for (word, name) in [
        ("format", ""),
        ("minimum", "at least "),
        ("exclusiveMinimum", "more than "),
        ("maximum", "at most "),
        ("exclusiveMaximum", "less than "),
        ("minLength", "characters: at least "),
        ("maxLength", "characters: at most "),
        ("minItems", "items: at least "),
        ("maxItems", "items: at most "),
        ("pattern", "like "),
    ] {
        match schema.get(word) {
            Some(Value::String(text)) => words.push(format!("{name}{text}")),
            Some(number @ Value::Number(_)) => words.push(format!("{name}{number}")),
            _ => {}
        }
    }
    if let Some(items) = schema.get("items") {
        words.push(format!("of {}", wants_plainly(root, items)));
    }
    if nullable {
        words.push("or nothing".to_owned());
    }
    clean::line(&words.join(", "))
}

/// Without what bounds it, so that it ends.
fn wants_plainly(root: &Value, schema: &Value) -> String {
    match constants(root, schema) {
        Some(values) => values.join(", "),
        None => types(root, schema).join(" or "),
    }
}

/// The one schema of an `anyOf` or `oneOf` beside `null`, as the schema of an optional value is written.
fn only<'a>(root: &'a Value, schema: &'a Value) -> &'a Value {
    let inner = schema.get("anyOf").or_else(|| schema.get("oneOf"));
    let inner = inner.and_then(Value::as_array).into_iter().flatten();
    let mut others = inner.filter(|inner| inner.get("type") != Some(&Value::from("null")));
    match (others.next(), others.next()) {
        (Some(other), None) => resolve(root, other),
        _ => schema,
    }
}

/// The values, if it lists them.
fn constants(root: &Value, schema: &Value) -> Option<Vec<String>> {
    let schema = only(root, resolve(root, schema));
    if let Some(values) = schema.get("enum").and_then(Value::as_array) {
        return Some(values.iter().map(Value::to_string).collect());
    }
    let titled = schema.get("oneOf").or_else(|| schema.get("anyOf"));
    let titled = titled.and_then(Value::as_array)?.iter();
    titled
        .map(|it| it.get("const").map(Value::to_string))
        .collect()
}

/// Whether a value fits, formats included.
///
/// # Errors
/// Why not, at most [`REASONS`] of it. A schema that cannot be read fits anything.
pub(crate) fn check(schema: &Value, value: &Value) -> Result<(), Vec<String>> {
    let validator = jsonschema::options()
        .with_draft(Draft::Draft202012)
        .with_pattern_options(PatternOptions::regex())
        .should_validate_formats(true)
        .build(schema);
    let Ok(validator) = validator else {
        return Ok(());
    };
    let reason = |error: jsonschema::ValidationError<'_>| match error.instance_path().as_str() {
        "" => clean::line(&error.to_string()),
        place => clean::line(&format!("{}: {error}", place.trim_start_matches('/'))),
    };
    let reasons: Vec<String> = validator
        .iter_errors(value)
        .take(REASONS)
        .map(reason)
        .collect();
    if reasons.is_empty() {
        Ok(())
    } else {
        Err(reasons)
    }
}

#[cfg(test)]
mod tests {
    use super::{check, resolve, types, wants};
    use proptest::prelude::*;
    use serde_json::{Value, json};

    #[test]
    fn what_it_wants_is_told_in_a_few_words() {
        let root = json!({"$defs": {"Kind": {"type": "string", "enum": ["a", "b"]}}});
        for (schema, words) in [
            (
                json!({"type": "integer", "minimum": 1, "maximum": 10}),
                "integer, at least 1, at most 10",
            ),
            (json!({"type": ["integer", "null"]}), "integer, or nothing"),
            (json!({"$ref": "#/$defs/Kind"}), r#"one of "a", "b""#),
            (
                json!({"anyOf": [{"$ref": "#/$defs/Kind"}, {"type": "null"}]}),
                r#"one of "a", "b""#,
            ),
            (
                json!({"oneOf": [{"const": 1, "title": "One"}, {"const": 2}]}),
                "one of 1, 2",
            ),
            (
                json!({"type": "array", "items": {"type": "string"}}),
                "array, of string",
            ),
            (
                json!({"type": "string", "format": "email", "maxLength": 5}),
                "string, email, characters: at most 5",
            ),
            (json!(true), "anything"),
        ] {
            assert_eq!(wants(&root, &schema), words, "{schema}");
        }
    }

    #[test]
    fn references_end() {
        let root = json!({"$defs": {"A": {"$ref": "#/$defs/B"}, "B": {"$ref": "#/$defs/A"}}});
        assert_eq!(resolve(&root, &json!({"$ref": "#/$defs/A"})), &json!(true));
        assert_eq!(types(&root, &json!({"$ref": "#/$defs/A"})).len(), 7);
        let root = json!({"$defs": {"A": {"anyOf": [{"$ref": "#/$defs/A"}]}}});
        assert_eq!(types(&root, &json!({"$ref": "#/$defs/A"})).len(), 7);
    }

    #[test]
    fn formats_are_checked_and_reasons_have_a_place() {
        let schema = json!({"properties": {"mail": {"type": "string", "format": "email"}}});
        check(&schema, &json!({"mail": "a@example.com"})).expect("fits");
        let reasons = check(&schema, &json!({"mail": "a"})).expect_err("no address");
        assert!(reasons[0].starts_with("mail: "), "{reasons:?}");
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let word = prop::sample::select(vec![
            "type",
            "enum",
            "const",
            "anyOf",
            "oneOf",
            "$ref",
            "items",
            "minimum",
            "#",
            "#/type",
            "string",
            "null",
            "properties",
        ]);
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            word.clone().prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 32, 6, move |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
                prop::collection::vec((word.clone(), inner), 0..5).prop_map(|pairs| {
                    let pairs = pairs
                        .into_iter()
                        .map(|(name, value)| (name.to_owned(), value));
                    Value::Object(pairs.collect())
                }),
            ]
        })
    }

    proptest! {
        #[test]
        fn any_schema_can_be_read(schema in any_json(), value in any_json()) {
            prop_assert!(!types(&schema, &schema).is_empty());
            wants(&schema, &schema);
            let _ = check(&schema, &value);
        }
    }
}
