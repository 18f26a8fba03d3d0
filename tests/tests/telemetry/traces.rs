//! Spans: of a call, of its attempts, of what those ask of the host; in the client's trace.

use crate::collector::{Collector, Span};
use cofferdam_postgres::Postgres;
use cofferdam_tests::{Declares, Pipe, Server, Upstream, accept, guest};
use serde_json::json;

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";

fn parent(sampled: bool) -> String {
    format!("00-{TRACE}-b7ad6b7169203331-0{}", u8::from(sampled))
}

fn named<'a>(spans: &'a [Span], name: &str) -> Vec<&'a Span> {
    spans.iter().filter(|it| it.name == name).collect()
}

#[tokio::test]
async fn a_call_its_run_and_its_host_calls_are_spans_of_the_clients_trace() {
    let collector = Collector::start().await;
    let server = Server::start(collector.config("").probe()).await;
    let call = server
        .client()
        .tool("sleep", json!({"ms": 5, "progress": true}));
    call.meta("traceparent", json!(parent(true)))
        .answer()
        .await
        .result();
    let spans = collector.until("tools/call sleep", 1).await;
    assert!(spans.iter().all(|it| it.trace == TRACE), "{spans:?}");
    let [call] = named(&spans, "tools/call sleep")[..] else {
        panic!("{spans:?}")
    };
    assert_eq!(call.parent, "b7ad6b7169203331");
    let expected = json!({
        "mcp.method.name": "tools/call",
        "gen_ai.tool.name": "sleep",
        "cofferdam.outcome": "result",
    });
    assert_eq!(call.attributes, expected);
    let [attempt] = named(&spans, "attempt sleep")[..] else {
        panic!("{spans:?}")
    };
    assert_eq!((&attempt.parent, attempt.failed), (&call.id, false));
    for verb in ["progress", "sleep"] {
        let verbs = named(&spans, verb);
        assert_eq!(verbs.len(), 1, "{spans:?}");
        assert_eq!(verbs[0].parent, attempt.id);
    }
}

#[tokio::test]
async fn failures_are_told_in_a_word_and_nothing_of_what_was_said() {
    let collector = Collector::start().await;
    let server = Server::start(collector.config("").probe()).await;
    let client = server.client().declaring(Declares::TasksAndForms);
    let secret = "correct-horse-battery-staple";
    client.call("echo", json!({"text": secret})).await;
    let trap = json!({"how": "trap"});
    let task = client.task("finish", trap).await;
    task.until("failed").await;
    let asked = client.task("ask", json!({"keys": [secret]})).await;
    asked.until("input_required").await;
    asked.update(json!({secret: accept(secret)})).await;
    asked.until("completed").await;
    let spans = collector.until("attempt ask", 1).await;
    let trapped = named(&spans, "attempt finish");
    assert!(
        trapped[0].failed && trapped[0].attributes["error.type"] == "trap",
        "{spans:?}"
    );
    server.terminate();
    collector.until("tools/call ask", 1).await;
    let bytes = collector.bytes();
    for hidden in [secret, task.id(), asked.id()] {
        let found = bytes
            .windows(hidden.len())
            .any(|it| it == hidden.as_bytes());
        assert!(!found, "{hidden} was told");
    }
}

#[tokio::test]
async fn a_trace_goes_on_in_later_runs_also_on_another_node() {
    let collector = Collector::start().await;
    let config = collector.config("");
    let database = Postgres::start();
    let url = database.database();
    let options = || config.probe().store(&url).set("tasks.lease-ms", 1_000);
    let mut one = Server::start(options()).await;
    let client = one.client().declaring(Declares::TasksAndForms);
    let call = client.tool("ask", json!({"keys": ["a"]}));
    let created = call.meta("traceparent", json!(parent(true)));
    let created = created.meta("tracestate", json!("vendor=1")).answer().await;
    let task = cofferdam_tests::Task::created(client, created.result());
    task.until("input_required").await;
    let first = collector.until("tools/call ask", 1).await;
    one.kill();
    let other = Server::start(options()).await;
    let task = task.through(&other.client().declaring(Declares::TasksAndForms));
    task.update(json!({"a": accept("x")})).await;
    task.until("completed").await;
    // The killed one may have taken its first with it.
    let of_other = |spans: &[Span]| spans.iter().any(|it| it.node != first[0].node);
    let spans = collector
        .until_true("a span of the other node", of_other)
        .await;
    let [call] = named(&first, "tools/call ask")[..] else {
        panic!("{first:?}")
    };
    let later = named(&spans, "attempt ask");
    let later = later.iter().find(|it| it.node != call.node);
    let later = later.expect("a run of another node");
    assert_eq!((&*later.trace, &later.parent), (TRACE, &call.id));
    // What it asked before it is not asked again.
    let asked = named(&spans, "require-input");
    assert!(asked.iter().all(|it| it.node == call.node), "{asked:?}");
}

