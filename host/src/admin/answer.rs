//! What a request of the operator comes to.
//!
//! Invariant: where it comes from is checked first, then who asks; only then is anything looked at. No
//! answer is told to pages from elsewhere, or taken for anything that it is not.

use super::console::CONSOLE;
use super::gate::{check, is_console};
use super::http::Shared;
use super::{Status, text};
use crate::catalog::Look;
use crate::transport::Refusal;
use bytes::Bytes;
use http_body_util::Full;
use hyper::header::{
    ALLOW, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, HeaderValue,
    REFERRER_POLICY, WWW_AUTHENTICATE, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use hyper::http::request::Parts;
use hyper::{Method, Response, StatusCode};
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whose pages may have an answer as an image or a script, or may hold the console's window.
const RESOURCE_POLICY: HeaderName = HeaderName::from_static("cross-origin-resource-policy");
const OPENER_POLICY: HeaderName = HeaderName::from_static("cross-origin-opener-policy");

type Answer = Response<Full<Bytes>>;

/// Answers a request. It is `busy` while something must be waited for that its client wants the end of.
pub(super) async fn answer(head: Parts, shared: Arc<Shared>, busy: Arc<AtomicBool>) -> Answer {
    if let Err(refusal) = check(&head, shared.loopback) {
        return error(refusal.status(), reason(refusal));
    }
    let method = match head.uri.path() {
        path if is_console(path) => Method::GET,
        "/health" | "/status" | "/history" | "/metrics" => Method::GET,
        "/reload" => Method::POST,
        _ => {
            let what = "There is nothing here; there are /console, /health, /status, /history, \
                        /metrics and /reload";
            return error(StatusCode::NOT_FOUND, what);
        }
    };
    if head.method != method {
        let mut answer = error(
            StatusCode::METHOD_NOT_ALLOWED,
            &format!("Only {method} is served here"),
        );
        let allow = HeaderValue::from_static(if method == Method::GET { "GET" } else { "POST" });
        answer.headers_mut().insert(ALLOW, allow);
        return answer;
    }
    // The console knows nothing until it asks, with a token if there is one.
    if is_console(head.uri.path()) {
        return console();
    }
    // Whoever watches the server's life needs no token, and learns nothing else.
    if head.uri.path() == "/health" {
        return whole(StatusCode::OK, "text/plain; charset=utf-8", "ok\n");
    }
    if let Err(refused) = shared.auth.identify(&head.headers).await {
        let mut answer = error(StatusCode::UNAUTHORIZED, &refused.to_string());
        let challenge = HeaderValue::from_static("Bearer");
        answer.headers_mut().insert(WWW_AUTHENTICATE, challenge);
        return answer;
    }
    match head.uri.path() {
        "/status" => json(StatusCode::OK, &json!(Status::of(&shared.server).await)),
        "/history" => history(&shared, head.uri.query()),
        "/metrics" => match text::encode(&shared.server).await {
            Ok(text) => whole(StatusCode::OK, text::CONTENT_TYPE, text),
            Err(failed) => error(StatusCode::INTERNAL_SERVER_ERROR, &failed.to_string()),
        },
        _ => reload(shared, &busy).await,
    }
}

fn console() -> Answer {
    let page = CONSOLE.page.clone();
    let mut answer = whole(StatusCode::OK, "text/html; charset=utf-8", page);
    let policy = CONSOLE.policy.clone();
    answer.headers_mut().insert(CONTENT_SECURITY_POLICY, policy);
    answer
}

/// What is kept of the last hour; after a time, if the query names one.
fn history(shared: &Shared, query: Option<&str>) -> Answer {
    let since = match query {
        None => Some(0),
        Some(query) => query
            .strip_prefix("since=")
            .and_then(|since| since.parse().ok())
            .filter(|since| *since >= 0),
    };
    match since {
        Some(since) => json(StatusCode::OK, &shared.history.since(since)),
        None => {
            let what = "The query is since=TIME, milliseconds since the Unix epoch, or none";
            error(StatusCode::BAD_REQUEST, what)
        }
    }
}

fn reason(refusal: Refusal) -> &'static str {
    match refusal {
        Refusal::Host => "This Host is not served here; use localhost or a loopback address",
        Refusal::Origin => "No page of a browser but the console may ask this server",
        other => other.reason(),
    }
}

/// Has the components looked at again, on the threads of the server. That goes on when whoever asked
/// is gone.
async fn reload(shared: Arc<Shared>, busy: &AtomicBool) -> Answer {
    busy.store(true, Ordering::Relaxed);
    let server = Arc::clone(&shared.server);
    let reloading = async move { server.reload(Look::Everything).await };
    match shared.main.spawn(reloading).await {
        Ok(changes) => json(StatusCode::OK, &json!(changes)),
        Err(_) => error(StatusCode::SERVICE_UNAVAILABLE, "The server stops"),
    }
}

fn error(status: StatusCode, reason: &str) -> Answer {
    json(status, &json!({ "error": reason }))
}

fn json(status: StatusCode, value: &serde_json::Value) -> Answer {
    whole(status, "application/json", format!("{value}\n"))
}

fn whole(status: StatusCode, kind: &'static str, body: impl Into<Bytes>) -> Answer {
    let mut answer = Response::new(Full::new(body.into()));
    *answer.status_mut() = status;
    let headers = answer.headers_mut();
    for (name, value) in [
        (CONTENT_TYPE, kind),
        (CACHE_CONTROL, "no-store"),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (X_FRAME_OPTIONS, "DENY"),
        (REFERRER_POLICY, "no-referrer"),
        // The console has another.
        (
            CONTENT_SECURITY_POLICY,
            "default-src 'none'; frame-ancestors 'none'; sandbox",
        ),
        (RESOURCE_POLICY, "same-origin"),
        (OPENER_POLICY, "same-origin"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    answer
}
