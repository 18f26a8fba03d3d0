//! What a collector receives (OTLP over HTTP, protobuf).

use cofferdam_tests::{Config, Upstream, patient};
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::{KeyValue, any_value};
use prost::Message as _;
use serde_json::{Value, json};

/// Where batches of spans are posted to.
const PATH: &str = "/v1/traces";

/// A collector on a port of this machine.
pub(crate) struct Collector(Upstream);

/// A span, as it came.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Span {
    pub(crate) name: String,
    pub(crate) trace: String,
    pub(crate) id: String,
    pub(crate) parent: String,
    pub(crate) attributes: Value,
    /// The process that made it.
    pub(crate) node: String,
    pub(crate) failed: bool,
}

impl Collector {
    pub(crate) async fn start() -> Self {
        Self(Upstream::start().await)
    }

    /// A configuration that names it, with more.
    pub(crate) fn config(&self, more: &str) -> Config {
        let url = self.0.url("");
        Config::new(&format!("[telemetry]\notlp = \"{url}\"\n{more}"))
    }

    /// The bytes that came so far.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let batches = self.0.asked(PATH);
        batches.iter().flat_map(|it| it.body.to_vec()).collect()
    }

    /// All spans so far.
    pub(crate) fn spans(&self) -> Vec<Span> {
        let batches = self.0.asked(PATH);
        batches.iter().flat_map(|batch| read(&batch.body)).collect()
    }

    /// Waits until there are so many spans of this name, and gives all.
    pub(crate) async fn until(&self, name: &str, number: usize) -> Vec<Span> {
        let there = |spans: &[Span]| spans.iter().filter(|it| it.name == name).count() >= number;
        self.until_true(&format!("{number} spans {name}"), there)
            .await
    }

    /// Waits until something is true of all spans, and gives them.
    pub(crate) async fn until_true(
        &self,
        what: &str,
        there: impl Fn(&[Span]) -> bool,
    ) -> Vec<Span> {
        patient(what, async {
            loop {
                let batches = self.0.asked(PATH).len();
                let spans = self.spans();
                if there(&spans) {
                    return spans;
                }
                self.0.until_asked(PATH, batches + 1).await;
            }
        })
        .await
    }
}

fn read(body: &[u8]) -> Vec<Span> {
    let batch = ExportTraceServiceRequest::decode(body).expect("a batch of spans");
    let mut spans = Vec::new();
    for resource in batch.resource_spans {
        let own = resource.resource.expect("a resource").attributes;
        let own = attributes(&own);
        let node = own["service.instance.id"].as_str().expect("an id");
        for span in resource.scope_spans.into_iter().flat_map(|it| it.spans) {
            spans.push(Span {
                name: span.name,
                trace: hex(&span.trace_id),
                id: hex(&span.span_id),
                parent: hex(&span.parent_span_id),
                attributes: attributes(&span.attributes),
                node: node.to_owned(),
                failed: span.status.is_some_and(|status| status.code == 2),
            });
        }
    }
    spans
}

fn attributes(all: &[KeyValue]) -> Value {
    let value = |it: &KeyValue| {
        let value = it.value.as_ref().and_then(|value| value.value.as_ref());
        match value.expect("a value") {
            any_value::Value::StringValue(text) => json!(text),
            any_value::Value::IntValue(number) => json!(number),
            any_value::Value::BoolValue(flag) => json!(flag),
            other => panic!("{other:?}"),
        }
    };
    let all = all.iter().map(|it| (it.key.clone(), value(it)));
    Value::Object(all.collect())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
