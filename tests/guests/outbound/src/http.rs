//! Requests by `wasi:http`, told as JSON.

use cofferdam_guest::prelude::*;
use serde_json::{Value, json};
use wasip2::http::outgoing_handler::handle;
use wasip2::http::types::{
    ErrorCode, Fields, FutureIncomingResponse, IncomingBody, IncomingResponse, Method,
    OutgoingBody, OutgoingRequest, RequestOptions, Scheme,
};
use wasip2::io::poll::Pollable;
use wasip2::io::streams::StreamError;

/// A request.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub(crate) struct Request {
    /// `GET` if left out.
    pub(crate) method: Option<String>,
    /// `http://` or `https://`.
    pub(crate) url: String,
    /// Names and values.
    pub(crate) headers: Vec<(String, String)>,
    /// So many headers more.
    pub(crate) flood: u32,
    /// So many bytes of body.
    pub(crate) body: Option<usize>,
    /// Say in a header that the body has so many.
    pub(crate) length: Option<u64>,
    /// Never finish the body.
    pub(crate) unfinished: bool,
    /// Time to the first byte, milliseconds.
    pub(crate) patience: Option<u64>,
    /// How much of the answer's body to tell, bytes; all if left out.
    pub(crate) tell: Option<usize>,
}

impl Request {
    pub(crate) fn post(url: &str) -> Self {
        Self {
            method: Some("POST".to_owned()),
            url: url.to_owned(),
            ..Self::default()
        }
    }

    /// Sends it, and waits for the answer.
    pub(crate) fn send(&self) -> Value {
        self.begin().take()
    }

    /// Sends it.
    pub(crate) fn begin(&self) -> Pending {
        Pending {
            future: self.hand_over(),
            tell: self.tell.unwrap_or(usize::MAX),
        }
    }

    fn hand_over(&self) -> Result<FutureIncomingResponse, Value> {
        let headers = Fields::new();
        let length = self
            .length
            .map(|it| ("content-length".to_owned(), it.to_string()));
        let flood = (0..self.flood).map(|number| (format!("x-{number}"), "flood".to_owned()));
        let own = self.headers.iter().chain(&length).cloned();
        for (name, value) in own.chain(flood) {
            let added = headers.append(&name, value.as_bytes());
            added.map_err(|error| json!({ "error": format!("header: {error:?}") }))?;
        }
        let request = OutgoingRequest::new(headers);
        let refused = |()| json!({ "error": "the request cannot be made" });
        let (scheme, rest) = self.url.split_once("://").unwrap_or(("https", &self.url));
        let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        let scheme = match scheme {
            "http" => Scheme::Http,
            "https" => Scheme::Https,
            other => Scheme::Other(other.to_owned()),
        };
        let method = match self.method.as_deref() {
            None => Method::Get,
            Some("POST") => Method::Post,
            Some(other) => Method::Other(other.to_owned()),
        };
        request.set_method(&method).map_err(refused)?;
        request.set_scheme(Some(&scheme)).map_err(refused)?;
        request.set_authority(Some(authority)).map_err(refused)?;
        request.set_path_with_query(Some(path)).map_err(refused)?;
        let body = match self.body {
            None if !self.unfinished => None,
            _ => Some(request.body().map_err(refused)?),
        };
        let options = RequestOptions::new();
        if let Some(patience) = self.patience {
            let _ = options.set_first_byte_timeout(Some(patience * 1_000_000));
        }
        let future = handle(request, Some(options)).map_err(|error| told(&error))?;
        if let Some(body) = body {
            write(&body, self.body.unwrap_or_default())?;
            if self.unfinished {
                // Kept open for as long as the call lives.
                std::mem::forget(body);
            } else {
                OutgoingBody::finish(body, None).map_err(|error| told(&error))?;
            }
        }
        Ok(future)
    }
}

/// Writes as the documentation of the interface shows.
fn write(body: &OutgoingBody, mut left: usize) -> Result<(), Value> {
    let failed = |error: StreamError| match error {
        StreamError::Closed => json!({ "error": "write: closed" }),
        StreamError::LastOperationFailed(error) => {
            json!({ "error": format!("write: {}", error.to_debug_string()) })
        }
    };
    let stream = body.write().map_err(|()| json!({ "error": "no stream" }))?;
    let ready = stream.subscribe();
    while left > 0 {
        ready.block();
        let room = stream.check_write().map_err(failed)?;
        let part = left.min(usize::try_from(room).unwrap_or(usize::MAX));
        stream.write(&vec![b'x'; part]).map_err(failed)?;
        left -= part;
    }
    stream.flush().map_err(failed)
}

/// A request under way.
pub(crate) struct Pending {
    future: Result<FutureIncomingResponse, Value>,
    tell: usize,
}

impl Pending {
    pub(crate) fn subscribe(&self) -> Pollable {
        match &self.future {
            Ok(future) => future.subscribe(),
            Err(_) => wasip2::clocks::monotonic_clock::subscribe_duration(0),
        }
    }

    /// What came of it, if it is there.
    pub(crate) fn look(&self) -> Option<Value> {
        match &self.future {
            Err(error) => Some(error.clone()),
            Ok(future) => match future.get()? {
                Ok(Ok(response)) => Some(answer(response, self.tell)),
                Ok(Err(error)) => Some(told(&error)),
                Err(()) => Some(json!({ "error": "taken twice" })),
            },
        }
    }

    /// What comes of it.
    pub(crate) fn take(self) -> Value {
        loop {
            if let Some(answer) = self.look() {
                return answer;
            }
            self.subscribe().block();
        }
    }
}

fn answer(response: IncomingResponse, most: usize) -> Value {
    let headers = response.headers().entries();
    let headers = headers
        .into_iter()
        .map(|(name, value)| (name, String::from_utf8_lossy(&value).into_owned()));
    let headers: Vec<_> = headers.collect();
    let status = response.status();
    let (length, body) = match response.consume() {
        Ok(body) => read(&body, most),
        Err(()) => (0, String::new()),
    };
    json!({ "status": status, "headers": headers, "length": length, "body": body })
}

fn read(body: &IncomingBody, most: usize) -> (usize, String) {
    let mut bytes = Vec::new();
    if let Ok(stream) = body.stream() {
        while let Ok(part) = stream.blocking_read(64 << 10) {
            bytes.extend(part);
        }
    }
    let told = bytes.len().min(most);
    (
        bytes.len(),
        String::from_utf8_lossy(&bytes[..told]).into_owned(),
    )
}

fn told(error: &ErrorCode) -> Value {
    json!({ "error": format!("{error:?}") })
}
