//! Errors, and what is refused before JSON-RPC begins.

use cofferdam_tests::{Declares, Options, Request, Server, sql};
use serde_json::json;

use crate::{shape, shape_of, shape_of_response};

#[tokio::test]
async fn of_http() {
    let server = Server::start(Options::probe().set("server.max-body-bytes", 1024)).await;
    let call = server.client().request("server/discover", json!({}));
    let refused = async |name: &str, header: &str, value: &str| {
        shape_of_response(name, call.clone().header(header, value).send().await).await;
    };
    refused("http-403-origin", "Origin", "http://evil.example.com").await;
    refused("http-403-host", "Host", "evil.example.com").await;
    refused("http-406", "Accept", "text/html").await;
    refused("http-415", "Content-Type", "text/plain").await;
    shape_of_response("http-413", call.clone().send_body(" ".repeat(1025)).await).await;
    let get = Request::new("GET", "/mcp").send(server.address()).await;
    shape_of_response("http-405", get).await;
    let other = Request::new("POST", "/other").send(server.address()).await;
    shape_of_response("http-404", other).await;
}

#[tokio::test]
async fn of_messages() {
    let server = Server::start(Options::probe()).await;
    let call = server.client().request("server/discover", json!({}));
    for (name, body) in [
        ("parse-error", "nonsense".to_owned()),
        ("parse-error-too-deep", "[".repeat(65)),
        ("invalid-request-batch", "[]".to_owned()),
        (
            "invalid-request-id",
            r#"{"jsonrpc":"2.0","id":1.5,"method":"x"}"#.to_owned(),
        ),
        (
            "invalid-request-method",
            r#"{"jsonrpc":"2.0","id":1}"#.to_owned(),
        ),
    ] {
        shape_of_response(name, call.clone().send_body(body).await).await;
    }
}

#[tokio::test]
async fn of_requests() {
    let server = Server::start(Options::probe()).await;
    let client = server.client();
    let call = client.request("server/discover", json!({}));
    shape_of(
        "metadata-missing",
        &call.clone().param("_meta", json!({})).answer().await,
    );
    shape_of(
        "metadata-log-level",
        &call.clone().meta("logLevel", json!("loud")).answer().await,
    );
    shape_of(
        "header-missing",
        &call.clone().without("Mcp-Method").answer().await,
    );
    shape_of(
        "header-differs",
        &call
            .clone()
            .header("Mcp-Method", "tools/list")
            .answer()
            .await,
    );
    let named = client.tool("echo", json!({}));
    shape_of(
        "header-malformed",
        &named.header("Mcp-Name", "=?base64?!?=").answer().await,
    );
    let param = client.tool("header", json!({"region": "x"}));
    shape_of("header-param-missing", &param.answer().await);
    let old = call.clone().meta("protocolVersion", json!("2025-11-25"));
    shape_of(
        "unsupported-version",
        &old.header("MCP-Protocol-Version", "2025-11-25")
            .answer()
            .await,
    );
    shape_of(
        "method-not-found",
        &client.request("initialize", json!({})).answer().await,
    );
    shape_of("missing-capability", &client.task_get("x").await);
    shape_of(
        "missing-capability-of-a-tool",
        &client.call("required", json!({})).await,
    );
    shape_of(
        "missing-capability-told-by-a-tool",
        &client.call("finish", json!({"how": "missing"})).await,
    );
    shape_of(
        "invalid-params",
        &client.request("tools/call", json!({})).answer().await,
    );
    shape_of(
        "unknown-tool",
        &client.call("no-such-tool", json!({})).await,
    );
    shape_of(
        "invalid-cursor",
        &client
            .request("tools/list", json!({"cursor": "x"}))
            .answer()
            .await,
    );
}

