//! What `GET /metrics` counts, and that scrapers can read it.

use std::collections::HashSet;

use cofferdam_tests::{Config, Declares, Identity, Options, Server, accept, patient};
use serde_json::json;

use crate::exposition::Exposition;
use crate::metrics;

async fn read(server: &Server) -> Exposition {
    Exposition::read(&metrics(server).await)
}

fn calls(read: &Exposition, tool: &str, outcome: &str) -> f64 {
    let labels = [("outcome", outcome), ("tool", tool)];
    read.get("cofferdam_calls_total", &labels)
}

async fn read_when(
    server: &Server,
    what: &str,
    wanted: impl Fn(&Exposition) -> bool,
) -> Exposition {
    patient(what, async {
        loop {
            let read = read(server).await;
            if wanted(&read) {
                return read;
            }
            tokio::task::yield_now().await;
        }
    })
    .await
}

#[tokio::test]
async fn counters_are_what_was_done() {
    let server = Server::start(Options::probe().admin()).await;
    let client = server.client().declaring(Declares::TasksAndForms);
    let none = read(&server).await;
    assert_eq!(
        calls(&none, "echo", "result"),
        0.0,
        "a series from the start"
    );

    for text in ["a", "b"] {
        client.result("echo", json!({"text": text})).await;
    }
    client.result("echo", json!({"text": 1})).await;
    client.call("no such tool", json!({})).await;
    client
        .task("finish", json!({}))
        .await
        .until("completed")
        .await;
    client
        .call(
            "ask",
            json!({"keys": ["k"], "begin": "never", "then": "rpc-error"}),
        )
        .await;
    let asked = client
        .asked("ask", json!({"keys": ["k"], "begin": "never"}))
        .await;
    asked.answer(json!({})).await;
    asked.result(json!({"k": accept("x")})).await;
    let inline = server.client();
    inline.result("finish", json!({"how": "tool-error"})).await;
    inline
        .call("finish", json!({"how": "rpc-error"}))
        .await
        .error(200, 7);

    let read = read(&server).await;
    let of = |tool, outcomes: [&str; 6]| outcomes.map(|outcome| calls(&read, tool, outcome));
    let outcomes = [
        "result",
        "tool_error",
        "error",
        "task",
        "asked",
        "abandoned",
    ];
    assert_eq!(of("echo", outcomes), [2.0, 1.0, 0.0, 0.0, 0.0, 0.0]);
    assert_eq!(of("finish", outcomes), [0.0, 1.0, 1.0, 1.0, 0.0, 0.0]);
    assert_eq!(of("ask", outcomes), [1.0, 0.0, 0.0, 0.0, 3.0, 0.0]);
    for (tool, count) in [("echo", 3.0), ("finish", 3.0), ("ask", 4.0)] {
        let counted = read.get("cofferdam_call_duration_seconds_count", &[("tool", tool)]);
        assert_eq!(counted, count, "{tool}");
        let sum = read.get("cofferdam_call_duration_seconds_sum", &[("tool", tool)]);
        assert!(sum > 0.0, "{tool}");
    }
    // No name that a client made up, and as many series as before.
    assert!(!read.values("tool").contains("no such tool"));
    assert_eq!(read.len(), none.len());
}

#[tokio::test]
async fn what_becomes_of_tasks_is_counted() {
    let server = Server::start(Options::probe().admin()).await;
    let client = server.client().declaring(Declares::TasksAndForms);
    let asking = client.task("ask", json!({"keys": ["k"]})).await;
    asking.until("input_required").await;
    asking.update(json!({"k": accept("x")})).await;
    asking.until("completed").await;
    client
        .task("finish", json!({"how": "fail"}))
        .await
        .until("failed")
        .await;
    client.task("wait", json!({})).await.cancel().await;
    client.task("wait", json!({})).await;
    let read = read(&server).await;
    let kinds = [
        "created",
        "asked",
        "answered",
        "completed",
        "failed",
        "cancelled",
        "removed",
    ];
    let moved = |kind| read.get("cofferdam_task_transitions_total", &[("kind", kind)]);
    assert_eq!(kinds.map(moved), [4.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.0]);
    let states = [
        "working",
        "input_required",
        "completed",
        "failed",
        "cancelled",
    ];
    let held = |state| read.get("cofferdam_tasks", &[("state", state)]);
    assert_eq!(states.map(held), [1.0, 0.0, 1.0, 1.0, 1.0]);
}

#[tokio::test]
async fn removed_tasks_are_counted_no_more() {
    let short = Options::probe()
        .set("tasks.retention-ms", 1)
        .set("tasks.min-retention-ms", 1)
        .set("tasks.ttl-ms", 1_000)
        .set("tasks.sweep-ms", 100)
        .admin();
    let server = Server::start(short).await;
    let client = server.client().declaring(Declares::Tasks);
    client.task("finish", json!({})).await;
    let gone = read_when(&server, "a task to be removed", |read| {
        read.get("cofferdam_task_transitions_total", &[("kind", "removed")]) == 1.0
    });
    assert_eq!(
        gone.await.get("cofferdam_tasks", &[("state", "completed")]),
        0.0
    );
}

