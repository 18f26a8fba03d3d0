//! What is told of a component, for people.

use super::{Report, Tool};
use crate::commands::clean;
use crate::commands::layout::{beginning, size, wrapped};
use serde_json::Value;
use std::fmt::Write as _;

/// Values of an enumeration that are shown; of more, the first of them.
const VALUES: usize = 8;
/// Steps into a type that are shown.
const STEPS: usize = 3;

pub(super) fn text(report: &Report) -> String {
    let mut lines = vec![beginning(&clean(&report.file), 80)];
    let mut line = |name: &str, text: String| lines.push(format!("  {name:<11} {text}"));
    line("digest", report.digest.clone());
    line("size", size(report.bytes));
    if let Some(compiled) = &report.compiled {
        let native = size(compiled.native_bytes);
        line(
            "compiled",
            format!("in {:.2} s, to {native}", compiled.seconds),
        );
    }
    line(
        "signed by",
        match &report.signed_by {
            None => "nobody: no signature lies beside it".to_owned(),
            Some(key) => format!("{} (not checked)", clean(key)),
        },
    );
    if let Some(reason) = &report.refused {
        lines.extend([String::new(), "A server would refuse it:".to_owned()]);
        lines.extend(wrapped(&clean(reason), 2));
        if report.imports.is_empty() {
            return joined(&lines);
        }
    } else {
        line(
            "replay",
            match report.replays {
                "always" => "its tasks go on after a restart",
                _ => "its tasks go on after a restart; not with directories or sockets",
            }
            .to_owned(),
        );
    }
    for tool in &report.tools {
        lines.push(String::new());
        lines.extend(of_tool(tool));
    }
    for prompt in &report.prompts {
        lines.push(String::new());
        lines.extend(of_prompt(prompt));
    }
    let resources = report.resources.iter().map(|it| ("RESOURCE", "uri", it));
    let templates = report.resource_templates.iter();
    let templates = templates.map(|it| ("RESOURCES", "uriTemplate", it));
    for (what, address, it) in resources.chain(templates) {
        let address = clean(it[address].as_str().unwrap_or_default());
        lines.extend([String::new(), format!("{what} {}", beginning(&address, 68))]);
        lines.extend(said(it));
        if let Some(kind) = it["mimeType"].as_str() {
            lines.extend(named("holds", &clean(kind)));
        }
    }
    lines.extend([String::new(), "IMPORTS".to_owned()]);
    for import in &report.imports {
        let from = match import.from {
            "provided" => "",
            "granted" => "a grant",
            "refused" => "refuses, whatever is granted",
            _ => "NOTHING PROVIDES IT",
        };
        lines.push(format!(
            "  {:<46} {from}",
            beginning(&clean(&import.name), 46)
        ));
    }
    lines.extend([String::new(), "GRANTS".to_owned()]);
    if report.grants.is_empty() {
        lines.push("  It could use none.".to_owned());
    }
    for (key, grant) in &report.grants {
        let need = match grant.needed {
            true => "needed: without it, it does not serve",
            false => "if it is to have any",
        };
        lines.push(format!("  {key:<28} {need}"));
        lines.extend(example(key).lines().map(|line| format!("    {line}")));
    }
    joined(&lines)
}

fn joined(lines: &[String]) -> String {
    let mut text = String::new();
    for line in lines {
        let _ = writeln!(text, "{}", line.trim_end());
    }
    text
}

/// What an operator would write.
fn example(key: &str) -> &'static str {
    match key {
        "tools.grants.http" => "[tools.grants.http]\nhosts = [\"api.example.com\"]",
        "tools.grants.env" => "[tools.grants.env]\nNAME = \"value\"",
        "tools.grants.directories" => {
            "[[tools.grants.directories]]\nhost = \"/srv/data\"\nguest = \"/data\""
        }
        "tools.grants.sockets" => "[tools.grants.sockets]\nhosts = [\"db.example.com:5432\"]",
        _ => "",
    }
}

fn of_tool(
    Tool {
        task_support,
        definition,
    }: &Tool,
) -> Vec<String> {
    let member = |name: &str| definition[name].as_str().map(clean);
    let name = member("name").unwrap_or_default();
    let tasks = match *task_support {
        "none" => "never a task",
        "required" => "always a task",
        _ => "may be a task",
    };
    let mut lines = vec![format!("TOOL {}  ({tasks})", beginning(&name, 56))];
    lines.extend(said(definition));
    for (name, schema) in [("arguments", "inputSchema"), ("result", "outputSchema")] {
        let schema = &definition[schema];
        if !schema.is_null() {
            lines.extend(named(name, &clean(&properties(schema))));
        }
    }
    let hints = definition["annotations"].as_object().into_iter().flatten();
    let hints: Vec<_> = hints.map(|(name, is)| format!("{name}: {is}")).collect();
    if !hints.is_empty() {
        lines.extend(named("hints", &hints.join(", ")));
    }
    lines
}