#[tokio::test]
async fn of_tasks() {
    let mut server = Server::start(Options::probe().set("tasks.max", 1)).await;
    let client = server.client().declaring(Declares::TasksAndForms);
    shape_of("unknown-task", &client.task_get(&"A".repeat(43)).await);
    let task = client.task("ask", json!({"keys": ["key"]})).await;
    task.until("input_required").await;
    shape_of("malformed-answer", &task.answer(json!({"key": 5})).await);
    shape_of("task-limit", &client.call("wait", json!({})).await);
    let many: Vec<String> = (0..1001).map(|n| format!("{n:043}")).collect();
    let listen = client.request(
        "subscriptions/listen",
        json!({"notifications": {"taskIds": many}}),
    );
    shape_of("too-many-task-ids", &listen.answer().await);
    // Its servers were killed again and again before anything came of a run.
    server.kill();
    sql(
        server.data(),
        "UPDATE tasks SET head = json_set(head, '$.idle_runs', 20);",
    );
    let server = server.restart().await;
    let task = task.through(&server.client().declaring(Declares::Tasks));
    task.update(json!({"key": {"action": "decline"}})).await;
    shape("task-lost", &task.until("failed").await);
}

#[tokio::test]
async fn of_questions() {
    let server = Server::start(Options::probe().set("tasks.answer-ms", 1)).await;
    let client = server.client().declaring(Declares::TasksAndForms);
    let arguments = json!({"keys": ["key"], "begin": "never"});
    let asked = client.asked("ask", arguments.clone()).await;
    let answers = json!({"key": {"action": "decline"}});
    tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    shape_of("state-expired", &asked.answer(answers.clone()).await);
    let call = asked.call(answers).param("requestState", json!("x"));
    shape_of("state-unverified", &call.answer().await);
    let call = client
        .tool("ask", arguments.clone())
        .param("inputResponses", json!({"key": {}}));
    shape_of("malformed-answer-of-a-call", &call.answer().await);
    let mut large = arguments;
    large["kept"] = json!(1 << 20);
    shape_of("limit-request-state", &client.call("ask", large).await);
}

#[tokio::test]
async fn of_tools_and_limits() {
    for (name, setting, value, tool, arguments) in [
        (
            "limit-cpu",
            "sandbox.cpu-ms",
            100,
            "finish",
            json!({"how": "spin"}),
        ),
        (
            "limit-wall",
            "sandbox.wall-ms",
            100,
            "sleep",
            json!({"ms": 60_000}),
        ),
        (
            "limit-memory",
            "sandbox.memory-bytes",
            16 << 20,
            "allocate",
            json!({"bytes": 64 << 20}),
        ),
        (
            "limit-journal",
            "tasks.journal-bytes",
            2048,
            "progress",
            json!({"steps": 1000, "delay_ms": 0}),
        ),
        (
            "limit-result",
            "sandbox.result-bytes",
            2000,
            "large",
            json!({"bytes": 3000}),
        ),
        (
            "tool-trap",
            "sandbox.cpu-ms",
            10_000,
            "finish",
            json!({"how": "trap"}),
        ),
        (
            "tool-own-error",
            "sandbox.cpu-ms",
            10_000,
            "finish",
            json!({"how": "rpc-error"}),
        ),
        (
            "tool-bad-result",
            "sandbox.cpu-ms",
            10_000,
            "structured",
            json!({"value": 5}),
        ),
    ] {
        let server = Server::start(Options::probe().set(setting, value)).await;
        shape_of(name, &server.client().call(tool, arguments).await);
    }
}

#[tokio::test]
async fn of_expired_tasks() {
    let options = Options::probe()
        .set("tasks.sweep-ms", 3_600_000)
        .set("tasks.min-retention-ms", 0);
    let server = Server::start(options).await;
    let client = server.client().declaring(Declares::Tasks);
    let late = client.task("wait", json!({"options": {"ttl": 300}})).await;
    let answer = cofferdam_tests::patient("the task to expire", async {
        loop {
            let answer = client.task_get(late.id()).await;
            if answer.response.get("error").is_some() {
                return answer;
            }
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    })
    .await;
    shape_of("expired-task", &answer);

    let kept = Server::start(Options::probe()).await;
    let client = kept.client().declaring(Declares::Tasks);
    let task = client.task("wait", json!({"options": {"ttl": 300}})).await;
    shape("task-failed-by-its-ttl", &task.until("failed").await);
}
