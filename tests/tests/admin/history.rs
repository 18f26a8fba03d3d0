//! What `GET /history` tells of the time before.

use cofferdam_tests::{Config, Declares, Identity, Options, Request, Server};
use serde_json::{Value, json};

use crate::{history_when, status};

/// The sum of a number over all samples.
fn sum(samples: &[Value], number: impl Fn(&Value) -> Option<f64>) -> f64 {
    samples.iter().filter_map(number).sum()
}

fn of(sample: &Value, kind: &str, name: &str) -> Option<Value> {
    let all = sample[kind].as_array().expect("an array");
    all.iter().find(|it| it["name"] == name).cloned()
}

#[tokio::test]
async fn samples_add_up_to_what_was_done() {
    let identity = Identity::new("acme", "ci");
    let config = Config::new(&format!(
        "[tenants.acme]\n[tenants.other]\n{}",
        identity.entry
    ));
    let options = config.probe().set("sandbox.cpu-ms", 50).admin();
    let server = Server::start(options).await;
    let inline = server.client().bearing(&identity.token);
    for text in ["a", "b", "c"] {
        inline.result("echo", json!({"text": text})).await;
    }
    inline.call("finish", json!({"how": "spin"})).await;
    let client = inline.declaring(Declares::TasksAndForms);
    let asking = client.task("ask", json!({"keys": ["k"]})).await;
    asking.until("input_required").await;
    for how in ["return", "fail"] {
        let task = client.task("finish", json!({"how": how})).await;
        task.until(if how == "fail" { "failed" } else { "completed" })
            .await;
    }
    let calls = |samples: &[Value]| sum(samples, |it| it["calls"].as_f64());
    let samples = history_when(&server, "all calls", |samples| calls(samples) == 7.0).await;

    let tool =
        |name: &str, member: &str| sum(&samples, |it| of(it, "tools", name)?[member].as_f64());
    assert_eq!((tool("echo", "calls"), tool("echo", "errors")), (3.0, 0.0));
    assert_eq!(
        (tool("finish", "calls"), tool("finish", "errors")),
        (3.0, 1.0)
    );
    assert!(tool("finish", "cpu_seconds") >= 0.05);
    assert_eq!(
        tool("sleep", "calls"),
        0.0,
        "one that was not called takes no room"
    );
    let tenant = |name: &str| sum(&samples, |it| of(it, "tenants", name)?["calls"].as_f64());
    assert_eq!(
        (tenant("acme"), tenant("other"), tenant("")),
        (7.0, 0.0, 0.0)
    );
    assert_eq!(sum(&samples, |it| it["refusals"]["cpu"].as_f64()), 1.0);
    let moved = |kind: &str| sum(&samples, |it| it["tasks"][kind].as_f64());
    assert_eq!(
        ["created", "completed", "failed"].map(moved),
        [3.0, 1.0, 1.0]
    );
    let last = samples.last().expect("a sample");
    assert_eq!(last["tasks"]["input_required"], 1);
    assert!(last["seconds"].as_f64().is_some_and(|it| it > 1.0));
    let called = samples.iter().find(|it| it["calls"] != 0).expect("calls");
    let (p50, p99) = (called["p50_ms"].as_f64(), called["p99_ms"].as_f64());
    assert!(p50.is_some_and(|it| it > 0.0) && p50 <= p99, "{called}");

    // The same of all time, by tenant.
    let tenants = status(&server).await["tenants"].take();
    assert_eq!(tenants[0]["name"], "acme");
    assert_eq!(
        (&tenants[0]["calls"], &tenants[0]["errors"]),
        (&json!(7), &json!(1))
    );
    assert!(tenants[0]["cpu_seconds"].as_f64() >= Some(0.05));
    assert_eq!(
        tenants[2],
        json!({"name": "", "calls": 0, "errors": 0, "latency_ms": null, "cpu_seconds": 0.0})
    );
}

#[tokio::test]
async fn a_client_asks_for_what_it_has_not() {
    let server = Server::start(Options::probe().set("tasks.enabled", false).admin()).await;
    let samples = history_when(&server, "a sample", |samples| !samples.is_empty()).await;
    assert_eq!(samples[0]["tasks"], Value::Null);
    let time = |sample: &Value| sample["time"].as_u64().expect("a time");
    let ask = |query: String| Request::new("GET", &format!("/history{query}")).send(server.admin());
    let rest = ask(format!("?since={}", time(&samples[0])))
        .await
        .json()
        .await;
    let rest = rest["samples"].as_array().expect("samples");
    assert!(rest.iter().all(|sample| time(sample) > time(&samples[0])));
    let all = ask("?since=0".to_owned()).await.json().await;
    assert_eq!(all["samples"][0], samples[0]);
    assert_eq!(all["period_seconds"], 5.0);
    for bad in [
        "?since=",
        "?since=-1",
        "?since=x",
        "?until=3",
        "?since=1&since=2",
    ] {
        assert_eq!(ask(bad.to_owned()).await.status, 400, "{bad}");
    }
}
