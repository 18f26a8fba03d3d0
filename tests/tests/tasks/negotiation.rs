//! Who gets tasks (M-02, M-03, M-04; T-01 to T-16): it is decided by what this request declares.

use cofferdam_tests::{Client, Declares, Options, Server, TASKS, Task};
use serde_json::{Value, json};

async fn capabilities(server: &Server) -> Value {
    let answer = server
        .client()
        .request("server/discover", json!({}))
        .answer()
        .await;
    answer.result()["capabilities"].clone()
}

// T-02 and T-14: under `extensions`, as an empty object; never the old way.
#[tokio::test]
async fn the_extension_is_advertised_only_where_it_belongs() {
    let server = Server::start(Options::probe()).await;
    let capabilities = capabilities(&server).await;
    assert_eq!(capabilities["extensions"][TASKS], json!({}));
    assert_eq!(capabilities.get("tasks"), None);
}

// T-04 and T-06.
#[tokio::test]
async fn an_optional_tool_runs_inline_for_a_client_without_tasks() {
    let server = Server::start(Options::probe()).await;
    let client = server.client();
    let result = client.result("finish", json!({})).await;
    assert_eq!(result["content"][0]["text"], "inline");
    client
        .declaring(Declares::Tasks)
        .task("finish", json!({}))
        .await;
    // What was declared a moment ago counts for nothing now.
    client.result("finish", json!({})).await;
}

// T-05: the refusal comes before the handler, and before the arguments are looked at.
#[tokio::test]
async fn a_tool_that_must_be_a_task_is_refused_without_the_extension() {
    let server = Server::start(Options::probe()).await;
    for arguments in [json!({}), json!({"keys": 5})] {
        let answer = server.client().call("required", arguments).await;
        let data = &answer.error(400, -32021)["data"];
        assert_eq!(
            data,
            &json!({"requiredCapabilities": {"extensions": {TASKS: {}}}})
        );
    }
    server
        .client()
        .declaring(Declares::Tasks)
        .task("required", json!({}))
        .await;
}

// T-11 and T-12: what another era declared, or what only looks like the extension, is no tasks.
#[tokio::test]
async fn only_the_extension_itself_counts() {
    let server = Server::start(Options::probe()).await;
    for capabilities in [
        json!({"tasks": {"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}}}),
        json!({"extensions": {"tasks": {}}}),
        json!({"extensions": {"io.modelcontextprotocol/Tasks": {}}}),
        json!({"experimental": {TASKS: {}}}),
        json!({"extensions": {TASKS: null}}),
        json!({"extensions": []}),
    ] {
        let client = server.client().declaring_json(capabilities.clone());
        let result = client.call("finish", json!({})).await;
        assert_eq!(result.result()["resultType"], "complete", "{capabilities}");
        client.task_get("x").await.error(400, -32021);
    }
}

// T-13: the old way of asking for a task means nothing.
#[tokio::test]
async fn an_old_task_parameter_is_ignored() {
    let server = Server::start(Options::probe()).await;
    for value in [json!({"ttl": 60_000}), json!({}), json!(5), json!(null)] {
        let inline = server
            .client()
            .tool("finish", json!({}))
            .param("task", value.clone())
            .answer()
            .await;
        assert_eq!(inline.result()["resultType"], "complete", "{value}");
        let client = server.client().declaring(Declares::Tasks);
        let never = client
            .tool("echo", json!({"text": "x"}))
            .param("task", value.clone())
            .answer()
            .await;
        assert_eq!(never.result()["resultType"], "complete", "{value}");
        let task = client
            .tool("finish", json!({}))
            .param("task", value)
            .answer()
            .await;
        assert_eq!(
            Task::created(client, task.result()).creation()["ttlMs"],
            600_000
        );
    }
}

// T-11: there is no other era here, so no task can be had in one.
#[tokio::test]
async fn an_older_version_gets_no_task() {
    let server = Server::start(Options::probe()).await;
    let call = server
        .client()
        .declaring(Declares::Tasks)
        .tool("finish", json!({}));
    let call = call
        .meta("protocolVersion", json!("2025-11-25"))
        .header("MCP-Protocol-Version", "2025-11-25");
    call.answer().await.error(400, -32022);
}

// M-03: an undeclared cancel does nothing.
#[tokio::test]
async fn a_request_without_the_extension_changes_no_task() {
    let server = Server::start(Options::probe()).await;
    let client = server.client().declaring(Declares::TasksAndForms);
    let task = client.task("ask", json!({"keys": ["k"]})).await;
    let before = task.until("input_required").await;
    let stranger: Client = server.client();
    stranger.task_get(task.id()).await.error(400, -32021);
    stranger.task_cancel(task.id()).await.error(400, -32021);
    let answer = json!({"k": {"action": "decline"}});
    stranger
        .task_update(task.id(), answer)
        .await
        .error(400, -32021);
    assert_eq!(task.get().await, before);
}

// M-01 and M-02: switched off, the extension is not there at all.
#[tokio::test]
async fn disabled_tasks_do_not_exist() {
    let server = Server::start(Options::probe().set("tasks.enabled", false)).await;
    assert_eq!(capabilities(&server).await.get("extensions"), None);
    let client = server.client().declaring(Declares::Everything);
    let result = client.result("finish", json!({})).await;
    assert_eq!(result["content"][0]["text"], "inline");
    client.task_get("x").await.error(404, -32601);
    client.task_cancel("x").await.error(404, -32601);
    client.task_update("x", json!({})).await.error(404, -32601);
}

// M-01: a bad setting stops the start and is named.
#[tokio::test]
async fn bad_settings_stop_the_start() {
    for (key, value) in [
        ("tasks.ttl", "5"),
        ("tasks.enabled", "perhaps"),
        ("tasks.max", "-1"),
        ("tasks.ttl-ms", "0"),
        ("tasks.poll-interval-ms", "soon"),
        ("task.ttl-ms", "5"),
        ("tasks.detach-after-ms.echo", "no number"),
    ] {
        let (status, text) = Server::refuse(Options::probe().set(key, value)).await;
        assert!(!status.success());
        let name = key.rsplit('.').next().expect("a name");
        assert!(
            text.contains(name) || text.contains(key),
            "{key}={value}: {text}"
        );
    }
    let (status, text) = Server::refuse(Options::probe().store("postgres-is-not-here")).await;
    assert!(
        !status.success() && text.contains("postgres-is-not-here"),
        "{text}"
    );
}
