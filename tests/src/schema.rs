//! The hand-written schemas of everything the server may send, compiled once.

use std::collections::HashMap;
use std::sync::LazyLock;

use jsonschema::{Registry, Validator};
use serde_json::Value;

/// A kind of message, each with a schema of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// The envelope of a result or an error.
    Response,
    /// A JSON-RPC error.
    Error,
    /// The result of `server/discover`.
    Discover,
    /// The result of `tools/list`.
    ToolList,
    /// The result of `prompts/list`.
    PromptList,
    /// The result of `prompts/get`: messages, or questions.
    PromptResult,
    /// The result of `resources/list`.
    ResourceList,
    /// The result of `resources/templates/list`.
    TemplateList,
    /// The result of `resources/read`: what there is, or questions.
    ReadResult,
    /// The result of `completion/complete`.
    Completion,
    /// The result of a `tools/call` that was answered at once: what the tool said, or its questions.
    ToolResult,
    /// The result of a `tools/call` that became a task.
    CreateTask,
    /// The result of `tasks/get`.
    GetTask,
    /// The result of `tasks/update` and `tasks/cancel`.
    Acknowledgement,
    /// A notification before the answer to a call.
    CallNotification,
    /// The first message of a subscription.
    ListenAcknowledgement,
    /// A notification of a subscription.
    ListenNotification,
    /// The result that ends a subscription.
    ListenResult,
}

/// The schemas, and the file that they share pieces of.
const FILES: [(Kind, &str); 18] = [
    (Kind::Response, include_str!("../schemas/response.json")),
    (Kind::Error, include_str!("../schemas/error.json")),
    (Kind::Discover, include_str!("../schemas/discover.json")),
    (Kind::ToolList, include_str!("../schemas/tool-list.json")),
    (
        Kind::PromptList,
        include_str!("../schemas/prompt-list.json"),
    ),
    (
        Kind::PromptResult,
        include_str!("../schemas/prompt-result.json"),
    ),
    (
        Kind::ResourceList,
        include_str!("../schemas/resource-list.json"),
    ),
    (
        Kind::TemplateList,
        include_str!("../schemas/template-list.json"),
    ),
    (
        Kind::ReadResult,
        include_str!("../schemas/read-result.json"),
    ),
    (Kind::Completion, include_str!("../schemas/completion.json")),
    (
        Kind::ToolResult,
        include_str!("../schemas/tool-result.json"),
    ),
    (
        Kind::CreateTask,
        include_str!("../schemas/create-task.json"),
    ),
    (Kind::GetTask, include_str!("../schemas/get-task.json")),
    (
        Kind::Acknowledgement,
        include_str!("../schemas/acknowledgement.json"),
    ),
    (
        Kind::CallNotification,
        include_str!("../schemas/call-notification.json"),
    ),
    (
        Kind::ListenAcknowledgement,
        include_str!("../schemas/listen-acknowledgement.json"),
    ),
    (
        Kind::ListenNotification,
        include_str!("../schemas/listen-notification.json"),
    ),
    (
        Kind::ListenResult,
        include_str!("../schemas/listen-result.json"),
    ),
];

static SCHEMAS: LazyLock<HashMap<Kind, Validator>> = LazyLock::new(|| {
    let read = |text: &str| -> Value { serde_json::from_str(text).expect("schemas are JSON") };
    let shared = [
        ("common.json", include_str!("../schemas/common.json")),
        ("error.json", include_str!("../schemas/error.json")),
    ];
    let registry = shared
        .into_iter()
        .fold(Registry::new(), |registry, (name, text)| {
            registry
                .add(format!("json-schema:///{name}"), read(text))
                .expect("a URI")
        })
        .prepare()
        .expect("references resolve");
    FILES
        .into_iter()
        .map(|(kind, text)| {
            let schema = read(text);
            let validator = jsonschema::options()
                .offline()
                .with_base_uri("json-schema:///")
                .with_registry(&registry)
                .build(&schema)
                .unwrap_or_else(|error| panic!("the schema of {kind:?}: {error}"));
            (kind, validator)
        })
        .collect()
});

/// Checks `value` against the schema of `kind`.
///
/// # Panics
/// If it does not fit; the message names each fault.
#[track_caller]
pub fn check(kind: Kind, value: &Value) {
    let faults: Vec<String> = SCHEMAS[&kind]
        .iter_errors(value)
        .map(|fault| format!("at {:?}: {fault}", fault.instance_path().as_str()))
        .collect();
    assert!(
        faults.is_empty(),
        "no {kind:?}: {}\n{value:#}",
        faults.join("\n")
    );
}

/// True if `value` fits the schema of `kind`.
pub fn fits(kind: Kind, value: &Value) -> bool {
    SCHEMAS[&kind].is_valid(value)
}

#[cfg(test)]
mod tests {
    //! The schemas must be able to say no: each is given a good message, and the same with a fault.

    use serde_json::json;

    use super::*;

    const ID: &str = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
    const TIME: &str = "2026-07-28T01:02:03.004Z";

    /// A task in this state, with what `tasks/get` adds, and these members.
    fn got(status: &str, members: Value) -> Value {
        let mut task = json!({
            "resultType": "complete", "taskId": ID, "status": status, "createdAt": TIME,
            "lastUpdatedAt": TIME, "ttlMs": 600_000, "pollIntervalMs": 1000,
            "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "cofferdam", "version": "0"}},
        });
        for (name, value) in members.as_object().expect("an object") {
            task[name] = value.clone();
        }
        task
    }

