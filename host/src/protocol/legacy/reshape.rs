//! Tools, results and questions as an older revision has them.

use super::Revision;
use crate::protocol::SERVER_INFO_KEY;
use bytes::Bytes;
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

/// A tool's description for a client of a revision.
#[must_use]
pub fn tool(definition: &RawValue, revision: Revision) -> Value {
    let mut tool: Value = serde_json::from_str(definition.get()).unwrap_or_default();
    let Some(members) = tool.as_object_mut() else {
        return tool;
    };
    // Until 2026-07-28 a structured result is an object.
    let is_object = |schema: &Value| schema.get("type") == Some(&json!("object"));
    let fits = members.get("outputSchema").is_some_and(is_object);
    if !fits || revision < Revision::V20250618 {
        members.remove("outputSchema");
    }
    if revision < Revision::V20250618
        && let Some(title) = members.remove("title")
    {
        let annotations = members.entry("annotations").or_insert_with(|| json!({}));
        annotations["title"] = title;
    }
    tool
}

/// The result of `tools/call` for a client of a revision.
#[must_use]
pub fn result(result: &RawValue, revision: Revision) -> Value {
    let mut result: Value = serde_json::from_str(result.get()).unwrap_or_default();
    let Some(members) = result.as_object_mut() else {
        return result;
    };
    strip(members);
    let knows = |structured: &Value| structured.is_object() && revision >= Revision::V20250618;
    let unknown = match members.get("structuredContent") {
        Some(structured) if !knows(structured) => members.remove("structuredContent"),
        _ => None,
    };
    if let Some(blocks) = members.get_mut("content").and_then(Value::as_array_mut) {
        if revision < Revision::V20250618 {
            blocks.iter_mut().for_each(unlink);
        }
        if let Some(structured) = unknown {
            tell(blocks, &structured);
        }
    }
    result
}

/// The result of another method for a client of a revision.
#[must_use]
pub fn other_result(result: &RawValue, revision: Revision) -> Value {
    let mut result: Value = serde_json::from_str(result.get()).unwrap_or_default();
    let Some(members) = result.as_object_mut() else {
        return result;
    };
    strip(members);
    let messages = members.get_mut("messages").and_then(Value::as_array_mut);
    if let Some(messages) = messages.filter(|_| revision < Revision::V20250618) {
        let contents = messages.iter_mut().filter_map(|it| it.get_mut("content"));
        contents.for_each(unlink);
    }
    result
}

/// Takes away what every result has since 2026-07-28.
fn strip(members: &mut Map<String, Value>) {
    for later in ["resultType", "ttlMs", "cacheScope"] {
        members.remove(later);
    }
    if let Some(meta) = members.get_mut("_meta").and_then(Value::as_object_mut) {
        meta.remove(SERVER_INFO_KEY);
        if meta.is_empty() {
            members.remove("_meta");
        }
    }
}

/// A value as text, for clients that know no such value, unless a block tells it already.
fn tell(blocks: &mut Vec<Value>, structured: &Value) {
    let told = |block: &Value| {
        let text = block["text"].as_str();
        text.is_some_and(|text| {
            serde_json::from_str::<Value>(text).is_ok_and(|it| it == *structured)
        })
    };
    if !blocks.iter().any(told) {
        blocks.push(json!({ "type": "text", "text": structured.to_string() }));
    }
}

/// A link as text, for clients that know no links.
fn unlink(block: &mut Value) {
    if block["type"] != "resource_link" {
        return;
    }
    let part = |member: &str| block[member].as_str().unwrap_or_default();
    let mut text = json!({
        "type": "text",
        "text": format!("{}: {}", part("name"), part("uri")),
    });
    if let Some(annotations) = block.get("annotations") {
        text["annotations"] = annotations.clone();
    }
    *block = text;
}

