//! What `GET /status` tells of a server.

use cofferdam_tests::{Config, Declares, Identity, Options, Server, accept};
use serde_json::{Value, json};

use crate::{history_when, metrics, status, status_when, tool};

#[tokio::test]
async fn it_tells_what_is_served_and_what_is_not() {
    let config = Config::new("");
    config.put("broken.wasm", "no component");
    let broken = config.folder().join("broken.wasm");
    let server = Server::start(
        Options::probe()
            .and(broken.clone())
            .set("sandbox.instances", 7)
            .set("server.max-listens", 5)
            .admin(),
    )
    .await;
    let status = status(&server).await;
    let components = status["components"].as_array().expect("components");
    assert_eq!(components.len(), 1, "{status}");
    let component = &components[0];
    let digest = component["digest"].as_str().expect("a digest");
    assert!(digest.len() == 64 && digest.bytes().all(|it| it.is_ascii_hexdigit()));
    let since = component["serving_since"].as_str().expect("a time");
    assert!(since.starts_with("20") && since.ends_with('Z'), "{since}");
    let tools = status["tools"].as_array().expect("tools");
    assert_eq!(component["tools"], tools.len());

    for (name, support) in [
        ("echo", "none"),
        ("ask", "optional"),
        ("required", "required"),
    ] {
        let tool = tool(&status, name);
        assert_eq!(tool["task_support"], support);
        assert_eq!(tool["component"], component["name"]);
        assert_eq!(tool["digest"], digest);
        assert_eq!((&tool["calls"], &tool["errors"]), (&json!(0), &json!(0)));
        assert_eq!(tool["latency_ms"], Value::Null);
    }
    let refused = status["refused"].as_array().expect("refused");
    assert_eq!(refused.len(), 1, "{status}");
    assert_eq!(refused[0]["name"], broken.to_str().expect("UTF-8"));
    assert!(
        refused[0]["reason"]
            .as_str()
            .is_some_and(|it| !it.is_empty())
    );
    let instances = json!({"running": 0, "limit": 7, "waiting": 0});
    assert_eq!(status["instances"], instances);
    assert_eq!(status["listens"], json!({"open": 0, "limit": 5}));
    assert_eq!(status["version"], env!("CARGO_PKG_VERSION"));
    assert!(status["uptime_seconds"].is_u64());
    let text = metrics(&server).await;
    assert!(text.contains("\ncofferdam_load_errors 1\n"), "{text}");
}

#[tokio::test]
async fn it_tells_how_calls_of_a_tool_went() {
    let server = Server::start(Options::probe().admin()).await;
    let client = server.client();
    for text in ["a", "b", "c"] {
        client.result("echo", json!({"text": text})).await;
    }
    client.result("finish", json!({})).await;
    client.result("finish", json!({"how": "tool-error"})).await;
    client.result("finish", json!({"how": "no such way"})).await;
    client.call("finish", json!({"how": "rpc-error"})).await;
    client.call("finish", json!({"how": "trap"})).await;
    let status = status(&server).await;
    let of = |name, member| tool(&status, name)[member].clone();
    assert_eq!(
        (of("echo", "calls"), of("echo", "errors")),
        (json!(3), json!(0))
    );
    assert_eq!(
        (of("finish", "calls"), of("finish", "errors")),
        (json!(5), json!(4))
    );
    let latency = of("echo", "latency_ms");
    let part = |name: &str| latency[name].as_f64().expect("a time");
    assert!(0.0 < part("p50") && part("p50") <= part("p99") && part("p99") <= part("max"));
    assert!(of("echo", "cpu_seconds").as_f64().expect("a time") > 0.0);
}

/// How many tasks there are in each state.
fn counts(status: &Value) -> [u64; 5] {
    let names = [
        "working",
        "input_required",
        "completed",
        "failed",
        "cancelled",
    ];
    names.map(|name| status["tasks"][name].as_u64().expect("a number"))
}

