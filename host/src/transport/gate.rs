//! What is checked before a body is read: where the request comes from, and what it wants
//! (MCP 2026-07-28, "Streamable HTTP", security; the order is the specification's).
//!
//! Invariant: a browser page from elsewhere, or a name that was made to point here, gets 403 and
//! nothing else (DNS rebinding).

use crate::limits::ServerLimits;
use crate::server::SESSION_HEADER;
use hyper::header::{
    ACCEPT, CONTENT_LENGTH, CONTENT_TYPE, HOST, HeaderMap, HeaderName, HeaderValue, ORIGIN,
    TRANSFER_ENCODING,
};
use hyper::{Method, StatusCode, Uri};

/// The one path of the endpoint.
pub(super) const PATH: &str = "/mcp";

/// Where a protected resource's metadata is.
const WELL_KNOWN: &str = "/.well-known/oauth-protected-resource";

/// Why a request is refused without a look at its body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    Hosts,
    Host,
    Origin,
    Coding,
    Path,
    Method,
    ContentType,
    Accept,
    TooLarge,
}

impl Refusal {
    pub(crate) fn status(self) -> StatusCode {
        match self {
            Self::Hosts => StatusCode::BAD_REQUEST,
            Self::Host | Self::Origin => StatusCode::FORBIDDEN,
            Self::Coding => StatusCode::NOT_IMPLEMENTED,
            Self::Path => StatusCode::NOT_FOUND,
            Self::Method => StatusCode::METHOD_NOT_ALLOWED,
            Self::ContentType => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::Accept => StatusCode::NOT_ACCEPTABLE,
            Self::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
        }
    }

    pub(crate) fn reason(self) -> &'static str {
        match self {
            Self::Hosts => "A request has one Host",
            Self::Coding => "Transfer-Encoding may be chunked, and nothing else",
            Self::Host => "This Host is not served here; see server.allowed-hosts",
            Self::Origin => "This Origin may not call; see server.allowed-origins",
            Self::Path => "There is nothing here; the endpoint is /mcp",
            Self::Method => "Only POST is served",
            Self::ContentType => "Content-Type must be application/json",
            Self::Accept => "Accept must allow application/json or text/event-stream",
            Self::TooLarge => "The body is larger than server.max-body-bytes",
        }
    }

    /// True if another reader could see another request, or another end of it: none may follow.
    pub(super) fn closes(self) -> bool {
        matches!(self, Self::Hosts | Self::Coding)
    }
}

/// What a request with a good head is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A message, and what its client accepts as an answer.
    Message(Accepts),
    /// A client of an earlier revision opens the stream of its session.
    Stream,
}

/// What the client accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Accepts {
    pub(super) json: bool,
    pub(super) events: bool,
    /// Events rather than JSON: they have the greater weight, or the same and were named first.
    pub(super) prefers_events: bool,
}

/// Checks a request's head.
pub(super) fn check(
    method: &Method,
    uri: &Uri,
    headers: &HeaderMap,
    limits: &ServerLimits,
    loopback: bool,
) -> Result<Kind, Refusal> {
    check_source(uri, headers, limits, loopback)?;
    if !is_coding_known(headers) {
        return Err(Refusal::Coding);
    }
    if uri.path() != PATH {
        return Err(Refusal::Path);
    }
    if method == Method::GET && headers.contains_key(SESSION_HEADER) {
        let accepts = accepts(headers).events;
        return accepts.then_some(Kind::Stream).ok_or(Refusal::Accept);
    }
    if method != Method::POST {
        return Err(Refusal::Method);
    }
    let content_type = text(headers, CONTENT_TYPE).unwrap_or_default();
    if !media_type(content_type).eq_ignore_ascii_case("application/json") {
        return Err(Refusal::ContentType);
    }
    let mut accepts = accepts(headers);
    if !accepts.json && !accepts.events {
        return Err(Refusal::Accept);
    }
    // Clients of earlier revisions have sessions, and expect to resume streams: no more than it takes.
    accepts.prefers_events &= !headers.contains_key(SESSION_HEADER);
    Ok(Kind::Message(accepts))
}

