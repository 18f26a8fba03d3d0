//! Traces: one span a call, one an attempt, one a host call (OpenTelemetry; the names of its
//! conventions for MCP where there are such).
//!
//! Invariants: a span holds names, numbers and outcomes, and nothing of arguments, answers, results,
//! ids of tasks or callers; a client's context is carried on with its task, through every attempt, to
//! whichever node runs it; without a collector a span costs a comparison.

mod context;
mod export;

pub use context::TraceContext;
pub use export::{Headers, TelemetryOptions};
pub use opentelemetry_otlp::ExporterBuildError;

use crate::limits::SPANS_PER_ATTEMPT;
use opentelemetry::trace::{
    Span as _, SpanKind, Status, TraceContextExt as _, Tracer as _, TracerProvider as _,
};
use opentelemetry::{Context, KeyValue, Value};
use opentelemetry_sdk::trace::{SdkTracer, SdkTracerProvider, Span as SdkSpan};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What makes spans, if anything does.
#[derive(Clone, Default)]
pub struct Telemetry(Option<Arc<Tracing>>);

struct Tracing {
    provider: SdkTracerProvider,
    tracer: SdkTracer,
}

impl Telemetry {
    /// Sends spans to a collector. `node` is what tells this process from others.
    ///
    /// # Errors
    /// [`ExporterBuildError`]: the address is none.
    pub fn new(options: TelemetryOptions, node: String) -> Result<Self, ExporterBuildError> {
        let provider = export::provider(options, node)?;
        let tracer = provider.tracer("cofferdam");
        Ok(Self(Some(Arc::new(Tracing { provider, tracer }))))
    }

    /// Sends what waits. It blocks for as long as a collector takes, or `TELEMETRY_TIME`.
    pub fn stop(&self) {
        if let Some(tracing) = &self.0
            && let Err(error) = tracing.provider.shutdown()
        {
            tracing::warn!(%error, "the last spans could not be sent");
        }
    }

    /// The span of a `tools/call`.
    #[must_use]
    pub fn call(&self, from: Option<&TraceContext>, method: &'static str, tool: &str) -> Span {
        self.begin(from, SpanKind::Server, || {
            let attributes = vec![
                KeyValue::new("mcp.method.name", method),
                KeyValue::new("gen_ai.tool.name", tool.to_owned()),
            ];
            (format!("{method} {tool}"), attributes)
        })
    }

    /// The span of one run of a handler.
    #[must_use]
    pub fn attempt(&self, from: Option<&TraceContext>, tool: &str, number: u32, run: u64) -> Span {
        self.begin(from, SpanKind::Internal, || {
            let attributes = vec![
                KeyValue::new("gen_ai.tool.name", tool.to_owned()),
                KeyValue::new("cofferdam.attempt", i64::from(number)),
                KeyValue::new("cofferdam.run", i64::try_from(run).unwrap_or(i64::MAX)),
            ];
            (format!("attempt {tool}"), attributes)
        })
    }

    fn begin(
        &self,
        from: Option<&TraceContext>,
        kind: SpanKind,
        what: impl FnOnce() -> (String, Vec<KeyValue>),
    ) -> Span {
        let Some(tracing) = &self.0 else {
            return Span::default();
        };
        let (name, attributes) = what();
        let parent = from.map_or_else(Context::new, TraceContext::to_context);
        let tracer = &tracing.tracer;
        let span = tracer.span_builder(name).with_kind(kind);
        let span = span.with_attributes(attributes);
        Span(Some(span.start_with_context(tracer, &parent)))
    }

    /// What makes the spans of host calls in a run.
    #[must_use]
    pub fn host_calls(&self, run: &Span) -> HostCalls {
        let parent = run.0.as_ref().filter(|span| span.is_recording());
        let from = self.0.clone().zip(parent).map(|(tracing, span)| {
            let parent = Context::new().with_remote_span_context(span.span_context().clone());
            (tracing, parent)
        });
        HostCalls {
            from,
            left: Arc::new(AtomicUsize::new(SPANS_PER_ATTEMPT)),
        }
    }
}

/// The spans of host calls in one run, at most `SPANS_PER_ATTEMPT`.
#[derive(Clone, Default)]
pub struct HostCalls {
    from: Option<(Arc<Tracing>, Context)>,
    left: Arc<AtomicUsize>,
}

impl HostCalls {
    /// True if spans are made at all.
    #[must_use]
    pub fn is_on(&self) -> bool {
        self.from.is_some()
    }

    /// The span of a call of the host, inside the server or beyond it.
    #[must_use]
    pub fn begin(&self, name: &'static str, kind: HostCallKind) -> Span {
        let Some((tracing, parent)) = &self.from else {
            return Span::default();
        };
        let left = |left: usize| left.checked_sub(1);
        let relaxed = Ordering::Relaxed;
        if self.left.fetch_update(relaxed, relaxed, left).is_err() {
            return Span::default();
        }
        let kind = match kind {
            HostCallKind::Inside => SpanKind::Internal,
            HostCallKind::Outside => SpanKind::Client,
        };
        let tracer = &tracing.tracer;
        let span = tracer.span_builder(name).with_kind(kind);
        Span(Some(span.start_with_context(tracer, parent)))
    }
}

/// Where a host call leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostCallKind {
    /// To this server.
    Inside,
    /// To another one.
    Outside,
}

/// A span, or none. It ends when it is dropped.
#[derive(Default)]
pub struct Span(Option<SdkSpan>);

impl Span {
    /// Where what comes of it goes on; without a span, where this one would have gone on.
    #[must_use]
    pub fn context(&self, from: Option<&TraceContext>) -> Option<TraceContext> {
        match &self.0 {
            Some(span) => TraceContext::of(span.span_context()),
            None => from.cloned(),
        }
    }

    /// Says something of it.
    pub fn set(&mut self, key: &'static str, value: impl Into<Value>) {
        if let Some(span) = &mut self.0 {
            span.set_attribute(KeyValue::new(key, value));
        }
    }

    /// Says that it failed, in one word (`error.type`).
    pub fn fail(&mut self, kind: &'static str) {
        if let Some(span) = &mut self.0 {
            span.set_attribute(KeyValue::new("error.type", kind));
            span.set_status(Status::error(kind));
        }
    }
}