#[tokio::test]
async fn cpu_time_and_limits_are_counted() {
    let options = Options::probe()
        .set("sandbox.cpu-ms", 50)
        .set("sandbox.instances", 2)
        .set("server.max-listens", 1)
        .set("server.max-body-bytes", 4_096)
        .set("tasks.max", 1)
        .admin();
    let server = Server::start(options).await;
    let client = server.client().declaring(Declares::Tasks);
    let inline = server.client();
    inline.call("finish", json!({"how": "spin"})).await;
    let listening = client.listen(json!({"toolsListChanged": true})).await;
    let second = json!({"notifications": {"toolsListChanged": true}});
    client
        .request("subscriptions/listen", second)
        .answer()
        .await
        .error(200, -32603);
    let large = inline.tool("echo", json!({"text": "x".repeat(5_000)}));
    assert_eq!(large.send().await.status, 413);
    client.task("finish", json!({})).await;
    let full = client.result("start", json!({})).await;
    assert!(full.to_string().contains("limit"), "{full}");
    let read = read(&server).await;
    let refused = |limit| read.get("cofferdam_refusals_total", &[("limit", limit)]);
    for limit in ["cpu", "listens", "body", "tasks"] {
        assert_eq!(refused(limit), 1.0, "{limit}");
    }
    for limit in ["waiting", "wall", "memory", "journal", "requests", "bodies"] {
        assert_eq!(refused(limit), 0.0, "{limit}");
    }
    let cpu = |tool| read.get("cofferdam_tool_cpu_seconds_total", &[("tool", tool)]);
    assert!(cpu("finish") >= 0.05, "{}", cpu("finish"));
    assert_eq!(cpu("wait"), 0.0);
    assert_eq!(read.get("cofferdam_listens", &[]), 1.0);
    assert_eq!(read.get("cofferdam_instances_limit", &[]), 2.0);
    assert!(read.get("cofferdam_process_resident_memory_bytes", &[]) > 1e6);
    assert!(read.get("cofferdam_start_time_seconds", &[]) > 1.7e9);
    drop(listening);
}

#[tokio::test]
async fn tenants_that_are_named_are_told_apart_and_others_are_not() {
    let identity = Identity::new("acme \"&\n", "ci");
    let config = Config::new(&format!(
        "[tenants.{}]\n[tenants.other]\n{}",
        json!("acme \"&\n"),
        identity.entry
    ));
    let server = Server::start(config.probe().admin()).await;
    let before = read(&server).await.len();
    let client = server.client().bearing(&identity.token);
    client.result("echo", json!({"text": "x"})).await;
    client.result("finish", json!({"how": "tool-error"})).await;
    let told = read(&server).await;
    assert_eq!(told.len(), before, "as many series as before");
    let tenants = HashSet::from(["acme \"&\n", "other", ""]);
    assert_eq!(told.values("tenant"), tenants);
    let calls = |tenant, outcome| {
        let labels = [("outcome", outcome), ("tenant", tenant)];
        told.get("cofferdam_tenant_calls_total", &labels)
    };
    assert_eq!(calls("acme \"&\n", "result"), 1.0);
    assert_eq!(calls("acme \"&\n", "tool_error"), 1.0);
    assert_eq!(calls("other", "result") + calls("", "result"), 0.0);
    let acme = [("tenant", "acme \"&\n")];
    let times = told.get("cofferdam_tenant_call_duration_seconds_count", &acme);
    assert_eq!(times, 2.0);
    assert!(told.get("cofferdam_tenant_cpu_seconds_total", &acme) > 0.0);

    // Whoever comes where none are named is counted as one.
    let open = Server::start(Options::probe().admin()).await;
    open.client().result("echo", json!({"text": "x"})).await;
    let told = read(&open).await;
    let labels = [("outcome", "result"), ("tenant", "")];
    assert_eq!(told.get("cofferdam_tenant_calls_total", &labels), 1.0);
}

#[tokio::test]
async fn a_call_whose_client_went_away_is_counted_as_abandoned() {
    let server = Server::start(Options::probe().admin()).await;
    let call = server.client().tool("sleep", json!({"ms": 3_600_000}));
    let call = tokio::spawn(async move { call.answer().await });
    read_when(&server, "a call to run", |read| {
        read.get("cofferdam_instances", &[]) == 1.0
    })
    .await;
    call.abort();
    let over = read_when(&server, "a call to be abandoned", |read| {
        calls(read, "sleep", "abandoned") == 1.0
    });
    assert_eq!(calls(&over.await, "sleep", "result"), 0.0);
}