/// Checks where a request comes from: by which name, and from which page.
pub(crate) fn check_source(
    uri: &Uri,
    headers: &HeaderMap,
    limits: &ServerLimits,
    loopback: bool,
) -> Result<(), Refusal> {
    if headers.get_all(HOST).iter().nth(1).is_some() {
        return Err(Refusal::Hosts);
    }
    // RFC 9112, 3.2.2: a target's own authority counts.
    let target = uri.authority().map(|authority| authority.as_str());
    let host = target.or_else(|| text(headers, HOST));
    if loopback && !host.is_some_and(|host| is_own_host(host, limits)) {
        return Err(Refusal::Host);
    }
    let is_allowed = |origin: &HeaderValue| {
        let origin = origin.to_str();
        origin.is_ok_and(|origin| is_allowed_origin(origin, host, limits))
    };
    let mut origins = headers.get_all(ORIGIN).iter();
    if !origins.next().is_none_or(is_allowed) || origins.next().is_some() {
        return Err(Refusal::Origin);
    }
    Ok(())
}

/// A body comes as it is or in chunks, and nothing undoes other codings (RFC 9112, 6.1).
fn is_coding_known(headers: &HeaderMap) -> bool {
    let mut codings = headers.get_all(TRANSFER_ENCODING).iter();
    let is_chunked = |coding: &HeaderValue| coding.as_bytes().eq_ignore_ascii_case(b"chunked");
    codings.next().is_none_or(is_chunked) && codings.next().is_none()
}

/// Checks the length that a body is said to have.
pub(super) fn check_length(headers: &HeaderMap, limits: &ServerLimits) -> Result<(), Refusal> {
    let length = text(headers, CONTENT_LENGTH).and_then(|length| length.parse::<u64>().ok());
    match length {
        Some(length) if length > limits.max_body_bytes as u64 => Err(Refusal::TooLarge),
        _ => Ok(()),
    }
}

/// Is it the address where clients look for the authorization server (RFC 9728, section 3.1)?
pub(super) fn is_metadata(method: &Method, uri: &Uri) -> bool {
    let rest = uri.path().strip_prefix(WELL_KNOWN);
    method == Method::GET && rest.is_some_and(|rest| rest.is_empty() || rest == PATH)
}

fn text(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    headers.get(name)?.to_str().ok()
}

/// A server on a loopback address answers to loopback names, whatever the port.
fn is_own_host(host: &str, limits: &ServerLimits) -> bool {
    // A user's name is no part of a host, and may look like one.
    if host.contains('@') {
        return false;
    }
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    let loopback = ["localhost", "127.0.0.1", "::1"];
    loopback.iter().any(|own| name.eq_ignore_ascii_case(own))
        || limits
            .allowed_hosts
            .iter()
            .any(|own| name.eq_ignore_ascii_case(own) || host.eq_ignore_ascii_case(own))
}

/// The server's own pages, and those that the operator named.
fn is_allowed_origin(origin: &str, host: Option<&str>, limits: &ServerLimits) -> bool {
    let own = origin
        .strip_prefix("http://")
        .or_else(|| origin.strip_prefix("https://"));
    own.zip(host)
        .is_some_and(|(own, host)| own.eq_ignore_ascii_case(host))
        || limits
            .allowed_origins
            .iter()
            .any(|allowed| origin.eq_ignore_ascii_case(allowed))
}

/// What most clients send, and what need not be taken apart.
const USUAL: &str = "application/json, text/event-stream";

