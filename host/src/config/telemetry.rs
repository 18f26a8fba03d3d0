//! `[telemetry]`: where traces go.

use super::check::Place;
use super::{ConfigError, raw};
use crate::grants::Secret;
use crate::telemetry::{Headers, TelemetryOptions};
use hyper::header::{HeaderName, HeaderValue};
use std::collections::HashMap;
use std::env;
use std::path::PathBuf;

/// The variable that names a collector where the configuration does not (OpenTelemetry, "OTLP exporter
/// configuration").
const ENDPOINT: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";

impl Place<'_> {
    /// `None`: nowhere.
    pub(super) fn telemetry(
        &self,
        raw: raw::Telemetry,
        beside: &dyn Fn(PathBuf) -> PathBuf,
    ) -> Result<Option<TelemetryOptions>, ConfigError> {
        let sample = raw.sample.unwrap_or(1.0);
        if !(0.0..=1.0).contains(&sample) {
            let rule = format!("must be 0 to 1, got {sample}");
            return self.bad("telemetry.sample", rule);
        }
        let mut headers = HashMap::new();
        for (name, secret) in raw.headers {
            let key = format!("telemetry.headers.{name}");
            let value = Secret::from_raw(secret, beside).read(&name);
            let value = value.or_else(|error| self.bad(&key, error.to_string()))?;
            let fits = name.parse::<HeaderName>().is_ok() && value.parse::<HeaderValue>().is_ok();
            if !fits {
                return self.bad(&key, "is no header");
            }
            headers.insert(name, value);
        }
        let typed = || env::var(ENDPOINT).ok().filter(|url| !url.is_empty());
        let (url, key) = match raw.otlp {
            Some(url) => (url, self.of("telemetry.otlp")),
            None => match typed() {
                Some(url) => (url, ENDPOINT.to_owned()),
                None => return Ok(None),
            },
        };
        let parsed = url.parse::<hyper::Uri>();
        let is_http = |url: &hyper::Uri| matches!(url.scheme_str(), Some("http" | "https"));
        if !parsed.is_ok_and(|url| is_http(&url) && url.host().is_some()) {
            return Err(ConfigError::Value {
                place: key,
                reason: format!(
                    "{url:?} must be an http or https URL, for example http://127.0.0.1:4318"
                ),
            });
        }
        Ok(Some(TelemetryOptions {
            otlp: url,
            headers: Headers(headers),
            sample,
            service: raw.service.unwrap_or_else(|| "cofferdam".to_owned()),
        }))
    }
}