    fn form() -> Value {
        json!({"method": "elicitation/create", "params": {
            "mode": "form", "message": "Sure?",
            "requestedSchema": {"type": "object", "properties": {"sure": {"type": "boolean"}}},
        }})
    }

    #[test]
    fn a_task_has_what_its_state_carries_and_nothing_more() {
        let result = json!({"resultType": "complete", "content": []});
        let error = json!({"code": -32603, "message": "x"});
        let good = [
            got("working", json!({})),
            got("working", json!({"statusMessage": "1/2", "ttlMs": null})),
            got("cancelled", json!({})),
            got("completed", json!({"result": result})),
            got("failed", json!({"error": error, "statusMessage": "x"})),
            got("input_required", json!({"inputRequests": {"sure": form()}})),
        ];
        for task in good {
            check(Kind::GetTask, &task);
        }
        let bad = [
            got("working", json!({"result": result})),
            got("working", json!({"inputRequests": {"sure": form()}})),
            got("working", json!({"extra": 1})),
            got("working", json!({"requestState": "x"})),
            got("working", json!({"resultType": "task"})),
            got("working", json!({"taskId": "short"})),
            got("working", json!({"createdAt": "2026-07-28"})),
            got("working", json!({"ttlMs": 0})),
            got("working", json!({"pollIntervalMs": 1.5})),
            got("working", json!({"_meta": {}})),
            got("done", json!({})),
            got("completed", json!({})),
            got("completed", json!({"result": {"content": []}})),
            got("completed", json!({"result": result, "error": error})),
            got("failed", json!({"error": error})),
            got(
                "failed",
                json!({"statusMessage": "x", "error": {"code": -32002, "message": "x"}}),
            ),
            got("input_required", json!({})),
            got("input_required", json!({"inputRequests": {}})),
            got(
                "input_required",
                json!({"inputRequests": {"sure": {"method": "elicitation/create"}}}),
            ),
        ];
        for task in bad {
            assert!(!fits(Kind::GetTask, &task), "{task:#}");
        }
    }

    #[test]
    fn a_created_task_is_bare() {
        check(
            Kind::CreateTask,
            &got("working", json!({"resultType": "task"})),
        );
        for members in [
            json!({"resultType": "complete"}),
            json!({"resultType": "task", "result": {}}),
            json!({"resultType": "task", "inputRequests": {}}),
            json!({"resultType": "task", "task": {}}),
            json!({"resultType": "task", "ttl": 5}),
        ] {
            assert!(
                !fits(Kind::CreateTask, &got("working", members.clone())),
                "{members}"
            );
        }
    }

    #[test]
    fn an_acknowledgement_says_nothing_of_the_task() {
        let meta =
            json!({"io.modelcontextprotocol/serverInfo": {"name": "cofferdam", "version": "0"}});
        check(
            Kind::Acknowledgement,
            &json!({"resultType": "complete", "_meta": meta}),
        );
        assert!(!fits(Kind::Acknowledgement, &json!({"_meta": meta})));
        assert!(!fits(
            Kind::Acknowledgement,
            &json!({"resultType": "complete", "_meta": meta, "taskId": ID})
        ));
    }

    #[test]
    fn notifications_belong_where_they_are() {
        let tag = json!({"io.modelcontextprotocol/subscriptionId": 7});
        let mut state = got("working", json!({"_meta": tag}));
        state
            .as_object_mut()
            .expect("an object")
            .shift_remove("resultType");
        let note = |method: &str, params: &Value| json!({"jsonrpc": "2.0", "method": method, "params": params});
        check(
            Kind::ListenNotification,
            &note("notifications/tasks", &state),
        );
        state["resultType"] = json!("complete");
        assert!(!fits(
            Kind::ListenNotification,
            &note("notifications/tasks", &state)
        ));

        let progress = note(
            "notifications/progress",
            &json!({"progressToken": 1, "progress": 0.5}),
        );
        check(Kind::CallNotification, &progress);
        assert!(!fits(Kind::ListenNotification, &progress));
        let line = note(
            "notifications/message",
            &json!({"level": "info", "data": {}}),
        );
        check(Kind::CallNotification, &line);
        assert!(!fits(Kind::ListenNotification, &line));
        assert!(!fits(
            Kind::CallNotification,
            &note("notifications/tasks", &state)
        ));
    }

    #[test]
    fn errors_have_known_codes_and_their_data() {
        let capabilities = json!({"requiredCapabilities": {"sampling": {}}});
        check(
            Kind::Error,
            &json!({"code": -32021, "message": "x", "data": capabilities}),
        );
        check(
            Kind::Error,
            &json!({"code": 7, "message": "x", "data": [1]}),
        );
        for error in [
            json!({"code": -32021, "message": "x"}),
            json!({"code": -32021, "message": "x", "data": {"requiredCapabilities": ["sampling"]}}),
            json!({"code": -32022, "message": "x", "data": {"supported": []}}),
            json!({"code": -32002, "message": "x"}),
            json!({"code": -32000, "message": "x"}),
            json!({"code": -32603, "message": ""}),
        ] {
            assert!(!fits(Kind::Error, &error), "{error}");
        }
    }
}