/// A request to a client: a question in the form of 2026-07-28, with an id of its own.
#[must_use]
pub fn ask(id: u64, question: &Value, revision: Revision) -> Bytes {
    #[derive(Serialize)]
    struct Request<'a> {
        jsonrpc: &'static str,
        id: u64,
        method: &'a str,
        #[serde(skip_serializing_if = "Map::is_empty")]
        params: Map<String, Value>,
    }
    let method = question["method"].as_str().unwrap_or_default();
    let mut params = question["params"].as_object().cloned().unwrap_or_default();
    if revision < Revision::V20251125 {
        params.remove("mode");
    } else if params.get("mode") == Some(&json!("url")) {
        // It names the visit in messages that come later; there are none.
        params.insert("elicitationId".to_owned(), json!(id.to_string()));
    }
    let request = Request {
        jsonrpc: "2.0",
        id,
        method,
        params,
    };
    serde_json::to_vec(&request).unwrap_or_default().into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::raw;

    #[test]
    fn an_older_result_has_nothing_that_came_later() {
        let link = json!({ "type": "resource_link", "uri": "file:///a", "name": "a" });
        let modern = raw(&json!({
            "resultType": "complete",
            "content": [link],
            "structuredContent": { "a": 1 },
            "_meta": { SERVER_INFO_KEY: {}, "own": 1 },
        }));
        let expected = json!({
            "content": [link],
            "structuredContent": { "a": 1 },
            "_meta": { "own": 1 },
        });
        assert_eq!(result(&modern, Revision::V20251125), expected);
        let text = |text: &str| json!({ "type": "text", "text": text });
        let expected = json!({
            "content": [text("a: file:///a"), text(r#"{"a":1}"#)],
            "_meta": { "own": 1 },
        });
        assert_eq!(result(&modern, Revision::V20250326), expected);
        let told = json!({ "content": [text("[1]")] });
        for content in [json!([]), json!([text("[1]")]), json!([text(" [ 1 ]")])] {
            let list = raw(&json!({ "content": content, "structuredContent": [1], "_meta": {} }));
            let older = result(&list, Revision::V20251125);
            assert_eq!(
                older["content"].as_array().map(Vec::len),
                Some(1),
                "{older}"
            );
            assert!(older.get("structuredContent").is_none());
        }
        let list = raw(&json!({ "content": [], "structuredContent": [1] }));
        assert_eq!(result(&list, Revision::V20251125), told);
    }

    #[test]
    fn an_older_prompt_has_text_for_a_link_and_no_hints() {
        let link = json!({ "type": "resource_link", "uri": "a:b", "name": "a" });
        let modern = raw(&json!({
            "resultType": "complete",
            "messages": [{ "role": "user", "content": link }],
            "ttlMs": 1,
            "cacheScope": "private",
            "_meta": { SERVER_INFO_KEY: {} },
        }));
        let messages =
            |content: Value| json!({ "messages": [{ "role": "user", "content": content }] });
        assert_eq!(other_result(&modern, Revision::V20250618), messages(link));
        let text = json!({ "type": "text", "text": "a: a:b" });
        assert_eq!(other_result(&modern, Revision::V20250326), messages(text));
    }

    #[test]
    fn an_older_tool_has_an_object_as_its_result_or_says_nothing_of_it() {
        let modern = |output| {
            raw(&json!({
                "name": "a", "title": "A",
                "inputSchema": { "type": "object" },
                "outputSchema": output,
            }))
        };
        let object = modern(json!({ "type": "object" }));
        assert_eq!(tool(&object, Revision::V20250618)["title"], "A");
        assert!(tool(&object, Revision::V20250618)["outputSchema"].is_object());
        let oldest = tool(&object, Revision::V20250326);
        assert_eq!(oldest["annotations"]["title"], "A");
        assert!(oldest.get("outputSchema").is_none() && oldest.get("title").is_none());
        let array = modern(json!({ "type": "array" }));
        assert!(
            tool(&array, Revision::V20251125)
                .get("outputSchema")
                .is_none()
        );
    }

    #[test]
    fn a_question_is_a_request() {
        let form = json!({
            "method": "elicitation/create",
            "params": { "mode": "form", "message": "?", "requestedSchema": {} },
        });
        let sent = |question: &Value, revision| -> Value {
            serde_json::from_slice(&ask(7, question, revision)).unwrap()
        };
        let newest = sent(&form, Revision::V20251125);
        assert_eq!(
            (&newest["id"], &newest["params"]["mode"]),
            (&json!(7), &json!("form"))
        );
        assert!(
            sent(&form, Revision::V20250618)["params"]
                .get("mode")
                .is_none()
        );
        let url = json!({ "method": "elicitation/create", "params": { "mode": "url" } });
        assert_eq!(
            sent(&url, Revision::V20251125)["params"]["elicitationId"],
            "7"
        );
        let roots = json!({ "method": "roots/list" });
        assert!(sent(&roots, Revision::V20250326).get("params").is_none());
    }
}
