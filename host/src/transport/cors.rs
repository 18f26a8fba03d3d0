//! What lets the pages of allowed origins read answers (the Fetch standard, "CORS protocol").
//!
//! Invariant: a page whose origin may not call gets none of these headers, whatever it asks for; a
//! preflight says what may be asked, and does nothing else.

use super::gate;
use crate::limits::ServerLimits;
use hyper::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_HEADERS,
    ACCESS_CONTROL_REQUEST_METHOD, HeaderMap, HeaderValue, ORIGIN, VARY,
};
use hyper::http::request::Parts;
use hyper::{Method, Response};

/// How long a browser may keep the answer to a preflight, seconds.
const MAX_AGE: HeaderValue = HeaderValue::from_static("600");

/// The origin of the page that calls, if it may.
pub(super) fn page(head: &Parts, limits: &ServerLimits, loopback: bool) -> Option<HeaderValue> {
    let origin = head.headers.get(ORIGIN)?;
    gate::check_source(&head.uri, &head.headers, limits, loopback).ok()?;
    Some(origin.clone())
}

/// True if a browser asks whether a page may call.
pub(super) fn is_preflight(head: &Parts) -> bool {
    let asks = head.headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD);
    let known = head.uri.path() == gate::PATH || gate::is_metadata(&Method::GET, &head.uri);
    head.method == Method::OPTIONS && asks && known
}

/// Answers a preflight: the methods there are, and the headers that were asked for.
pub(super) fn allow<B>(response: &mut Response<B>, asked: &HeaderMap) {
    let headers = response.headers_mut();
    let methods = HeaderValue::from_static("GET, POST");
    headers.insert(ACCESS_CONTROL_ALLOW_METHODS, methods);
    // Arguments may be repeated in headers of any name, so there is no list of them.
    if let Some(asked) = asked.get(ACCESS_CONTROL_REQUEST_HEADERS) {
        headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, asked.clone());
    }
    headers.insert(ACCESS_CONTROL_MAX_AGE, MAX_AGE);
}

/// Lets a page read an answer.
pub(super) fn mark<B>(response: &mut Response<B>, page: HeaderValue) {
    let headers = response.headers_mut();
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, page);
    // Where it gets a token, and, in earlier revisions, its session.
    let exposed = HeaderValue::from_static("WWW-Authenticate, Mcp-Session-Id");
    headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, exposed);
    headers.append(VARY, HeaderValue::from_static("Origin"));
}
