//! What a request of the operator comes to.
//!
//! Invariant: where it comes from is checked first, then who asks; only then is anything looked at.

use super::http::Shared;
use super::{Status, text};
use crate::catalog::Look;
use crate::limits::ServerLimits;
use crate::transport::{Refusal, check_source};
use bytes::Bytes;
use http_body_util::Full;
use hyper::header::{
    ALLOW, CACHE_CONTROL, CONTENT_TYPE, HeaderMap, HeaderValue, ORIGIN, WWW_AUTHENTICATE,
};
use hyper::http::request::Parts;
use hyper::{Method, Response, StatusCode, Uri};
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

type Answer = Response<Full<Bytes>>;

/// Answers a request. It is `busy` while something must be waited for that its client wants the end of.
pub(super) async fn answer(head: Parts, shared: Arc<Shared>, busy: Arc<AtomicBool>) -> Answer {
    if let Err(refusal) = check(&head.uri, &head.headers, shared.loopback) {
        return error(refusal.status(), reason(refusal));
    }
    let method = match head.uri.path() {
        "/health" | "/status" | "/metrics" => Method::GET,
        "/reload" => Method::POST,
        _ => {
            let what = "There is nothing here; there are /health, /status, /metrics and /reload";
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
        "/metrics" => match text::encode(&shared.server).await {
            Ok(text) => whole(StatusCode::OK, text::CONTENT_TYPE, text),
            Err(failed) => error(StatusCode::INTERNAL_SERVER_ERROR, &failed.to_string()),
        },
        _ => reload(shared, &busy).await,
    }
}

/// A request comes by a name of this machine, if it is to, and from no page: there are none of this
/// server's own.
fn check(uri: &Uri, headers: &HeaderMap, loopback: bool) -> Result<(), Refusal> {
    // No name and no origin beside the server's own.
    check_source(uri, headers, &ServerLimits::default(), loopback)?;
    // Browsers say so of all that a page asks for, and of nothing that a person typed.
    let from_page = headers
        .get("sec-fetch-site")
        .is_some_and(|site| site != "none");
    if headers.contains_key(ORIGIN) || from_page {
        return Err(Refusal::Origin);
    }
    Ok(())
}

fn reason(refusal: Refusal) -> &'static str {
    match refusal {
        Refusal::Host => "This Host is not served here; use localhost or a loopback address",
        Refusal::Origin => "No page of a browser may ask this server",
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
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    answer
}
