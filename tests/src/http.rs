//! HTTP for tests: any method, any header, any body; one connection for each request, which closes
//! when the response is dropped, or one that is kept for many.

use std::net::SocketAddr;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpStream;
use tokio::task::JoinHandle;

use crate::{Events, patient};

/// A request to be sent.
#[derive(Clone)]
pub struct Request {
    method: String,
    path: String,
    headers: Vec<(String, Vec<u8>)>,
    body: Bytes,
}

impl Request {
    /// A request with no header but `Host`, which is added when it is sent.
    pub fn new(method: &str, path: &str) -> Self {
        Self {
            method: method.to_owned(),
            path: path.to_owned(),
            headers: Vec::new(),
            body: Bytes::new(),
        }
    }

    /// A header in place of all of the same name.
    #[must_use]
    pub fn header(self, name: &str, value: impl AsRef<[u8]>) -> Self {
        self.without(name).more(name, value)
    }

    /// A header beside those of the same name.
    #[must_use]
    pub fn more(mut self, name: &str, value: impl AsRef<[u8]>) -> Self {
        self.headers
            .push((name.to_owned(), value.as_ref().to_owned()));
        self
    }

    /// No header of this name.
    #[must_use]
    pub fn without(mut self, name: &str) -> Self {
        self.headers
            .retain(|(present, _)| !present.eq_ignore_ascii_case(name));
        self
    }

    /// The body.
    #[must_use]
    pub fn body(mut self, body: impl Into<Bytes>) -> Self {
        self.body = body.into();
        self
    }

    /// Sends it, and returns once the head of the response is there.
    ///
    /// # Panics
    /// If the server cannot be reached or answers no HTTP.
    pub async fn send(self, address: SocketAddr) -> Response {
        let what = format!("{} {} to be answered", self.method, self.path);
        patient(&what, self.exchange(address)).await
    }

    async fn exchange(self, address: SocketAddr) -> Response {
        let request = self.build(address);
        let (mut sender, connection) = connect(address).await;
        let response = sender
            .send_request(request)
            .await
            .expect("the server answers HTTP");
        let (head, body) = response.into_parts();
        Response {
            status: head.status.as_u16(),
            headers: head.headers,
            body: Body {
                incoming: body,
                _connection: connection,
            },
        }
    }

    fn build(self, address: SocketAddr) -> hyper::Request<Full<Bytes>> {
        let mut request = hyper::Request::builder()
            .method(self.method.as_bytes())
            .uri(self.path);
        let headers = request
            .headers_mut()
            .expect("method and path are well-formed");
        for (name, value) in self.headers {
            let name = HeaderName::from_bytes(name.as_bytes()).expect("a header name");
            headers.append(
                name,
                HeaderValue::from_bytes(&value).expect("a header value"),
            );
        }
        if !headers.contains_key("host") {
            headers.insert(
                "host",
                HeaderValue::try_from(address.to_string()).expect("an address"),
            );
        }
        request
            .body(Full::new(self.body))
            .expect("a well-formed request")
    }
}

type Sender = http1::SendRequest<Full<Bytes>>;

async fn connect(address: SocketAddr) -> (Sender, Connection) {
    let stream = TcpStream::connect(address)
        .await
        .expect("the server accepts connections");
    let (sender, connection) = http1::handshake(TokioIo::new(stream))
        .await
        .expect("a connection needs no answer to begin");
    // How it ends is seen in the response.
    let connection = tokio::spawn(async move { drop(connection.await) });
    (sender, Connection(connection))
}

/// A connection that is kept for requests one after the other.
pub struct KeptAlive {
    address: SocketAddr,
    sender: Sender,
    _connection: Connection,
}

impl KeptAlive {
    /// Connects.
    ///
    /// # Panics
    /// If the server cannot be reached.
    pub async fn open(address: SocketAddr) -> Self {
        let (sender, connection) = connect(address).await;
        Self {
            address,
            sender,
            _connection: connection,
        }
    }

    /// Sends a request, and reads the whole response: its status and its body.
    ///
    /// # Errors
    /// The connection broke, or what came is no HTTP.
    pub async fn send(&mut self, request: Request) -> Result<(u16, Bytes), hyper::Error> {
        self.sender.ready().await?;
        let request = request.build(self.address);
        let response = self.sender.send_request(request).await?;
        let status = response.status().as_u16();
        let body = response.into_body().collect().await?.to_bytes();
        Ok((status, body))
    }
}

/// The head of a response, and its body still to be read.
pub struct Response {
    /// The status code.
    pub status: u16,
    /// The headers.
    pub headers: HeaderMap,
    body: Body,
}

impl Response {
    /// One header as text; empty if it is absent.
    pub fn header(&self, name: &str) -> &str {
        self.headers
            .get(name)
            .map_or("", |value| value.to_str().expect("visible ASCII"))
    }

    /// The whole body.
    ///
    /// # Panics
    /// If it breaks off.
    pub async fn bytes(mut self) -> Bytes {
        let body = patient(
            "the body of a response",
            (&mut self.body.incoming).collect(),
        )
        .await;
        body.expect("a whole body").to_bytes()
    }

    /// The body as JSON.
    ///
    /// # Panics
    /// If it is not.
    pub async fn json(self) -> Value {
        let kind = self.header("content-type").to_owned();
        let bytes = self.bytes().await;
        assert_eq!(
            kind,
            "application/json",
            "body: {}",
            String::from_utf8_lossy(&bytes)
        );
        serde_json::from_slice(&bytes).unwrap_or_else(|error| {
            panic!("not JSON ({error}): {}", String::from_utf8_lossy(&bytes))
        })
    }

    /// The body as a stream of events.
    ///
    /// # Panics
    /// If its type is another.
    pub fn events(self) -> Events {
        assert_eq!(self.header("content-type"), "text/event-stream");
        Events::new(self.body)
    }
}

/// A body that arrives, with the connection it arrives on.
pub(crate) struct Body {
    incoming: Incoming,
    _connection: Connection,
}

impl Body {
    /// The next piece; none at a regular end.
    pub(crate) async fn piece(&mut self) -> Result<Option<Bytes>, hyper::Error> {
        while let Some(frame) = self.incoming.frame().await {
            if let Ok(data) = frame?.into_data() {
                return Ok(Some(data));
            }
        }
        Ok(None)
    }
}

/// Closes the connection when dropped, whatever it is doing.
struct Connection(JoinHandle<()>);

impl Drop for Connection {
    fn drop(&mut self) {
        self.0.abort();
    }
}
