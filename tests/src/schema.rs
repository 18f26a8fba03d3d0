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
    /// The result of a `tools/call` that was answered at once.
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
const FILES: [(Kind, &str); 12] = [
    (Kind::Response, include_str!("../schemas/response.json")),
    (Kind::Error, include_str!("../schemas/error.json")),
    (Kind::Discover, include_str!("../schemas/discover.json")),
    (Kind::ToolList, include_str!("../schemas/tool-list.json")),
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
