//! JSON schemas from tools, compiled with bounds.
//!
//! Invariant: a schema is small, self-contained (nothing is fetched), of dialect 2020-12, and its
//! patterns run in linear time.

use super::json::depth;
use crate::limits::{SCHEMA_BYTES, SCHEMA_DEPTH};
use jsonschema::{PatternOptions, ValidationError, Validator};
use serde_json::Value;

/// The one dialect that is supported.
const DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";
/// Longest description of what does not fit, bytes.
const REASON_BYTES: usize = 1_024;
/// Most reasons that are told.
const REASONS: usize = 3;
/// Values up to which all reasons are sought, though a few are told: the validator finds all or one.
const FEW: usize = 1_000;

/// Why a schema was refused.
#[derive(Debug, thiserror::Error)]
pub enum SchemaError {
    /// Too large or nested too deeply.
    #[error("the schema is larger than {SCHEMA_BYTES} bytes or deeper than {SCHEMA_DEPTH} levels")]
    TooLarge,
    /// Another dialect.
    #[error("dialect {0} is not supported, only {DIALECT}")]
    Dialect(String),
    /// Not a schema, or one that refers to something outside itself.
    #[error("{0}")]
    Invalid(String),
}

/// A compiled schema.
#[derive(Debug)]
pub struct Schema(Validator);

impl Schema {
    /// Compiles a schema.
    ///
    /// # Errors
    /// [`SchemaError`].
    pub fn compile(schema: &Value) -> Result<Self, SchemaError> {
        if depth(schema) > SCHEMA_DEPTH || schema.to_string().len() > SCHEMA_BYTES {
            return Err(SchemaError::TooLarge);
        }
        if let Some(dialect) = schema.get("$schema").and_then(Value::as_str)
            && dialect.trim_end_matches('#') != DIALECT
        {
            return Err(SchemaError::Dialect(dialect.to_owned()));
        }
        jsonschema::options()
            .with_draft(jsonschema::Draft::Draft202012)
            .with_pattern_options(PatternOptions::regex())
            .build(schema)
            .map(Self)
            .map_err(|error| SchemaError::Invalid(error.to_string()))
    }

    /// Checks a value.
    ///
    /// # Errors
    /// What does not fit, and where, for a person or a model.
    pub fn check(&self, value: &Value) -> Result<(), String> {
        if self.0.is_valid(value) {
            return Ok(());
        }
        if count(value, FEW) > FEW {
            let first = self.0.validate(value).err();
            return first.map_or(Ok(()), |error| Err(reason(&error)));
        }
        let reasons = self.0.iter_errors(value).take(REASONS);
        let reasons: Vec<_> = reasons.map(|error| reason(&error)).collect();
        Err(reasons.join("; "))
    }
}

fn reason(error: &ValidationError<'_>) -> String {
    let place = error.instance_path().to_string();
    let text = error.to_string();
    let (place, text) = (cut(&place), cut(&text));
    if place.is_empty() {
        text.to_owned()
    } else {
        format!("{place}: {text}")
    }
}

fn cut(text: &str) -> &str {
    &text[..text.floor_char_boundary(REASON_BYTES)]
}

/// How many values there are in one, itself included; counted no further than `most`.
fn count(value: &Value, most: usize) -> usize {
    let add = |sum: usize, item: &Value| {
        let left = most.checked_sub(sum)?;
        Some(sum + count(item, left))
    };
    let sum = match value {
        Value::Array(items) => items.iter().try_fold(1, add),
        Value::Object(members) => members.values().try_fold(1, add),
        _ => Some(1),
    };
    sum.unwrap_or(most + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn nothing_is_fetched() {
        for reference in [
            "https://a.example/schema.json",
            "file:///etc/hostname",
            "other.json",
        ] {
            assert!(
                Schema::compile(&json!({ "$ref": reference })).is_err(),
                "{reference}"
            );
        }
        assert!(Schema::compile(&json!({ "$defs": { "a": {} }, "$ref": "#/$defs/a" })).is_ok());
    }

    #[test]
    fn other_dialects_are_refused_not_ignored() {
        assert!(Schema::compile(&json!({ "$schema": DIALECT })).is_ok());
        let draft7 = json!({ "$schema": "http://json-schema.org/draft-07/schema#" });
        assert!(matches!(
            Schema::compile(&draft7),
            Err(SchemaError::Dialect(_))
        ));
    }

    #[test]
    fn a_pattern_cannot_burn_time() {
        let schema = Schema::compile(&json!({ "pattern": "^(a+)+$" })).unwrap();
        let text = format!("{}b", "a".repeat(50_000));
        assert!(schema.check(&json!(text)).is_err());
        assert!(
            Schema::compile(&json!({ "pattern": "(?=a)b" })).is_err(),
            "needs backtracking"
        );
    }

    #[test]
    fn a_schema_that_refers_to_itself_ends() {
        if let Ok(schema) = Schema::compile(&json!({ "$ref": "#" })) {
            let _ = schema.check(&json!({}));
        }
        let cycle = json!({ "$defs": { "a": { "allOf": [{ "$ref": "#/$defs/b" }] },
            "b": { "anyOf": [{ "$ref": "#/$defs/a" }] } }, "$ref": "#/$defs/a" });
        if let Ok(schema) = Schema::compile(&cycle) {
            let _ = schema.check(&json!({}));
        }
    }

    #[test]
    fn of_many_values_one_reason_is_sought() {
        let schema = Schema::compile(&json!({ "items": { "type": "boolean" } })).unwrap();
        let reasons = |items: usize| {
            let reason = schema.check(&json!(vec!["x"; items])).unwrap_err();
            reason.matches("/").count()
        };
        assert_eq!((reasons(2), reasons(900), reasons(5_000)), (2, 3, 1));
    }

    #[test]
    fn counting_ends_at_the_limit() {
        let value = json!({ "a": [1, [], {}], "b": 2 });
        assert_eq!(count(&value, 100), 6);
        for most in 0..6 {
            assert!(count(&value, most) > most, "{most}");
        }
        assert_eq!(count(&value, 6), 6);
    }

    #[test]
    fn reasons_name_the_place_and_are_short() {
        let schema =
            Schema::compile(&json!({ "properties": { "a": { "type": "integer" } } })).unwrap();
        let reason = schema
            .check(&json!({ "a": "x".repeat(100_000) }))
            .unwrap_err();
        assert!(
            reason.starts_with("/a: ") && reason.len() < 2_000,
            "{}",
            reason.len()
        );
    }
}