/// What is said of something, for people.
fn said(definition: &Value) -> Vec<String> {
    let texts = ["title", "description"].into_iter();
    let texts = texts.filter_map(|member| definition[member].as_str().map(clean));
    // Their line ends are others than the terminal's.
    texts
        .flat_map(|text| wrapped(&text.replace('\u{fffd}', " "), 2))
        .collect()
}

fn of_prompt(prompt: &Value) -> Vec<String> {
    let name = clean(prompt["name"].as_str().unwrap_or_default());
    let mut lines = vec![format!("PROMPT {}", beginning(&name, 68))];
    lines.extend(said(prompt));
    let arguments = prompt["arguments"].as_array().into_iter().flatten();
    let arguments: Vec<_> = arguments
        .map(|argument| {
            let mark = if argument["required"] == true {
                ""
            } else {
                "?"
            };
            format!("{}{mark}", argument["name"].as_str().unwrap_or_default())
        })
        .collect();
    if !arguments.is_empty() {
        lines.extend(named("arguments", &clean(&arguments.join(", "))));
    }
    lines
}

/// A text beside its name.
fn named(name: &str, text: &str) -> Vec<String> {
    let mut lines = wrapped(text, 14);
    if let Some(first) = lines.first_mut() {
        *first = format!("  {name:<11} {}", first.trim_start());
    }
    lines
}

/// A schema of an object in short: its members and their types; those that may be left out with a `?`.
fn properties(root: &Value) -> String {
    let required = root["required"].as_array();
    let is_required =
        |name: &str| required.is_some_and(|all| all.iter().any(|it| it.as_str() == Some(name)));
    let members = root["properties"].as_object().into_iter().flatten();
    let members: Vec<_> = members
        .map(|(name, schema)| {
            let mark = if is_required(name) { "" } else { "?" };
            format!("{name}{mark}: {}", kind(schema, root, STEPS))
        })
        .collect();
    match members.is_empty() {
        true => type_name(root),
        false => members.join(", "),
    }
}

/// A type in short, with so many steps into what it is made of: what one leads to may lead back.
fn kind(schema: &Value, root: &Value, steps: usize) -> String {
    let Some(steps) = steps.checked_sub(1) else {
        return "any".to_owned();
    };
    if let Some(target) = schema["$ref"].as_str().and_then(|it| it.strip_prefix('#')) {
        return kind(root.pointer(target).unwrap_or(&Value::Null), root, steps);
    }
    if let Some(value) = schema.get("const") {
        return value.to_string();
    }
    let (values, show): (_, &dyn Fn(&Value) -> String) =
        match (&schema["enum"], &schema["oneOf"], &schema["anyOf"]) {
            (Value::Array(values), ..) => (values, &Value::to_string),
            (_, Value::Array(kinds), _) | (.., Value::Array(kinds)) => {
                (kinds, &|it| kind(it, root, steps))
            }
            _ => return type_name(schema),
        };
    let shown: Vec<_> = values.iter().take(VALUES).map(show).collect();
    let more = if values.len() > VALUES { " | …" } else { "" };
    shown.join(" | ") + more
}

fn type_name(schema: &Value) -> String {
    match &schema["type"] {
        Value::String(kind) if kind == "array" && schema["items"].is_object() => {
            let items = &schema["items"];
            format!("{} list", items["type"].as_str().unwrap_or("any"))
        }
        Value::String(kind) => kind.clone(),
        Value::Array(kinds) => {
            let kinds = kinds.iter().filter_map(Value::as_str);
            kinds.collect::<Vec<_>>().join(" | ")
        }
        _ => "any".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_schema_is_told_in_short() {
        let schema = json!({
            "type": "object",
            "required": ["a"],
            "properties": {
                "a": {"type": "string"},
                "b": {"type": ["integer", "null"]},
                "c": {"$ref": "#/$defs/c"},
                "d": {"type": "array", "items": {"type": "number"}},
                "e": {"oneOf": [{"const": 1}, {"enum": ["x", "y"]}]},
                "f": {"$ref": "#/$defs/f"},
                "g": {"enum": (0..9).collect::<Vec<_>>()},
                "h": true,
            },
            "$defs": {"c": {"enum": ["x", null]}, "f": {"$ref": "#/$defs/f"}},
        });
        assert_eq!(
            properties(&schema),
            "a: string, b?: integer | null, c?: \"x\" | null, d?: number list, \
             e?: 1 | \"x\" | \"y\", f?: any, g?: 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 | …, h?: any"
        );
        assert_eq!(properties(&json!({"type": "object"})), "object");
    }
}
