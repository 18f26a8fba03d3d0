//! Where spans go: a collector that speaks OTLP over HTTP (OpenTelemetry Protocol, 1.x).
//!
//! Invariant: a collector that is slow or down costs spans, and nothing else: they wait in a bounded
//! queue for a thread of their own.

use crate::limits::{TELEMETRY_QUEUE, TELEMETRY_TIME};
use async_trait::async_trait;
use opentelemetry::KeyValue;
use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response};
use opentelemetry_otlp::{
    ExporterBuildError, SpanExporter, WithExportConfig as _, WithHttpConfig as _,
};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::{
    BatchConfigBuilder, BatchSpanProcessor, Sampler, SdkTracerProvider,
};
use std::collections::HashMap;

/// What is exported, and where to.
#[derive(Clone, Debug)]
pub struct TelemetryOptions {
    /// The collector's base URL, for example `http://127.0.0.1:4318`.
    pub otlp: String,
    /// Headers of every request to it, for example a key. They are in no `Debug`.
    pub headers: Headers,
    /// Of traces that begin here, this part is kept, 0 to 1. A client that sends a context decides
    /// for its own.
    pub sample: f64,
    /// `service.name`
    pub service: String,
}

/// Headers, whose values may be secret.
#[derive(Clone, Default)]
pub struct Headers(pub HashMap<String, String>);

impl std::fmt::Debug for Headers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

/// What makes spans and sends them. `node` tells this process from others of the service.
pub(super) fn provider(
    options: TelemetryOptions,
    node: String,
) -> Result<SdkTracerProvider, ExporterBuildError> {
    let exporter = SpanExporter::builder()
        .with_http()
        .with_http_client(Client::new())
        .with_endpoint(format!("{}/v1/traces", options.otlp.trim_end_matches('/')))
        .with_headers(options.headers.0)
        .with_timeout(TELEMETRY_TIME)
        .build()?;
    let batch = BatchConfigBuilder::default()
        .with_max_queue_size(TELEMETRY_QUEUE)
        .build();
    let batches = BatchSpanProcessor::builder(exporter)
        .with_batch_config(batch)
        .build();
    let resource = Resource::builder()
        .with_service_name(options.service)
        .with_attribute(KeyValue::new("service.version", env!("CARGO_PKG_VERSION")))
        .with_attribute(KeyValue::new("service.instance.id", node))
        .build();
    let sampler = Sampler::ParentBased(Box::new(Sampler::TraceIdRatioBased(options.sample)));
    Ok(SdkTracerProvider::builder()
        .with_span_processor(batches)
        .with_sampler(sampler)
        .with_resource(resource)
        .build())
}

/// The exporter's HTTP. It blocks: the exporter has a thread to itself.
#[derive(Debug)]
struct Client(ureq::Agent);

impl Client {
    fn new() -> Self {
        let config = ureq::Agent::config_builder()
            .timeout_global(Some(TELEMETRY_TIME))
            .max_redirects(0)
            .http_status_as_error(false)
            .user_agent(concat!("cofferdam/", env!("CARGO_PKG_VERSION")));
        Self(config.build().into())
    }
}

#[async_trait]
impl HttpClient for Client {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        /// What a collector may say of a batch.
        const ANSWER_BYTES: u64 = 1 << 20;
        let request = request.map(|body| body.to_vec());
        let (head, mut body) = self.0.run(request)?.into_parts();
        let body = body.with_config().limit(ANSWER_BYTES).read_to_vec()?;
        Ok(Response::from_parts(head, Bytes::from(body)))
    }
}
