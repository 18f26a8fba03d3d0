//! JSON Schemas of Rust types, as MCP clients and models read them best.
//!
//! JSON Schema 2020-12 with everything inlined that can be; without the `$schema` and `title` that
//! say nothing; numbers with bounds in place of Rust's own formats.

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};
use serde_json::{Map, Value, json};

/// The schema of a tool's arguments: an object, whatever `T` is.
#[must_use]
pub fn of_input<T: JsonSchema>() -> Value {
    let mut schema = generate::<T>(SchemaSettings::draft2020_12().for_deserialize());
    visit(&mut schema, &mut plain_header_parameter);
    if let Value::Object(root) = &mut schema {
        root.entry("type").or_insert_with(|| json!("object"));
    }
    schema
}

/// The schema of what `T` serializes to.
#[must_use]
pub fn of_output<T: JsonSchema>() -> Value {
    generate::<T>(SchemaSettings::draft2020_12().for_serialize())
}

/// The schema of a form in MCP's restricted dialect: a flat object of strings, numbers, booleans
/// and enumerations. An `Option` is a field that may be left out; an enumeration whose variants
/// have documentation shows it as their titles.
///
/// A type that does not fit the dialect (nested objects) gives a schema that the server refuses.
#[must_use]
pub fn of_form<T: JsonSchema>() -> Value {
    let mut schema = generate::<T>(SchemaSettings::draft2020_12().for_deserialize());
    let mut form = Map::from_iter([("type".to_owned(), json!("object"))]);
    let mut properties = schema
        .get_mut("properties")
        .map(Value::take)
        .unwrap_or_else(|| json!({}));
    if let Value::Object(properties) = &mut properties {
        properties.values_mut().for_each(form_field);
    }
    form.insert("properties".to_owned(), properties);
    if let Some(required) = schema.get_mut("required") {
        form.insert("required".to_owned(), required.take());
    }
    Value::Object(form)
}

fn generate<T: JsonSchema>(mut settings: SchemaSettings) -> Value {
    settings.inline_subschemas = true;
    settings.meta_schema = None;
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    // schemars titles a root with the name of its type; a title that the author wrote stays.
    if schema.get("title").and_then(Value::as_str) == Some(&*T::schema_name()) {
        schema.remove("title");
    }
    let mut schema = Schema::to_value(schema);
    visit(&mut schema, &mut number_bounds);
    schema
}

/// Applies `change` to every object of a schema. Objects that are values (a default, a constant)
/// are visited too; the changes here look for keywords that such values do not have.
fn visit(value: &mut Value, change: &mut impl FnMut(&mut Map<String, Value>)) {
    match value {
        Value::Object(object) => {
            change(object);
            object.values_mut().for_each(|value| visit(value, change));
        }
        Value::Array(values) => values.iter_mut().for_each(|value| visit(value, change)),
        _ => {}
    }
}

/// Rust's number formats are no formats of JSON Schema; the bounds of the 32-bit ones are kept.
fn number_bounds(schema: &mut Map<String, Value>) {
    let Some(format) = schema.get("format").and_then(Value::as_str) else {
        return;
    };
    let bounds = match format {
        "int32" => Some((i64::from(i32::MIN), i64::from(i32::MAX))),
        "uint32" => Some((0, i64::from(u32::MAX))),
        "float" | "double" | "int" | "uint" | "int8" | "uint8" | "int16" | "uint16" | "int64"
        | "uint64" | "int128" | "uint128" => None,
        _ => return,
    };
    schema.remove("format");
    if let Some((minimum, maximum)) = bounds {
        schema.entry("minimum").or_insert(json!(minimum));
        schema.entry("maximum").or_insert(json!(maximum));
    }
}

/// A parameter that clients mirror into a header has exactly one type.
fn plain_header_parameter(schema: &mut Map<String, Value>) {
    if schema.contains_key("x-mcp-header") {
        without_null(schema);
    }
}

/// `T` in place of `T or null`.
fn without_null(schema: &mut Map<String, Value>) {
    if let Some(Value::Array(alternatives)) = schema.get_mut("anyOf") {
        alternatives.retain(|schema| schema.get("type") != Some(&json!("null")));
        if let [Value::Object(only)] = alternatives.as_mut_slice() {
            let only = std::mem::take(only);
            schema.remove("anyOf");
            for (keyword, value) in only {
                schema.entry(keyword).or_insert(value);
            }
        }
    }
    if let Some(Value::Array(values)) = schema.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }
    if let Some(kind) = schema.get_mut("type")
        && let Value::Array(types) = kind
    {
        types.retain(|name| name != "null");
        if let [only] = types.as_mut_slice() {
            *kind = only.take();
        }
    }
    if schema.get("default") == Some(&Value::Null) {
        schema.remove("default");
    }
}

