//! The W3C trace context that a client sends along (MCP 2026-07-28, `_meta.traceparent`).
//!
//! Invariant: it is text of a bounded length that is kept and handed on as it came; whoever makes
//! spans reads it, and what cannot be read counts as none.

use opentelemetry::propagation::{Extractor, Injector, TextMapPropagator as _};
use opentelemetry::trace::TraceContextExt as _;
use opentelemetry::{Context, trace::SpanContext};
use opentelemetry_sdk::propagation::TraceContextPropagator;
use serde::{Deserialize, Serialize};

/// Bytes of a `traceparent`; versions to come may be longer than this one's 55.
const PARENT_BYTES: usize = 256;
/// Bytes of a `tracestate` (W3C Trace Context, 3.3.1.5).
const STATE_BYTES: usize = 512;

/// Where a trace goes on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TraceContext {
    parent: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    state: Option<String>,
}

impl TraceContext {
    /// What a client sent. Too long is none.
    #[must_use]
    pub fn read(parent: Option<&str>, state: Option<&str>) -> Option<Self> {
        let parent = parent.filter(|parent| parent.len() <= PARENT_BYTES)?;
        let state = state.filter(|state| !state.is_empty() && state.len() <= STATE_BYTES);
        Some(Self {
            parent: parent.to_owned(),
            state: state.map(str::to_owned),
        })
    }

    /// `traceparent`
    #[must_use]
    pub fn parent(&self) -> &str {
        &self.parent
    }

    /// `tracestate`
    #[must_use]
    pub fn state(&self) -> Option<&str> {
        self.state.as_deref()
    }

    /// As spans have it.
    pub(super) fn to_context(&self) -> Context {
        TraceContextPropagator::new().extract_with_context(&Context::new(), self)
    }

    /// Of a span.
    pub(super) fn of(span: &SpanContext) -> Option<Self> {
        #[derive(Default)]
        struct Fields {
            parent: Option<String>,
            state: Option<String>,
        }
        impl Injector for Fields {
            fn set(&mut self, key: &str, value: String) {
                match key {
                    "traceparent" => self.parent = Some(value),
                    "tracestate" => self.state = Some(value),
                    _ => {}
                }
            }
        }
        let mut fields = Fields::default();
        let context = Context::new().with_remote_span_context(span.clone());
        TraceContextPropagator::new().inject_context(&context, &mut fields);
        Self::read(fields.parent.as_deref(), fields.state.as_deref())
    }
}

impl Extractor for TraceContext {
    fn get(&self, key: &str) -> Option<&str> {
        match key {
            "traceparent" => Some(&self.parent),
            "tracestate" => self.state(),
            _ => None,
        }
    }

    fn keys(&self) -> Vec<&str> {
        vec!["traceparent", "tracestate"]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

    #[test]
    fn a_context_comes_back_as_it_was() {
        let sent = TraceContext::read(Some(PARENT), Some("a=1,b=2")).unwrap();
        let span = sent.to_context().span().span_context().clone();
        assert!(span.is_valid() && span.is_remote() && span.is_sampled());
        assert_eq!(TraceContext::of(&span), Some(sent));
    }

    #[test]
    fn what_cannot_be_read_is_none() {
        for bad in [
            "",
            "00-0-0-01",
            "x",
            &PARENT.replace("0af7", "zzzz"),
            &PARENT[..52],
        ] {
            let sent = TraceContext::read(Some(bad), None).unwrap();
            assert!(!sent.to_context().span().span_context().is_valid(), "{bad}");
        }
        assert_eq!(TraceContext::read(None, Some("a=1")), None);
        assert_eq!(TraceContext::read(Some(&"0".repeat(1_000)), None), None);
        let sent = TraceContext::read(Some(PARENT), Some(&"a".repeat(1_000))).unwrap();
        assert_eq!(sent.state(), None);
    }
}