async fn tasks_are_counted(store: &str) {
    const SECRET: &str = "a-caller-s-own-words";
    let identity = Identity::new("tenant-of-nobody", "subject-of-nobody");
    let config = Config::new(&format!("[tenants.tenant-of-nobody]\n{}", identity.entry));
    let options = config.probe().store(store).admin();
    let server = Server::start(options).await;
    let client = server
        .client()
        .bearing(&identity.token)
        .declaring(Declares::TasksAndForms);
    assert_eq!(counts(&status(&server).await), [0; 5]);

    let mut tasks = Vec::new();
    for _ in 0..2 {
        tasks.push(client.task("wait", json!({"mark": SECRET})).await);
    }
    for key in ["one", "two", "three"] {
        let task = client.task("ask", json!({"keys": [key, SECRET]})).await;
        task.until("input_required").await;
        tasks.push(task);
    }
    for _ in 0..4 {
        let task = client.task("finish", json!({"text": SECRET})).await;
        task.until("completed").await;
        tasks.push(task);
    }
    let failing = client.task("finish", json!({"how": "fail", "text": SECRET}));
    let failing = failing.await;
    failing.until("failed").await;
    tasks.push(failing);
    for _ in 0..2 {
        let task = client.task("wait", json!({"mark": SECRET})).await;
        task.cancel().await;
        tasks.push(task);
    }
    let told = status(&server).await;
    assert_eq!(counts(&told), [2, 3, 4, 1, 2], "{told}");

    // What it tells, however it is asked.
    let history = history_when(&server, "a sample", |samples| !samples.is_empty());
    let history = json!(history.await);
    let texts = [
        told.to_string(),
        history.to_string(),
        metrics(&server).await,
    ];
    for text in texts {
        let secrets = ["subject-of-nobody", SECRET, &identity.token];
        let ids = tasks.iter().map(|task| task.id());
        for secret in secrets.into_iter().chain(ids) {
            assert!(!text.contains(secret), "{secret} in {text}");
        }
    }

    tasks[2]
        .update(json!({"one": accept("x"), SECRET: accept("x")}))
        .await;
    tasks[2].until("completed").await;
    tasks[0].cancel().await;
    assert_eq!(counts(&status(&server).await), [1, 2, 5, 1, 3]);
    if store == "sqlite" {
        let server = server.restart().await;
        assert_eq!(
            counts(&status(&server).await),
            [1, 2, 5, 1, 3],
            "as they were found"
        );
    }
}

#[tokio::test]
async fn tasks_in_memory_are_counted_by_state_and_nothing_else_is_told_of_them() {
    tasks_are_counted("memory:").await;
}

#[tokio::test]
async fn tasks_on_disk_are_counted_by_state_and_nothing_else_is_told_of_them() {
    tasks_are_counted("sqlite").await;
}

#[tokio::test]
async fn what_runs_is_told_apart_from_what_is_parked() {
    let options = Options::probe().set("tasks.park-after-ms", 0).admin();
    let server = Server::start(options).await;
    let client = server.client().declaring(Declares::TasksAndForms);
    let asking = client.task("ask", json!({"keys": ["k"]})).await;
    asking.until("input_required").await;
    let spinning = client.task("wait", json!({"how": "spin"})).await;
    let seen = status_when(&server, "one run of two", |status| {
        status["tasks"]["running"] == 1 && status["instances"]["running"] == 1
    });
    assert_eq!(counts(&seen.await), [1, 1, 0, 0, 0]);
    spinning.cancel().await;
    status_when(&server, "no run", |status| status["tasks"]["running"] == 0).await;
}

#[tokio::test]
async fn calls_that_wait_and_streams_that_listen_are_counted() {
    let options = Options::probe().set("sandbox.instances", 1).admin();
    let server = Server::start(options).await;
    let client = server.client();
    let call = |arguments: Value| {
        let call = client.tool("sleep", arguments);
        tokio::spawn(async move { call.answer().await })
    };
    let calls: Vec<_> = (0..3).map(|_| call(json!({"ms": 3_600_000}))).collect();
    let listening = client.listen(json!({"toolsListChanged": true})).await;
    let seen = status_when(&server, "two calls that wait", |status| {
        status["instances"]["waiting"] == 2
    });
    let seen = seen.await;
    assert_eq!(seen["instances"]["running"], 1);
    assert_eq!(seen["listens"]["open"], 1);
    assert_eq!(seen["connections"]["open"], 4, "its own are not counted");
    drop(listening);
    for call in calls {
        call.abort();
    }
    let over = status_when(&server, "nothing", |status| {
        let open = |what: &str| status[what]["open"] == 0;
        open("listens") && open("connections") && status["instances"]["waiting"] == 0
    });
    over.await;
}

#[tokio::test]
async fn without_tasks_it_says_so() {
    let options = Options::probe().set("tasks.enabled", false).admin();
    let server = Server::start(options).await;
    assert_eq!(status(&server).await["tasks"], Value::Null);
    assert!(!metrics(&server).await.contains("cofferdam_tasks{"));
}