#[tokio::test]
async fn a_request_that_goes_out_is_a_span_without_its_path() {
    let (collector, upstream) = (Collector::start().await, Upstream::start().await);
    let host = format!("http://{}", upstream.address());
    let config = collector.config(&format!(
        "[[tools]]\npath = {:?}\n[tools.grants.http]\nhosts = [{host:?}]\nprivate = [\"127.0.0.0/8\"]\n",
        guest("outbound")
    ));
    let server = Server::start(config.probe()).await;
    let url = upstream.url("/very-secret");
    server.client().result("fetch", json!({"url": url})).await;
    let spans = collector.until("tools/call fetch", 1).await;
    let [sent] = named(&spans, "http")[..] else {
        panic!("{spans:?}")
    };
    let expected = json!({
        "http.request.method": "GET",
        "server.address": "127.0.0.1",
        "http.response.status_code": 200,
    });
    assert_eq!(sent.attributes, expected);
    assert!(!String::from_utf8_lossy(&collector.bytes()).contains("very-secret"));
}

#[tokio::test]
async fn a_client_that_samples_nothing_is_not_traced_and_the_rest_is_by_its_part() {
    let collector = Collector::start().await;
    let server = Server::start(collector.config("sample = 0.0\n").probe()).await;
    let echo = || server.client().tool("echo", json!({"text": "x"}));
    echo().answer().await.result();
    let quiet = echo().meta("traceparent", json!(parent(false)));
    quiet.answer().await.result();
    for broken in [json!("nonsense"), json!(5), json!(null)] {
        echo().meta("traceparent", broken).answer().await.result();
    }
    let told = echo().meta("traceparent", json!(parent(true)));
    told.answer().await.result();
    let spans = collector.until("tools/call echo", 1).await;
    assert!(spans.iter().all(|it| it.trace == TRACE), "{spans:?}");
    assert_eq!(spans.len(), 2, "{spans:?}");
}

#[tokio::test]
async fn a_flood_of_host_calls_has_a_bounded_number_of_spans() {
    let collector = Collector::start().await;
    let server = Server::start(collector.config("").probe()).await;
    let client = server.client();
    client.result("progress", json!({"steps": 400})).await;
    let spans = collector.until("tools/call progress", 1).await;
    assert_eq!(named(&spans, "progress").len(), 256);
}

#[tokio::test]
async fn a_collector_that_is_not_there_holds_up_nothing() {
    let config = cofferdam_tests::Config::new("[telemetry]\notlp = \"http://127.0.0.1:1\"\n");
    let mut server = Server::start(config.probe()).await;
    for _ in 0..100 {
        server.client().result("echo", json!({"text": "x"})).await;
    }
    server.stop().await;
}

#[tokio::test]
async fn calls_on_standard_input_are_traced_and_sent_before_the_end() {
    let collector = Collector::start().await;
    let config = collector.config("");
    let home = tempfile::tempdir().expect("a folder");
    let (component, file) = (guest("probe"), config.file());
    let text = |path: &std::path::Path| path.to_str().expect("UTF-8").to_owned();
    let mut pipe = Pipe::start(home.path(), &[&text(&component), "--config", &text(&file)]);
    let call = json!({"name": "echo", "arguments": {"text": "x"}});
    let id = pipe.modern("tools/call", call, json!({}));
    pipe.response(id).await;
    pipe.close();
    assert!(pipe.gone().await.success());
    assert_eq!(named(&collector.spans(), "tools/call echo").len(), 1);
}

#[tokio::test]
async fn a_bad_collector_stops_the_start_and_names_the_place() {
    for (text, place) in [
        ("otlp = \"nowhere\"", "telemetry.otlp"),
        (
            "otlp = \"http://127.0.0.1:1\"\nsample = 2",
            "telemetry.sample",
        ),
        (
            "otlp = \"http://127.0.0.1:1\"\nheaders.key = { env = \"NOT_SET_ANYWHERE\" }",
            "telemetry.headers.key",
        ),
        ("otlps = \"x\"", "otlps"),
    ] {
        let config = cofferdam_tests::Config::new(&format!("[telemetry]\n{text}\n"));
        let (status, error) = Server::refuse(config.probe()).await;
        assert!(!status.success() && error.contains(place), "{error}");
    }
}
