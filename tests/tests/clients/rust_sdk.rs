//! The official Rust SDK, in the lifecycle of the modern revision.

use std::time::Duration;

use cofferdam_tests::{Options, Server, patient};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CancelTaskParams, ClientCapabilities, ClientConfig,
    GetTaskParams, Implementation, ProtocolVersion, ReadResourceRequestParams, ServerNotification,
    SubscriptionFilter, TaskPayload, UpdateTaskParams,
};
use rmcp::service::{ClientLifecycleMode, ClientServiceExt, RunningService};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::{RoleClient, ServiceError};
use serde_json::{Value, json};
use tokio_rustls::rustls::crypto::ring;

type Client = RunningService<RoleClient, ClientConfig>;

async fn connect(server: &Server) -> Client {
    let config = StreamableHttpClientTransportConfig::with_uri(server.url());
    let capabilities = ClientCapabilities::builder()
        .enable_tasks()
        .enable_elicitation()
        .build();
    let info = ClientConfig::new(capabilities, Implementation::new("cofferdam-tests", "0"));
    let lifecycle = ClientLifecycleMode::Discover {
        preferred_versions: vec![ProtocolVersion::V_2026_07_28],
    };
    // In this workspace its HTTP client comes without one. Another test may have installed it.
    let _ = ring::default_provider().install_default();
    let transport = StreamableHttpClientTransport::from_config(config);
    let connected = info.serve_with_lifecycle(transport, lifecycle);
    patient("the Rust SDK to connect", connected)
        .await
        .expect("a connection")
}

fn call(tool: &'static str, arguments: Value) -> CallToolRequestParams {
    let Value::Object(arguments) = arguments else {
        panic!("arguments are an object")
    };
    CallToolRequestParams::new(tool).with_arguments(arguments)
}

/// Calls a tool that becomes a task; returns the task's id.
async fn task(client: &Client, tool: &'static str, arguments: Value) -> String {
    match client.call_tool_once(call(tool, arguments)).await {
        Ok(CallToolResponse::Task(created)) => created.task.task_id,
        other => panic!("{tool} should have become a task, but: {other:?}"),
    }
}

/// Polls until the task shows something that `wanted` takes.
async fn until<T>(client: &Client, id: &str, wanted: impl Fn(TaskPayload) -> Option<T>) -> T {
    patient("the task", async {
        loop {
            let state = client
                .get_task(GetTaskParams::new(id))
                .await
                .expect("the task is there");
            if let Some(found) = wanted(state.task.payload) {
                return found;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await
}

fn completed(payload: TaskPayload) -> Option<Value> {
    match payload {
        TaskPayload::Completed { result } => Some(Value::Object(result)),
        TaskPayload::Working | TaskPayload::InputRequired { .. } => None,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn the_rust_sdk_calls_polls_answers_and_cancels() {
    let server = Server::start(Options::guest("conformance")).await;
    let client = connect(&server).await;

    let tools = client.list_all_tools().await.expect("a list");
    assert!(tools.iter().any(|tool| tool.name == "greet"));
    let answer = client
        .call_tool_once(call("greet", json!({"name": "Ada"})))
        .await;
    let Ok(CallToolResponse::Complete(result)) = answer else {
        panic!("{answer:?}")
    };
    let result = serde_json::to_value(result).expect("JSON");
    assert_eq!(result["content"][0]["text"], "Hello, Ada!");

    let id = task(
        &client,
        "slow_compute",
        json!({"seconds": 0.2, "label": "rust"}),
    )
    .await;
    let result = until(&client, &id, completed).await;
    assert!(
        !result["content"].as_array().expect("content").is_empty(),
        "{result}"
    );

    let id = task(&client, "confirm_delete", json!({"filename": "a.txt"})).await;
    let questions = until(&client, &id, |payload| match payload {
        TaskPayload::InputRequired { input_requests } => Some(input_requests),
        _ => None,
    })
    .await;
    let answers = questions
        .into_keys()
        .map(|key| {
            (
                key,
                json!({"action": "accept", "content": {"confirm": true}}),
            )
        })
        .collect();
    client
        .update_task(UpdateTaskParams::new(&id, answers))
        .await
        .expect("an acknowledgement");
    until(&client, &id, completed).await;

    let id = task(
        &client,
        "slow_compute",
        json!({"seconds": 60, "label": "long"}),
    )
    .await;
    client
        .cancel_task(CancelTaskParams::new(&id))
        .await
        .expect("an acknowledgement");
    until(&client, &id, |payload| {
        matches!(payload, TaskPayload::Cancelled).then_some(())
    })
    .await;

    let unknown = client.get_task(GetTaskParams::new("unknown")).await;
    let Err(ServiceError::McpError(error)) = unknown else {
        panic!("{unknown:?}")
    };
    assert_eq!(error.code.0, -32602);
    client.cancel().await.expect("the client stops");
}

#[tokio::test]
async fn the_rust_sdk_lists_gets_reads_completes_and_listens() {
    let server = Server::start(Options::guest("offers")).await;
    let client = connect(&server).await;
    let prompts = client.list_all_prompts().await.expect("a list");
    assert_eq!(prompts[0].name, "greeting");
    let completed = client.complete_prompt_simple("greeting", "name", "A").await;
    assert_eq!(completed.expect("values"), ["Ada", "Adele"]);
    let resources = client.list_all_resource_templates().await.expect("a list");
    assert_eq!(resources.len(), 2);
    let read = client
        .read_resource(ReadResourceRequestParams::new("house://rooms/7"))
        .await
        .expect("contents");
    assert!(format!("{read:?}").contains("Room 7"), "{read:?}");
    let missing = client
        .read_resource(ReadResourceRequestParams::new("house://cellar"))
        .await;
    let Err(ServiceError::McpError(error)) = missing else {
        panic!("{missing:?}")
    };
    assert_eq!(error.code.0, -32602);

    let wanted = SubscriptionFilter::builder()
        .prompts_list_changed()
        .resource_subscriptions(["house://rules".to_owned()])
        .build();
    let listening = client.listen(wanted.clone()).await;
    let mut subscription = listening.expect("a subscription");
    assert_eq!(*subscription.acknowledged(), wanted);
    let told = call("touch", json!({"uri": "house://rules"}));
    client.call_tool(told).await.expect("a result");
    let heard = patient("a change", subscription.next()).await;
    let Ok(Some(ServerNotification::ResourceUpdatedNotification(updated))) = heard else {
        panic!("{heard:?}")
    };
    assert_eq!(updated.params.uri, "house://rules");
    let told = call("relist", json!({"what": "prompts"}));
    client.call_tool(told).await.expect("a result");
    let heard = patient("a change", subscription.next()).await;
    assert!(
        matches!(
            heard,
            Ok(Some(ServerNotification::PromptListChangedNotification(_)))
        ),
        "{heard:?}"
    );
    client.cancel().await.expect("a close");
}
