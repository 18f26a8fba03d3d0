//! Another server than Cofferdam: one on the official Rust SDK, which offers no listening for tasks, so
//! that they are looked at.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use axum::Router;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, CreateTaskResult,
    DetailedTask, GetTaskParams, GetTaskResult, ListToolsResult, PaginatedRequestParams,
    ServerCapabilities, ServerConfig, Task, TaskPayload, TaskStatus, Tool,
};
use rmcp::service::RequestContext;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::{Map, Value, json};
use tokio::net::TcpListener;

use crate::{Ends as _, run};

/// A server with the tools `echo`, and `job`, which becomes a task that ends when it is looked at the
/// third time.
#[derive(Clone, Default)]
struct Other {
    looks: Arc<AtomicU32>,
}

fn object(value: Value) -> Map<String, Value> {
    value.as_object().cloned().expect("an object")
}

fn task(status: TaskStatus) -> Task {
    let time = "2026-07-28T00:00:00Z";
    let mut task = Task::new("the-job", status, time, time).with_poll_interval_ms(100);
    task.ttl_ms = None;
    task
}

impl ServerHandler for Other {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().enable_tasks();
        ServerConfig::new(capabilities.build())
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let text = json!({"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]});
        let tools = vec![
            Tool::new("echo", "Answers with its text", object(text)),
            Tool::new("job", "Takes its time", object(json!({"type": "object"}))),
        ];
        Ok(ListToolsResult::with_all_items(tools))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        if request.name == "job" {
            let created = CreateTaskResult::new(task(TaskStatus::Working));
            return Ok(CallToolResponse::Task(created));
        }
        let text = request
            .arguments
            .and_then(|given| given["text"].as_str().map(str::to_owned));
        let content = ContentBlock::text(text.unwrap_or_default());
        Ok(CallToolResult::success(vec![content]).into())
    }

    async fn get_task(
        &self,
        _: GetTaskParams,
        _: RequestContext<RoleServer>,
    ) -> Result<GetTaskResult, ErrorData> {
        let looked = self.looks.fetch_add(1, Ordering::Relaxed) + 1;
        let payload = if looked < 3 {
            TaskPayload::Working
        } else {
            let result = CallToolResult::success(vec![ContentBlock::text("the job is done")]);
            let result = serde_json::to_value(result).expect("JSON");
            TaskPayload::Completed {
                result: object(result),
            }
        };
        Ok(GetTaskResult::new(DetailedTask::new(
            task(TaskStatus::Working),
            payload,
        )))
    }
}

/// Starts it; gives its address.
async fn start(other: &Other) -> String {
    let other = other.clone();
    let config = StreamableHttpServerConfig::default().with_legacy_session_mode(false);
    let sessions = Arc::new(NeverSessionManager::default());
    let service = StreamableHttpService::new(move || Ok(other.clone()), sessions, config);
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let router = Router::new().nest_service("/mcp", service);
    tokio::spawn(async move { axum::serve(listener, router).await });
    address.to_string()
}

#[tokio::test]
async fn its_tools_are_listed_and_called() {
    let url = start(&Other::default()).await;
    let listed = run(&["tools", &url]).await;
    let expected = "echo\n  Answers with its text\n    text (string)\n\njob\n  Takes its time\n";
    assert_eq!(listed.with(0), expected);
    let ended = run(&["call", &url, "echo", "-a", "text=there"]).await;
    assert_eq!(ended.with(0), "there\n");
}

#[tokio::test]
async fn a_task_that_it_does_not_tell_of_is_looked_at() {
    let other = Other::default();
    let url = start(&other).await;
    let ended = run(&["call", &url, "job"]).await;
    assert_eq!(ended.with(0), "the job is done\n");
    assert!(other.looks.load(Ordering::Relaxed) >= 3);
}
