//! One request, from the check of its host to the last byte of its answer.

use super::answer::{Answer, Failure};
use super::dial::{DialError, dial};
use crate::grants::{Http, Scheme};
use bytes::Bytes;
use http_body_util::{BodyExt as _, Full, LengthLimitError, Limited};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper::header::HOST;
use hyper::http::uri::PathAndQuery;
use hyper::{Request, Response, Uri};
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use std::future::Future;
use std::io;
use std::pin::pin;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

/// What a guest asks for, beside the request.
#[derive(Clone, Copy, Debug, Default)]
pub struct Asked {
    /// Shorter time to connect.
    pub connect: Option<Duration>,
    /// Shorter time to the answer's head.
    pub first_byte: Option<Duration>,
    /// Shorter time between two parts of the answer's body.
    pub between_bytes: Option<Duration>,
}

/// A stream of bytes, in the clear or not.
trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

/// Sends a request that a guest was granted, and reads the whole answer.
pub async fn send(grant: &Http, request: Request<Bytes>, asked: Asked) -> Answer {
    match exchange(grant, request, asked).await {
        Ok(answer) => answer,
        Err(failure) => Answer::Failed(failure),
    }
}

async fn exchange(grant: &Http, request: Request<Bytes>, asked: Asked) -> Result<Answer, Failure> {
    let (scheme, host, port) = target(request.uri()).ok_or(Failure::Url)?;
    if !grant.covers(scheme, host, port) {
        return Err(Failure::NotGranted);
    }
    let _open = grant
        .connections()
        .try_acquire()
        .map_err(|_| Failure::Connections)?;
    let limits = grant.limits();
    let connect = shorter(Duration::from_millis(limits.connect_ms), asked.connect);
    let stream = timeout(connect, connect_to(grant, scheme, host, port));
    let stream = stream.await.map_err(|_| Failure::ConnectTime)??;
    let whole = timeout(
        Duration::from_millis(limits.total_ms),
        talk(grant, stream, request, asked),
    );
    whole.await.map_err(|_| Failure::Time)?
}

/// Scheme, host without brackets, and port.
fn target(uri: &Uri) -> Option<(Scheme, &str, u16)> {
    let authority = uri.authority()?;
    if authority.as_str().contains('@') {
        return None;
    }
    let (scheme, usual) = match uri.scheme_str()? {
        "https" => (Scheme::Https, 443),
        "http" => (Scheme::Http, 80),
        _ => return None,
    };
    let host = authority.host();
    let host = host
        .strip_prefix('[')
        .and_then(|host| host.strip_suffix(']'))
        .unwrap_or(host);
    // A port that is no number is not the scheme's port.
    let port = match authority.port() {
        Some(port) => port.as_u16(),
        None if authority.as_str().len() > authority.host().len() => return None,
        None => usual,
    };
    (!host.is_empty() && port != 0).then_some((scheme, host, port))
}

fn shorter(limit: Duration, asked: Option<Duration>) -> Duration {
    asked.map_or(limit, |asked| asked.min(limit))
}

async fn connect_to(
    grant: &Http,
    scheme: Scheme,
    host: &str,
    port: u16,
) -> Result<Box<dyn Stream>, Failure> {
    let stream = dial(host, port, grant.addresses())
        .await
        .map_err(|error| match error {
            DialError::NotFound(_) => Failure::NotFound,
            DialError::NotPublic(_) => Failure::NotPublic,
            DialError::Connect(_) => Failure::Refused,
        })?;
    if scheme != Scheme::Https {
        return Ok(Box::new(stream));
    }
    let name = ServerName::try_from(host.trim_end_matches('.').to_owned());
    let name = name.map_err(|error| Failure::Tls(error.to_string()))?;
    let connector = TlsConnector::from(grant.tls().clone());
    let stream = connector.connect(name, stream).await;
    Ok(Box::new(stream.map_err(|error| no_tls(&error))?))
}

