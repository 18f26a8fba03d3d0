//! Limits and options of tasks that a source of tools has in place of the settings.

use cofferdam_tests::{Client, Config, Declares, Options, Server, accept, guest};
use serde_json::{Value, json};

/// The component of the tests twice: as it is, and as `own.` with what is said of it.
fn twice(own: &str) -> (Config, Options) {
    let config = Config::new(&format!(
        "[[tools]]\npath = {:?}\nprefix = \"own.\"\n{own}\n",
        guest("probe")
    ));
    let options = config.probe();
    (config, options)
}

fn client(server: &Server) -> Client {
    server.client().declaring(Declares::TasksAndForms)
}

async fn ends_with(client: &Client, tool: &str, arguments: Value, parts: &[&str]) {
    let answer = client.call(tool, arguments).await;
    let message = answer.message(200, -32603);
    assert!(parts.iter().all(|part| message.contains(part)), "{message}");
}

#[tokio::test]
async fn a_source_has_its_own_limits() {
    let (_config, options) = twice(
        "limits = { memory-bytes = 33_554_432, cpu-ms = 200, wall-ms = 400, result-bytes = 2_000 }",
    );
    let server = Server::start(options).await;
    let plain = server.client();
    let sleep = json!({"ms": 60_000});
    ends_with(&plain, "own.sleep", sleep, &["400 ms", "sandbox.wall-ms"]).await;
    let large = json!({"bytes": 3_000});
    let parts = ["2000", "sandbox.result-bytes"];
    ends_with(&plain, "own.large", large, &parts).await;
    let allocate = json!({"bytes": 64 << 20});
    let parts = ["33554432", "sandbox.memory-bytes"];
    ends_with(&plain, "own.allocate", allocate, &parts).await;
    let grown = plain.result("own.grow", json!({})).await;
    let grown: u32 = grown["content"][0]["text"]
        .as_str()
        .and_then(|text| text.parse().ok())
        .expect("a number");
    assert!((16..32).contains(&grown), "{grown}");
    // The same component of another source has the settings.
    plain.result("sleep", json!({"ms": 600})).await;
    plain.result("large", json!({"bytes": 3_000})).await;
    plain.result("allocate", json!({"bytes": 64 << 20})).await;
}

#[tokio::test]
async fn cpu_time_of_a_source_may_be_more_or_less() {
    let (_config, options) = twice("limits = { cpu-ms = 60_000, wall-ms = 1_500 }");
    let options = options.set("sandbox.cpu-ms", 100);
    let server = Server::start(options).await;
    let spin = json!({"how": "spin"});
    let plain = server.client();
    let parts = ["100 ms", "sandbox.cpu-ms"];
    ends_with(&plain, "finish", spin.clone(), &parts).await;
    let parts = ["1500 ms", "sandbox.wall-ms"];
    ends_with(&plain, "own.finish", spin, &parts).await;
}

// Whatever the configuration says later: a task goes on with what it began with.
#[tokio::test]
async fn later_runs_have_the_limits_of_the_first() {
    let (config, options) =
        twice("limits = { cpu-ms = 300, result-bytes = 2_000, task-wall-ms = 5_000_000 }");
    let options = options.set("tasks.park-after-ms", 10);
    let server = Server::start(options.clone()).await;
    let mut tasks = Vec::new();
    for then in ["spin", "large"] {
        let task = client(&server)
            .task("own.ask", json!({"keys": ["k"], "then": then}))
            .await;
        task.until("input_required").await;
        tasks.push(task);
    }
    server.until_running(0, 0).await;
    let text = std::fs::read_to_string(config.file()).expect("a configuration");
    let more = text.replace("300", "500_000").replace("2_000", "8_000_000");
    config.put("cofferdam.toml", more);
    let server = server.restart().await;
    for (task, part) in tasks.iter().zip(["300 ms", "2000"]) {
        let task = task.through(&client(&server));
        task.update(json!({"k": accept("x")})).await;
        let end = task.until("failed").await;
        let message = end["error"]["message"].as_str().expect("a message");
        assert!(message.contains(part), "{message}");
    }
    // A call that begins now has the new ones.
    let large = json!({"bytes": 3_000});
    client(&server).result("own.large", large).await;
}

// Both sources serve the same component: each task goes on as its own source's.
#[tokio::test]
async fn a_later_run_is_of_the_source_of_the_first() {
    let (_config, options) = twice("");
    let server = Server::start(options.set("tasks.park-after-ms", 10)).await;
    let client = client(&server);
    for tool in ["ask", "own.ask"] {
        let asked = json!({"keys": ["k"], "then": "trap"});
        let task = client.task(tool, asked).await;
        task.until("input_required").await;
        server.until_running(0, 0).await;
        task.update(json!({"k": accept("x")})).await;
        task.until("failed").await;
        let named = format!("tool={tool:?}");
        server.log().line(&["WARN", &named]).await;
    }
}

#[tokio::test]
async fn an_attempt_has_the_wall_time_of_its_source() {
    let (_config, options) = twice("limits = { task-wall-ms = 300 }");
    let server = Server::start(options).await;
    let client = client(&server);
    let end = client.task("own.wait", json!({})).await;
    let end = end.until("failed").await;
    let message = end["error"]["message"].as_str().expect("a message");
    assert!(message.contains("sandbox.task-wall-ms"), "{message}");
    let other = client.task("wait", json!({})).await;
    assert_eq!(other.status().await, "working");
}

#[tokio::test]
async fn tasks_of_a_source_have_its_options() {
    let (_config, options) =
        twice("tasks = { ttl-ms = 50_000, poll-interval-ms = 70, max-attempts = 2 }");
    let server = Server::start(options).await;
    let client = client(&server);
    let created = async |tool: &str, options: Value| {
        let task = client.task(tool, json!({"options": options})).await;
        let created = task.creation();
        json!([created["ttlMs"], created["pollIntervalMs"]])
    };
    assert_eq!(created("own.finish", json!({})).await, json!([50_000, 70]));
    // What the tool asks for counts.
    let asked = json!({"ttl": 5_000, "poll": 80});
    assert_eq!(created("own.finish", asked).await, json!([5_000, 80]));
    let unlimited = created("own.finish", json!({"ttl": "unlimited"})).await;
    assert_eq!(unlimited, json!([null, 70]));
    assert_eq!(created("finish", json!({})).await, json!([600_000, 1_000]));

    let retried = client.task("own.retry", json!({"traps": 1})).await;
    let end = retried.until("completed").await;
    assert_eq!(end["result"]["content"][0]["text"], "2");
    let asked = json!({"traps": 1, "options": {"attempts": 1}});
    client.task("own.retry", asked).await.until("failed").await;
    let plain = client.task("retry", json!({"traps": 1})).await;
    plain.until("failed").await;
}

#[tokio::test]
async fn calls_of_a_source_are_detached_in_its_time() {
    let (_config, options) = twice("tasks = { detach-after-ms = 50, ttl-ms = 40_000 }");
    let options = options.set("tasks.detach-after-ms.own.late", 3_600_000);
    let server = Server::start(options).await;
    let client = client(&server);
    let task = client.task("own.sleep", json!({"ms": 60_000})).await;
    assert_eq!(task.creation()["ttlMs"], 40_000);
    task.cancel().await;
    // Not those of another source, nor those of a tool that never is a task.
    client.result("sleep", json!({"ms": 200})).await;
    let steps = json!({"steps": 3, "delay_ms": 100});
    client.result("own.progress", steps).await;
}