/// Brings one field of a form into MCP's dialect.
fn form_field(schema: &mut Value) {
    let Value::Object(field) = schema else { return };
    without_null(field);
    titled_choices(field, "oneOf");
    if let Some(Value::Object(items)) = field.get_mut("items") {
        titled_choices(items, "anyOf");
    }
}

/// An enumeration with documented variants, as `const` and `title` under the keyword that MCP uses.
fn titled_choices(field: &mut Map<String, Value>, keyword: &str) {
    let Some(Value::Array(alternatives)) = field.get("oneOf") else {
        return;
    };
    let mut choices = Vec::new();
    for alternative in alternatives {
        if let Some(value) = alternative.get("const") {
            let title = alternative
                .get("title")
                .or_else(|| alternative.get("description"))
                .unwrap_or(value);
            choices.push(json!({ "const": value, "title": title }));
        } else if let Some(Value::Array(values)) = alternative.get("enum") {
            choices.extend(
                values
                    .iter()
                    .map(|value| json!({ "const": value, "title": value })),
            );
        } else {
            return;
        }
    }
    field.remove("oneOf");
    if keyword == "oneOf" {
        field.entry("type").or_insert_with(|| json!("string"));
    } else {
        field.remove("type");
    }
    field.insert(keyword.to_owned(), Value::Array(choices));
}

#[cfg(test)]
#[allow(dead_code)]
mod tests {
    use super::*;
    use serde::{Deserialize, Serialize};

    #[derive(Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    struct Nothing {}

    #[test]
    fn no_arguments_are_an_empty_closed_object() {
        assert_eq!(
            of_input::<Nothing>(),
            json!({ "type": "object", "additionalProperties": false })
        );
    }

    #[derive(Deserialize, JsonSchema)]
    struct Inner {
        depth: i32,
    }

    #[derive(Deserialize, JsonSchema)]
    struct Outer {
        /// How many.
        count: u64,
        inner: Inner,
        #[schemars(extend("x-mcp-header" = "Region"))]
        region: Option<String>,
        #[serde(default = "three")]
        tries: u8,
    }
    fn three() -> u8 {
        3
    }

    #[test]
    fn types_are_inlined_and_numbers_have_bounds() {
        assert_eq!(
            of_input::<Outer>(),
            json!({
                "type": "object",
                "properties": {
                    "count": { "description": "How many.", "type": "integer", "minimum": 0 },
                    "inner": {
                        "type": "object",
                        "properties": { "depth": { "type": "integer", "minimum": -2147483648_i64, "maximum": 2147483647 } },
                        "required": ["depth"]
                    },
                    "region": { "type": "string", "x-mcp-header": "Region" },
                    "tries": { "type": "integer", "minimum": 0, "maximum": 255, "default": 3 }
                },
                "required": ["count", "inner"]
            })
        );
    }

    #[derive(Deserialize, JsonSchema)]
    enum Either {
        Left(u64),
        Right { text: String },
    }

    #[test]
    fn the_root_is_an_object_whatever_the_type() {
        assert_eq!(of_input::<Either>()["type"], "object");
    }

    #[derive(Serialize, JsonSchema)]
    struct Optional {
        #[serde(skip_serializing_if = "Option::is_none")]
        note: Option<String>,
    }

    #[test]
    fn an_output_may_lack_what_is_skipped() {
        let schema = of_output::<Optional>();
        assert_eq!(schema["type"], "object");
        assert_eq!(schema.get("required"), None);
    }

    #[derive(Deserialize, Serialize, JsonSchema)]
    #[serde(rename_all = "lowercase")]
    enum Plain {
        Red,
        Blue,
    }

    #[derive(Deserialize, JsonSchema)]
    #[serde(rename_all = "lowercase")]
    enum Documented {
        /// As the sea
        Blue,
        /// As blood
        Red,
    }

    #[derive(Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    struct Form {
        /// Your name
        name: String,
        nick: Option<String>,
        age: Option<u8>,
        plain: Plain,
        other: Option<Plain>,
        documented: Documented,
        several: Vec<Documented>,
    }

    #[test]
    fn a_form_is_flat_and_without_null() {
        let titled = json!([{ "const": "blue", "title": "As the sea" }, { "const": "red", "title": "As blood" }]);
        assert_eq!(
            of_form::<Form>(),
            json!({
                "type": "object",
                "properties": {
                    "name": { "type": "string", "description": "Your name" },
                    "nick": { "type": "string" },
                    "age": { "type": "integer", "minimum": 0, "maximum": 255 },
                    "plain": { "type": "string", "enum": ["red", "blue"] },
                    "other": { "type": "string", "enum": ["red", "blue"] },
                    "documented": { "type": "string", "oneOf": titled },
                    "several": { "type": "array", "items": { "anyOf": titled } }
                },
                "required": ["name", "plain", "documented", "several"]
            })
        );
    }
}