/// No `Accept` at all accepts JSON: only who names streams gets one. Ranges have weights (RFC 9110,
/// 12.4.2).
fn accepts(headers: &HeaderMap) -> Accepts {
    if !headers.contains_key(ACCEPT) {
        return Accepts {
            json: true,
            events: false,
            prefers_events: false,
        };
    }
    let mut values = headers.get_all(ACCEPT).iter();
    if let (Some(value), None) = (values.next(), values.next())
        && value.as_bytes() == USUAL.as_bytes()
    {
        return Accepts {
            json: true,
            events: true,
            prefers_events: false,
        };
    }
    let values = headers.get_all(ACCEPT).iter();
    let ranges = values.flat_map(|value| value.to_str().unwrap_or_default().split(','));
    // The greatest weight of each, and its place from behind: the earlier of equal ones wins.
    let (mut json, mut events) = ((0, 0), (0, 0));
    for (place, range) in ranges.enumerate() {
        let rank = (weight(range), usize::MAX - place);
        let range = media_type(range);
        let is_one_of = |names: [&str; 3]| names.iter().any(|it| range.eq_ignore_ascii_case(it));
        if is_one_of(["application/json", "application/*", "*/*"]) {
            json = json.max(rank);
        }
        if is_one_of(["text/event-stream", "text/*", "*/*"]) {
            events = events.max(rank);
        }
    }
    Accepts {
        json: json.0 > 0,
        events: events.0 > 0,
        prefers_events: events > json,
    }
}

/// A range's weight, in thousandths. One that cannot be read counts as none given.
fn weight(range: &str) -> u16 {
    let named = range.split(';').skip(1).find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        let is_weight = name.trim().eq_ignore_ascii_case("q");
        is_weight.then(|| value.trim().parse::<f32>().ok())?
    });
    let weight = named.filter(|weight| (0.0..=1.0).contains(weight));
    (weight.unwrap_or(1.0) * 1_000.0) as u16
}

