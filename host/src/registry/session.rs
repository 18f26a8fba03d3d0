//! HTTP with one registry, for one pull or push: where it leads, how much it says, and how long.
//!
//! Invariant: what says who we are goes to the registry alone; nothing goes in the clear but to this
//! machine; all requests of a session together take `REGISTRY_TIME` at the most.

use super::credentials::Credentials;
use super::reference::is_loopback;
use super::{Reference, RegistryError};
use crate::limits::{REGISTRY_ANSWER_BYTES, REGISTRY_REDIRECTS};
use serde::Deserialize;
use std::io::Read as _;
use std::time::{Duration, Instant};
use ureq::http::header::{
    ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, LOCATION,
};
use ureq::http::{Method, Request, Response, StatusCode, Uri};
use ureq::{Agent, AsSendBody, Body};

/// What Docker's own registry is called by everybody, and where it is.
const DOCKER_HUB: (&str, &str) = ("docker.io", "registry-1.docker.io");

/// What is done in a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    Pull,
    Push,
}

pub(super) struct Session<'a> {
    pub(super) agent: &'a Agent,
    /// As it was written.
    host: String,
    /// `SCHEME://HOST`
    origin: String,
    pub(super) repository: String,
    pub(super) access: Access,
    pub(super) credentials: Credentials,
    authorization: Option<HeaderValue>,
    end: Instant,
}

/// One request.
pub(super) struct Ask<'a> {
    pub(super) method: Method,
    /// A path below the repository's, or a whole URL.
    pub(super) to: &'a str,
    pub(super) header: Option<(HeaderName, &'static str)>,
    pub(super) body: Option<&'a [u8]>,
    /// For errors.
    pub(super) what: &'a str,
}

impl<'a> Ask<'a> {
    pub(super) fn get(to: &'a str, accept: &'static str, what: &'a str) -> Self {
        Self {
            method: Method::GET,
            to,
            header: Some((ACCEPT, accept)),
            body: None,
            what,
        }
    }

    pub(super) fn send(method: Method, to: &'a str, body: &'a [u8], what: &'a str) -> Self {
        Self {
            method,
            to,
            header: Some((CONTENT_TYPE, "application/octet-stream")),
            body: Some(body),
            what,
        }
    }
}

#[derive(Deserialize)]
struct Errors {
    errors: Vec<ErrorCode>,
}

#[derive(Deserialize)]
struct ErrorCode {
    code: String,
}

impl<'a> Session<'a> {
    /// With the registry of a reference. `encrypted`: also if it is this machine.
    pub(super) fn new(
        agent: &'a Agent,
        encrypted: bool,
        time: Duration,
        reference: &Reference,
        access: Access,
    ) -> Result<Self, RegistryError> {
        let host = reference.host();
        let credentials = Credentials::of(host)
            .map_err(|reason| RegistryError::Credentials(host.to_owned(), reason))?;
        let scheme = match reference.is_loopback() && !encrypted {
            true => "http",
            false => "https",
        };
        let at = if host == DOCKER_HUB.0 {
            DOCKER_HUB.1
        } else {
            host
        };
        Ok(Self {
            agent,
            host: host.to_owned(),
            origin: format!("{scheme}://{at}"),
            repository: reference.repository().to_owned(),
            access,
            credentials,
            authorization: None,
            end: Instant::now() + time,
        })
    }

    /// Asks, as whom the registry wants us to be. What comes back is a success.
    pub(super) fn ask(&mut self, ask: &Ask<'_>) -> Result<Response<Body>, RegistryError> {
        let (mut answer, is_own) = self.follow(ask)?;
        // Again, too, if a token was good for less long than the session. Where the registry leads
        // to, nobody may ask who we are.
        if is_own
            && answer.status() == StatusCode::UNAUTHORIZED
            && let Some(authorization) = self.authorize(answer.headers())?
        {
            self.authorization = Some(authorization);
            (answer, _) = self.follow(ask)?;
        }
        match answer.status() {
            status if status.is_success() => Ok(answer),
            StatusCode::NOT_FOUND => Err(RegistryError::Missing(ask.what.to_owned())),
            _ => Err(self.refusal(ask.what, answer)),
        }
    }

