//! What an inline call is answered with, and what comes before the answer.

use std::sync::Arc;

use cofferdam_tests::Answer;
use serde_json::{Value, json};

use crate::stage::Stage;

/// What clients see, in this order, and whether a call may become a task.
const TOOLS: [(&str, bool); 17] = [
    ("contents", false),
    ("add", false),
    ("misfit", false),
    ("strict", false),
    ("refuse", false),
    ("fault", true),
    ("crash", true),
    ("count", true),
    ("say", false),
    ("confirm", true),
    ("sequence", true),
    ("two_keys", true),
    ("nap", true),
    ("linger", true),
    ("random", true),
    ("clock", true),
    ("steps", true),
];

pub(crate) async fn the_tools_are_described_alike(stage: Arc<Stage>) {
    let list = stage.client().request("tools/list", json!({}));
    let answer = list.answer().await;
    let tools = answer.result()["tools"].as_array().expect("tools").clone();
    for (name, _) in TOOLS {
        let tool = tools.iter().find(|tool| tool["name"] == name);
        let tool = tool.unwrap_or_else(|| panic!("no {name}"));
        assert!(tool["description"].is_string(), "{tool}");
        assert_eq!(tool["inputSchema"]["type"], "object", "{tool}");
    }
    let contents = &tools[0];
    assert_eq!(contents["title"], "Contents");
    assert_eq!(contents["annotations"], json!({"readOnlyHint": true}));
    let add = &tools[1]["outputSchema"];
    assert_eq!(add["properties"]["sum"]["type"], "number", "{add}");
}

pub(crate) async fn a_result_holds_every_kind_of_content(stage: Arc<Stage>) {
    let result = stage.client().result("contents", json!({})).await;
    let hints = json!({
        "audience": ["user", "assistant"], "priority": 0.5, "lastModified": "2026-07-28T00:00:00Z",
    });
    assert_eq!(
        result["content"],
        json!([
            {"type": "text", "text": "text", "annotations": hints},
            {"type": "image", "data": "iVBORw==", "mimeType": "image/png"},
            {"type": "audio", "data": "UklGRgA=", "mimeType": "audio/wav"},
            {
                "type": "resource_link", "uri": "file:///report.txt", "name": "report", "title": "Report",
                "description": "A report", "mimeType": "text/plain", "size": 7,
            },
            {
                "type": "resource",
                "resource": {"uri": "test://text", "mimeType": "text/plain", "text": "text"},
            },
            {
                "type": "resource",
                "resource": {
                    "uri": "test://blob", "mimeType": "application/octet-stream", "blob": "AP8=",
                },
            },
        ])
    );
}

pub(crate) async fn structured_output_fits_its_schema_or_is_refused(stage: Arc<Stage>) {
    let client = stage.client();
    let result = client.result("add", json!({"a": 0.5, "b": -2})).await;
    assert_eq!(result["structuredContent"]["sum"], json!(-1.5));
    let answer = client.call("misfit", json!({})).await;
    let message = answer.message(200, -32603);
    assert!(message.contains("output schema: /count"), "{message}");
}

pub(crate) async fn arguments_that_do_not_fit_never_reach_the_tool(stage: Arc<Stage>) {
    let client = stage.client();
    let fits = json!({"word": "abc", "number": 7});
    assert_eq!(text(&client.result("strict", fits).await), "abc 7");
    for (wrong, why) in [
        (json!({"word": "abcdef", "number": 7}), "/word"),
        (json!({"word": "abc", "number": 11}), "/number"),
        (json!({"word": "abc", "number": "7"}), "/number"),
        (json!({"word": "abc"}), "number"),
        (json!({"word": "abc", "number": 7, "more": 1}), "more"),
    ] {
        let result = client.result("strict", wrong).await;
        assert_eq!(result["isError"], true, "{result}");
        let told = text(&result);
        assert!(
            told.starts_with("Invalid arguments:") && told.contains(why),
            "{told}"
        );
    }
}

pub(crate) async fn text_arrives_as_it_was(stage: Arc<Stage>) {
    for reason in [
        "",
        "größer \u{1f30a} \"quoted\" \\ / \n\t\r \u{1} \u{7f}",
        "\u{10ffff}\u{ffff}",
        &"long ".repeat(20_000),
    ] {
        let result = stage
            .client()
            .result("refuse", json!({"reason": reason}))
            .await;
        assert_eq!(text(&result), reason);
    }
}

pub(crate) async fn a_tool_error_is_a_result(stage: Arc<Stage>) {
    let result = stage
        .client()
        .result("refuse", json!({"reason": "no"}))
        .await;
    assert_eq!(
        (&result["isError"], text(&result)),
        (&json!(true), "no".into())
    );
}

pub(crate) async fn a_json_rpc_error_keeps_its_code_and_data(stage: Arc<Stage>) {
    for code in [42, -32602, -1] {
        let arguments = json!({"code": code, "message": "out of paper"});
        let answer = stage.client().call("fault", arguments).await;
        let error = &answer.response["error"];
        assert_eq!(
            error,
            &json!({"code": code, "message": "out of paper", "data": {"hint": "none"}})
        );
    }
}

pub(crate) async fn a_bug_ends_the_call_and_nothing_else(stage: Arc<Stage>) {
    let answer = stage.client().call("crash", json!({})).await;
    let message = answer.message(200, -32603);
    assert!(
        message.starts_with("The tool stopped unexpectedly"),
        "{message}"
    );
    a_tool_error_is_a_result(stage).await;
}

pub(crate) async fn progress_is_streamed(stage: Arc<Stage>) {
    let count = stage.client().tool("count", json!({"to": 3}));
    let answer = count.meta("progressToken", json!("t")).answer().await;
    assert_eq!(text(answer.result()), "counted to 3");
    let told = of(&answer, "notifications/progress");
    assert!(!told.is_empty());
    for note in told {
        let n = note["progress"].as_f64().expect("a number");
        assert_eq!(
            (&note["total"].as_f64(), &note["message"]),
            (&Some(3.0), &json!(format!("counted {n}")))
        );
    }
}

pub(crate) async fn log_lines_go_to_the_client_and_to_the_log(stage: Arc<Stage>) {
    for level in [
        "debug",
        "info",
        "notice",
        "warning",
        "error",
        "critical",
        "alert",
        "emergency",
    ] {
        let message = format!("a line at {level}");
        let say = json!({"level": level, "message": message});
        let call = stage.client().tool("say", say);
        let answer = call.meta("logLevel", json!("debug")).answer().await;
        assert_eq!(text(answer.result()), "said");
        let told = of(&answer, "notifications/message");
        let [note] = &told[..] else {
            panic!("{level}: {told:?}")
        };
        assert_eq!(note["level"], level);
        let line = stage.server.log().line(&["tool=\"say\"", &message]).await;
        assert!(line.contains("scenarios"), "{line}");
    }
}

/// The first block's text.
pub(crate) fn text(result: &Value) -> String {
    let text = result["content"][0]["text"].as_str();
    text.unwrap_or_else(|| panic!("no text: {result}"))
        .to_owned()
}

fn of(answer: &Answer, method: &str) -> Vec<Value> {
    let notifications = answer.notifications.iter();
    let wanted = notifications.filter(|note| note["method"] == method);
    wanted.map(|note| note["params"].clone()).collect()
}