fn media_type(value: &str) -> &str {
    value.split(';').next().unwrap_or_default().trim()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let parse = |(name, value): &(&'static str, &str)| {
            (HeaderName::from_static(name), value.parse().unwrap())
        };
        let mut headers = HeaderMap::new();
        for (name, value) in pairs.iter().map(parse) {
            headers.append(name, value);
        }
        headers
    }

    fn post(pairs: &[(&'static str, &str)]) -> Result<Accepts, Refusal> {
        to("/mcp", pairs)
    }

    fn to(target: &str, pairs: &[(&'static str, &str)]) -> Result<Accepts, Refusal> {
        let limits = ServerLimits {
            allowed_origins: vec!["https://ok.example".to_owned()],
            allowed_hosts: vec!["mcp.example".to_owned()],
            ..ServerLimits::default()
        };
        let mut all = vec![("content-type", "application/json; charset=utf-8")];
        all.extend_from_slice(pairs);
        let target = target.parse().unwrap();
        match check(&Method::POST, &target, &head(&all), &limits, true)? {
            Kind::Message(accepts) => Ok(accepts),
            Kind::Stream => panic!("a POST is a message"),
        }
    }

    #[test]
    fn a_stream_is_opened_by_whoever_names_a_session_and_accepts_events() {
        let get = |pairs: &[(&'static str, &str)]| {
            let mut all = vec![("host", "localhost")];
            all.extend_from_slice(pairs);
            let limits = ServerLimits::default();
            check(
                &Method::GET,
                &"/mcp".parse().unwrap(),
                &head(&all),
                &limits,
                true,
            )
        };
        let session = ("mcp-session-id", "x");
        let events = ("accept", "text/event-stream");
        assert_eq!(get(&[session, events]), Ok(Kind::Stream));
        assert_eq!(get(&[session]), Err(Refusal::Accept));
        assert_eq!(get(&[events]), Err(Refusal::Method));
    }

    #[test]
    fn only_own_names_are_served() {
        for host in [
            "localhost",
            "LOCALHOST:80",
            "127.0.0.1:8080",
            "[::1]:8080",
            "mcp.example",
        ] {
            assert!(post(&[("host", host)]).is_ok(), "{host}");
        }
        for host in [
            "evil.example.com",
            "127.0.0.1.evil.example",
            "localhost.evil",
            "127.0.0.1:x@evil.example",
            "",
        ] {
            assert_eq!(post(&[("host", host)]), Err(Refusal::Host), "{host}");
        }
        assert_eq!(post(&[]), Err(Refusal::Host));
    }

    #[test]
    fn only_own_and_named_origins_may_call() {
        let from = |origin: &str| post(&[("host", "127.0.0.1:1"), ("origin", origin)]);
        assert!(from("http://127.0.0.1:1").is_ok() && from("https://ok.example").is_ok());
        for origin in [
            "http://127.0.0.1:2",
            "http://evil.example.com",
            "null",
            "127.0.0.1:1",
            "",
        ] {
            assert_eq!(from(origin), Err(Refusal::Origin), "{origin}");
        }
    }

    #[test]
    fn a_request_has_one_host_one_origin_and_one_coding() {
        let own = ("host", "127.0.0.1");
        for host in ["127.0.0.1", "evil.example"] {
            assert_eq!(to("/mcp", &[own, ("host", host)]), Err(Refusal::Hosts));
        }
        let origin = ("origin", "http://127.0.0.1");
        for second in ["http://127.0.0.1", "http://evil.example"] {
            let headers = [own, origin, ("origin", second)];
            assert_eq!(to("/mcp", &headers), Err(Refusal::Origin));
        }
        // The target's authority counts, whatever the header says.
        assert_eq!(to("http://evil.example/mcp", &[own]), Err(Refusal::Host));
        let evil = ("host", "evil.example");
        assert!(to("http://localhost:80/mcp", &[evil]).is_ok());
        let coding = |coding| to("/mcp", &[own, ("transfer-encoding", coding)]);
        assert!(coding("Chunked").is_ok());
        for unknown in ["gzip, chunked", "chunked, chunked", "identity"] {
            assert_eq!(coding(unknown), Err(Refusal::Coding), "{unknown}");
        }
        let chunked = ("transfer-encoding", "chunked");
        assert_eq!(to("/mcp", &[own, chunked, chunked]), Err(Refusal::Coding));
    }

    #[test]
    fn what_is_accepted_decides_the_form_of_the_answer() {
        let accept = |accept: &str| {
            post(&[("host", "localhost"), ("accept", accept)])
                .map(|a| (a.json, a.events, a.prefers_events))
        };
        let both = "application/json, text/event-stream";
        assert_eq!(accept(both), Ok((true, true, false)));
        let streams_first = "text/event-stream, application/json";
        assert_eq!(accept(streams_first), Ok((true, true, true)));
        let weighted = "text/event-stream;q=0.5, application/json; q=0.9";
        assert_eq!(accept(weighted), Ok((true, true, false)));
        let weighted = "application/json;Q=0.5, text/event-stream";
        assert_eq!(accept(weighted), Ok((true, true, true)));
        let session = ("mcp-session-id", "s");
        let earlier = post(&[("host", "localhost"), ("accept", streams_first), session]);
        assert_eq!(earlier.map(|a| a.prefers_events), Ok(false));
        assert_eq!(accept("*/*"), Ok((true, true, false)));
        assert_eq!(
            accept("text/event-stream, */*;q=0.1"),
            Ok((true, true, true))
        );
        assert_eq!(accept("application/json;q=0.9"), Ok((true, false, false)));
        assert_eq!(accept("text/event-stream"), Ok((false, true, true)));
        let refused = "application/json;q=0, text/event-stream";
        assert_eq!(accept(refused), Ok((false, true, true)));
        assert_eq!(accept("text/html"), Err(Refusal::Accept));
        assert_eq!(accept("application/json;q=0"), Err(Refusal::Accept));
        for nonsense in [
            "application/json;q=much",
            "application/json;q=9",
            "application/json;q",
        ] {
            assert_eq!(accept(nonsense), Ok((true, false, false)), "{nonsense}");
        }
        assert_eq!(
            post(&[("host", "localhost")]).map(|a| (a.json, a.events, a.prefers_events)),
            Ok((true, false, false))
        );
    }
}