    /// The text of an answer that may have so many bytes.
    pub(super) fn text(
        &self,
        mut answer: Response<Body>,
        what: &str,
        limit: (u64, &'static str),
    ) -> Result<Vec<u8>, RegistryError> {
        let (limit, name) = limit;
        let mut bytes = Vec::new();
        let mut reader = answer.body_mut().as_reader().take(limit + 1);
        reader
            .read_to_end(&mut bytes)
            .map_err(|error| self.broken(&ureq::Error::from(error)))?;
        if bytes.len() as u64 > limit {
            let what = what.to_owned();
            return Err(RegistryError::TooLarge { what, limit, name });
        }
        Ok(bytes)
    }

    /// The URL that an answer of the registry names for what comes next.
    pub(super) fn next(&self, headers: &HeaderMap, what: &str) -> Result<String, RegistryError> {
        self.next_after(&self.origin, headers, what)
    }

    /// The same, of an answer from elsewhere.
    fn next_after(
        &self,
        url: &str,
        headers: &HeaderMap,
        what: &str,
    ) -> Result<String, RegistryError> {
        let location = headers.get(LOCATION).and_then(|it| it.to_str().ok());
        let location = location.ok_or_else(|| self.malformed(what, "it names no Location"))?;
        match location.starts_with('/') && !location.starts_with("//") {
            true => Ok(format!("{}{location}", origin(url))),
            false => Ok(location.to_owned()),
        }
    }

    pub(super) fn malformed(&self, what: &str, reason: impl Into<String>) -> RegistryError {
        RegistryError::Malformed {
            host: self.host.clone(),
            what: what.to_owned(),
            reason: reason.into(),
        }
    }

    /// What an error of the connection means.
    pub(super) fn broken(&self, error: &ureq::Error) -> RegistryError {
        let timeout = |error: &std::io::Error| error.kind() == std::io::ErrorKind::TimedOut;
        let late = match error {
            ureq::Error::Timeout(_) => true,
            ureq::Error::Io(error) => timeout(error),
            _ => false,
        };
        let host = self.host.clone();
        if late && self.left().is_zero() {
            return RegistryError::Late(host);
        }
        // Some errors show a URL, which may hold a secret.
        let reason = match error {
            ureq::Error::BadUri(_) => "an address cannot be read".to_owned(),
            error => error.to_string(),
        };
        RegistryError::Unreachable { host, reason }
    }

    pub(super) fn left(&self) -> Duration {
        self.end.saturating_duration_since(Instant::now())
    }

    /// Asks, and goes where the answer leads. Is the last one the registry's own?
    fn follow(&self, ask: &Ask<'_>) -> Result<(Response<Body>, bool), RegistryError> {
        let mut url = match ask.to.starts_with('/') {
            true => format!("{}/v2/{}{}", self.origin, self.repository, ask.to),
            false => ask.to.to_owned(),
        };
        for _ in 0..=REGISTRY_REDIRECTS {
            let answer = match ask.body {
                None => self.one(ask, &url, ())?,
                Some(body) => self.one(ask, &url, body)?,
            };
            if !answer.status().is_redirection() || ask.body.is_some() {
                return Ok((answer, self.is_own(&url)));
            }
            url = self.next_after(&url, answer.headers(), ask.what)?;
        }
        Err(RegistryError::Redirects(self.host.clone()))
    }

    fn one(
        &self,
        ask: &Ask<'_>,
        url: &str,
        body: impl AsSendBody,
    ) -> Result<Response<Body>, RegistryError> {
        let uri = self.allowed(url, ask.what)?;
        let mut request = Request::builder().method(&ask.method).uri(uri);
        if let Some((name, value)) = &ask.header {
            request = request.header(name, *value);
        }
        let authorization = self.authorization.as_ref();
        if let Some(value) = authorization.filter(|_| self.is_own(url)) {
            request = request.header(AUTHORIZATION, value);
        }
        let request = request
            .body(body)
            .map_err(|error| self.malformed(ask.what, error.to_string()))?;
        let request = self.agent.configure_request(request);
        let request = request.timeout_global(Some(self.left())).build();
        self.agent.run(request).map_err(|error| self.broken(&error))
    }

    /// Is it the registry itself?
    fn is_own(&self, url: &str) -> bool {
        let rest = url.strip_prefix(&self.origin);
        rest.is_some_and(|rest| rest.starts_with('/'))
    }

    /// A URL that may be asked.
    pub(super) fn allowed(&self, url: &str, what: &str) -> Result<Uri, RegistryError> {
        let uri: Uri = url
            .parse()
            .map_err(|_| self.malformed(what, "an address in it cannot be read"))?;
        let host = uri.host().unwrap_or_default();
        let good = match uri.scheme_str() {
            Some("https") => !host.is_empty(),
            Some("http") => self.origin.starts_with("http://") && is_loopback(host),
            _ => false,
        };
        if good {
            return Ok(uri);
        }
        let scheme = uri.scheme_str().unwrap_or_default();
        Err(RegistryError::Insecure {
            host: self.host.clone(),
            place: format!("{scheme}://{host}"),
        })
    }

    pub(super) fn refusal(&self, what: &str, answer: Response<Body>) -> RegistryError {
        let status = answer.status();
        let limit = (REGISTRY_ANSWER_BYTES, "REGISTRY_ANSWER_BYTES");
        let text = self.text(answer, what, limit).unwrap_or_default();
        // The specification's codes, and nothing else that a registry may say: it has our secrets.
        let codes = serde_json::from_slice(&text).map_or_else(
            |_| Vec::new(),
            |Errors { errors }| errors.into_iter().map(|it| it.code).collect(),
        );
        let is_code = |code: &String| {
            code.len() <= 32 && code.bytes().all(|it| it.is_ascii_uppercase() || it == b'_')
        };
        let codes: Vec<String> = codes.into_iter().filter(is_code).take(4).collect();
        let answer = match codes.is_empty() {
            true => status.to_string(),
            false => format!("{status} ({})", codes.join(", ")),
        };
        let (host, what) = (self.host.clone(), what.to_owned());
        match status {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => RegistryError::Denied {
                host,
                what,
                how: self.credentials.kind(),
                answer,
            },
            _ => RegistryError::Refused { host, what, answer },
        }
    }
}

/// `SCHEME://HOST` of a URL.
fn origin(url: &str) -> &str {
    let host = url.find("://").map_or(0, |at| at + 3);
    let path = url[host..].find(['/', '?']);
    path.map_or(url, |at| &url[..host + at])
}