fn no_tls(error: &io::Error) -> Failure {
    let cause = error.get_ref().and_then(|it| it.downcast_ref());
    match cause {
        Some(rustls::Error::InvalidCertificate(reason)) => Failure::Certificate(reason.to_string()),
        _ => Failure::Tls(error.to_string()),
    }
}

async fn talk(
    grant: &Http,
    stream: Box<dyn Stream>,
    request: Request<Bytes>,
    asked: Asked,
) -> Result<Answer, Failure> {
    let limits = grant.limits();
    let (mut sender, connection) = http1::Builder::new()
        .max_buf_size(limits.header_bytes)
        .handshake::<_, Full<Bytes>>(TokioIo::new(stream))
        .await
        .map_err(|_| Failure::Protocol)?;
    // The connection and what is said on it go on together, and end together.
    let mut connection = pin!(connection);
    let answer = async {
        let response = sender.send_request(origin_form(request));
        let response = within(asked.first_byte, response).await?;
        let response = response.map_err(|error| failure(&error, grant))?;
        read(response, limits.response_bytes, asked.between_bytes).await
    };
    let mut answer = pin!(answer);
    tokio::select! {
        biased;
        answer = &mut answer => answer,
        // It may end when the answer is read only in part.
        _ = &mut connection => answer.await,
    }
}

/// To the server itself the URL has only a path; where it goes stands in `Host`.
fn origin_form(mut request: Request<Bytes>) -> Request<Full<Bytes>> {
    let host = request.uri().authority().map(|it| it.as_str().parse());
    if let Some(Ok(host)) = host {
        request.headers_mut().insert(HOST, host);
    }
    let path = request.uri().path_and_query().cloned();
    *request.uri_mut() = Uri::from(path.unwrap_or_else(|| PathAndQuery::from_static("/")));
    request.map(Full::new)
}

async fn within<F: Future>(time: Option<Duration>, future: F) -> Result<F::Output, Failure> {
    match time {
        None => Ok(future.await),
        Some(time) => timeout(time, future).await.map_err(|_| Failure::Time),
    }
}

fn failure(error: &hyper::Error, grant: &Http) -> Failure {
    if error.is_parse_too_large() {
        return Failure::Head(u32::try_from(grant.limits().header_bytes).unwrap_or(u32::MAX));
    }
    Failure::Protocol
}

async fn read(
    response: Response<Incoming>,
    most: usize,
    between: Option<Duration>,
) -> Result<Answer, Failure> {
    let (head, body) = response.into_parts();
    let mut body = Limited::new(body, most);
    let mut bytes = Vec::new();
    while let Some(frame) = within(between, body.frame()).await? {
        let frame = frame.map_err(|error| {
            if error.is::<LengthLimitError>() {
                Failure::Body(most as u64)
            } else {
                Failure::Protocol
            }
        })?;
        // Trailers are left out: nothing that guests use reads them.
        if let Ok(data) = frame.into_data() {
            bytes.extend_from_slice(&data);
        }
    }
    let headers = head.headers.iter();
    Ok(Answer::Response {
        status: head.status.as_u16(),
        headers: headers
            .map(|(name, value)| (name.to_string(), value.as_bytes().to_vec()))
            .collect(),
        body: bytes,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_names_its_host_and_port() {
        let told = |text: &str| {
            let uri: Uri = text.parse().ok()?;
            target(&uri).map(|(scheme, host, port)| format!("{scheme} {host} {port}"))
        };
        assert_eq!(told("https://a.example/x").unwrap(), "https a.example 443");
        assert_eq!(told("http://a.example:81").unwrap(), "http a.example 81");
        assert_eq!(told("http://[::1]:81/").unwrap(), "http ::1 81");
        for bad in [
            "/x",
            "ftp://a",
            "https://u@a/",
            "https://u:p@a/",
            "http://a:0/",
            "http://a:99999/",
        ] {
            assert_eq!(told(bad), None, "{bad}");
        }
    }
}
